import BlobCore
public import Foundation

extension BlobInputStreamDataSource {
    /// Writes all bytes to a stream.
    ///
    /// The source is opened first, then the stream, if it is not open. The stream stays open, even after an error: to
    /// close it is to end its bytes. A layer of ``reporting(to:)`` reports the progress. Peak memory is one buffer of
    /// 128 KiB.
    ///
    /// - Parameters:
    ///   - stream: Any output stream; a write that waits in it is not interrupted.
    ///   - context: The context of the job.
    /// - Returns: The number of bytes written.
    /// - Throws: ``BlobError``: the errors of reading, the `streamError` of the stream as its cause, and
    ///   ``BlobError/Code/limitExceeded`` if a stream of fixed capacity is full.
    @discardableResult
    public func write(to stream: OutputStream, context: BlobContext = BlobContext()) throws(BlobError) -> Int64 {
        let reader = try self.open(context: context.blocking)
        defer { reader.close() }
        do {
            if stream.streamStatus == .notOpen { stream.open() }
            if stream.streamStatus == .error { throw stream.failure("The output stream could not be opened") }
            try reader.forEachPiece { try stream.writeAll($0) }
        } catch {
            var error = BlobError(wrapping: error)
            error.operation = error.operation ?? "write"
            throw error
        }
        return reader.byteOffset
    }

    /// Writes all bytes to a stream without blocking the task's thread; otherwise like the blocking form.
    ///
    /// The stream may belong to an actor, such as the main actor; other threads use it only until this returns.
    @discardableResult
    public nonisolated(nonsending) func write(
        to stream: OutputStream, context: BlobContext = BlobContext()
    ) async throws -> Int64 {
        let context = context.makeChild()
        let stream = UnsafeTransfer(stream)  // This call waits for the thread that uses the stream.
        return try await withTaskCancellationHandler {
            try await BlockingPool.reads.value { () throws(BlobError) in
                try self.write(to: stream.value, context: context)
            }
        } onCancel: {
            context.cancellation.cancel()
        }
    }
}

extension OutputStream {
    fileprivate func writeAll(_ bytes: UnsafeRawBufferPointer) throws(BlobError) {
        var rest = bytes.assumingMemoryBound(to: UInt8.self)[...]
        while let start = UnsafeBufferPointer(rebasing: rest).baseAddress, !rest.isEmpty {
            let count = self.write(start, maxLength: rest.count)
            guard count >= 0 else { throw self.failure("The output stream could not be written") }
            guard count > 0 else { throw BlobError(.limitExceeded, "The output stream is full.") }
            rest = rest.dropFirst(count)
        }
    }
}
