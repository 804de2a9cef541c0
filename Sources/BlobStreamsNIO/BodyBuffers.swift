#if AsyncHTTPClient || Receiver
import BlobCore
import NIOCore

/// Reads a source into buffers of NIO, and reuses each one after the connection has released it.
final class BodyBuffers {
    /// The maximum size of a buffer in bytes, at which reading from the page cache is fastest.
    private static let maximumByteCount = 128 * 1024

    private static let minimumByteCount = 4 * 1024

    /// The number of buffers that are reused: one is held back, and one or two are being sent.
    private static let maximumCount = 3

    private let reader: BlobReader
    private var usedBuffers: [ByteBuffer] = []  // The oldest is first.

    /// Creates the buffers of a reader.
    ///
    /// - Parameter reader: A reader that does not block, at its first byte; ``close()`` closes it.
    init(_ reader: BlobReader) { self.reader = reader }

    /// The facts about the bytes, which are final once the first bytes or the end have been read.
    var info: BlobInfo { self.reader.info }

    /// Returns the next bytes; nil at the end. Cancelling the task cancels `cancellation`, if given.
    func next(endingWith cancellation: BlobCancellation? = nil) async throws(BlobError) -> ByteBuffer? {
        while true {
            let (result, buffer) = try self.nextNow()
            switch result {
            case .bytes: return buffer
            case .end: return nil
            case .notYet: await self.wait(cancellation)
            }
        }
    }

    /// Returns the next bytes without waiting for them.
    func nextNow() throws(BlobError) -> (result: BlobReadResult, buffer: ByteBuffer) {
        var buffer = self.usedBuffers.count < Self.maximumCount ? ByteBuffer() : self.usedBuffers.removeFirst()
        let result = try self.read(into: &buffer)
        if result == .bytes { self.usedBuffers.append(buffer) }
        return (result, buffer)
    }

    /// Calls `waker` once when ``nextNow()``, which returned `notYet`, is worth trying again.
    func whenReadable(_ waker: BlobWaker) { self.reader.whenReadable(waker) }

    func close() {
        self.usedBuffers = []
        self.reader.close()
    }

    private func read(into buffer: inout ByteBuffer) throws(BlobError) -> BlobReadResult {
        let wanted = Int(clamping: self.reader.info.byteCount ?? .max)
        let byteCount = min(max(wanted, Self.minimumByteCount), Self.maximumByteCount)
        var result = BlobReadResult.end
        do {
            // Allocates only if the connection still uses the buffer.
            buffer.clear(minimumCapacity: byteCount)
            try buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: byteCount) { memory in
                var output = OutputRawSpan(buffer: memory, initializedCount: 0)
                result = try self.reader.read(into: &output)
                return output.finalize(for: memory)
            }
        } catch {
            throw BlobError(wrapping: error)
        }
        return result
    }

    private func wait(_ cancellation: BlobCancellation?) async {
        let gate = Gate()
        self.reader.whenReadable(BlobWaker { gate.open() })
        await withTaskCancellationHandler {
            await withCheckedContinuation { gate.enter($0) }
        } onCancel: {
            cancellation?.cancel()
        }
    }
}
#endif
