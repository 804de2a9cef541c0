/// The reading end of a ``PipeBuffer``.
package final class PipeStream: BlobByteStream {
    package let info: BlobInfo?
    private let buffer: PipeBuffer
    private let onClose: (@Sendable () -> Void)?

    package init(_ buffer: PipeBuffer, info: BlobInfo, onClose: (@Sendable () -> Void)? = nil) {
        self.buffer = buffer
        self.info = info
        self.onClose = onClose
    }

    package var neverBlocks: Bool { true }
    package var readiness: BlobWakerSlot? { self.buffer.readiness }

    package func read(at byteOffset: Int64, into output: inout OutputRawSpan) throws -> BlobReadResult {
        try self.buffer.read(into: &output)
    }

    package func take(at byteOffset: Int64, atMost byteCount: Int) -> BlobBytes? {
        self.buffer.take(atMost: byteCount)
    }

    package func close() {
        self.buffer.closeReader()
        self.onClose?()
    }
}
