import BlobStreams
import Foundation

extension Comparison {
    /// The cost of updating a state without observers; the peer does not detect whether a value changed.
    static var unobservedUpdates: Comparison {
        Comparison(
            title: "Updates of a state that nobody observes", unit: "updates", count: 1_000_000,
            subjects: [
                Subject(name: "BlobObservable") { count in
                    let observable = BlobObservable(SampleState())
                    for _ in 0..<count { observable.update { $0.byteOffset += 1 } }
                    precondition(observable.value.byteOffset == count)
                }
            ],
            peer: Subject(name: "the same state behind NSLock") { count in
                let lock = NSLock()
                var state = SampleState()
                for _ in 0..<count { lock.withLock { state.byteOffset += 1 } }
                precondition(state.byteOffset == count)
            })
    }
}
