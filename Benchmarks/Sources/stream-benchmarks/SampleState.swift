import BlobStreams
import Observation

/// A state of the same size as the state of a stream.
struct SampleState: Equatable, Sendable {
    enum Phase: Sendable { case idle, opening, open, closed }

    var phase = Phase.open
    var isOpenCompleted = true
    var hasBytesAvailable = true
    var isAtEnd = false
    var error: BlobError?
    var byteOffset: Int64 = 0
    var byteCount: Int64?
    var recoveryCount = 0
}

/// The same state for the `Observation` module.
@Observable final class ObservableSampleState {
    var phase = SampleState.Phase.open
    var isOpenCompleted = true
    var hasBytesAvailable = true
    var isAtEnd = false
    var error: BlobError?
    var byteOffset: Int64 = 0
    var byteCount: Int64?
    var recoveryCount = 0
}
