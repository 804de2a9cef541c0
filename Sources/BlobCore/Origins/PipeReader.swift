/// The reading end of a ``PipeBuffer``.
package final class PipeReader: BlobLendingReader {
    package let info: BlobInfo
    private let buffer: PipeBuffer
    private let onClose: (@Sendable () -> Void)?
    private var isClosed = false

    package init(_ buffer: PipeBuffer, info: BlobInfo, onClose: (@Sendable () -> Void)? = nil) {
        self.buffer = buffer
        self.info = info
        self.onClose = onClose
    }

    deinit { self.close() }

    package var neverBlocks: Bool { true }

    package func read(into output: inout OutputRawSpan) throws -> BlobReadResult {
        guard !self.isClosed else { throw BlobError(.closed, "The reader is closed.") }
        return try self.buffer.read(into: &output)
    }

    package func lend() -> BlobLentBytes? { self.isClosed ? nil : self.buffer.lend() }
    package func consume(_ byteCount: Int) { self.buffer.consume(byteCount) }
    package func whenReadable(_ waker: BlobWaker) { self.buffer.whenReadable(waker) }

    package func close() {
        guard !self.isClosed else { return }
        self.isClosed = true
        self.buffer.closeReader()
        self.onClose?()
    }
}
