import BlobStreamsStandard
import Foundation

/// A data source that publishes its state, as `POSBlobInputStreamDataSource` does with key-value observing.
///
/// A thread reads the base into a buffer, and the state shows whether the buffer contains bytes. The source can be
/// opened once.
final class PublishingSource: BlobInputStreamDataSource, @unchecked Sendable {
    // Safe: the lock of `state` guards all other mutable members.
    let state = BlobObservable(BlobReaderState())
    let traits: BlobTraits = .neverBlocks
    private let base: any BlobInputStreamDataSource
    private let takenSignal = DispatchSemaphore(value: 0)
    private var isOpened = false
    private var isClosed = false
    private var info = BlobInfo()
    private var bytes = ArraySlice<UInt8>()

    init(_ base: any BlobInputStreamDataSource) { self.base = base }

    func describe(_ context: BlobContext) -> BlobInfo { self.state.update { _ in self.info } }

    func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        let isFirst = self.state.update { _ in
            defer { self.isOpened = true }
            return !self.isOpened
        }
        guard isFirst else { throw BlobError(.unsupported, "The source can be opened only once.") }
        Thread { self.fill(opening) }.start()
        return self.state.makeBody(
            startingAt: opening.byteOffset, info: self.describe(opening.context), read: { self.take(into: &$0) },
            close: { self.close() })
    }

    private func fill(_ opening: BlobOpening) {
        do {
            let reader = try self.base.open(
                at: opening.byteOffset, matching: opening.validator, context: opening.context)
            defer { reader.close() }
            self.state.update { state in
                self.info = reader.info
                state.isOpenCompleted = true
            }
            var buffer = [UInt8](repeating: 0, count: 64 * 1024)
            while case let count = try buffer.withUnsafeMutableBytes({ try reader.readBlocking(into: $0) }), count > 0 {
                // The bytes and the state change together, so that a reader sees both or neither.
                let isClosed = self.state.update { state in
                    (self.bytes, state.hasBytesAvailable) = (buffer[..<count], true)
                    return self.isClosed
                }
                if isClosed { return }
                self.takenSignal.wait()
            }
            self.state.update { $0.isAtEnd = true }
        } catch {
            self.state.update { $0.error = error as? BlobError ?? BlobError(.io, "\(error)", cause: error) }
        }
    }

    private func take(into output: inout OutputRawSpan) {
        let isEmptied = self.state.update { state in
            guard state.hasBytesAvailable else { return false }
            _ = BlobReadResult.moving(&self.bytes, to: &output)
            state.hasBytesAvailable = !self.bytes.isEmpty
            return self.bytes.isEmpty
        }
        if isEmptied { self.takenSignal.signal() }
    }

    private func close() {
        self.state.update { _ in self.isClosed = true }
        self.takenSignal.signal()
    }
}
