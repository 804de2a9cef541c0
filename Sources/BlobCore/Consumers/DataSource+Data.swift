public import BlobPlatform

extension BlobInputStreamDataSource {
    /// All bytes of this source, which must be few.
    ///
    /// - Parameters:
    ///   - maximumByteCount: The most bytes to accept, from 0.
    ///   - context: The terms.
    /// - Throws: ``BlobError/Code/limitExceeded`` when there are more, and what reading throws.
    /// - Complexity: Memory grows with what has arrived, whatever the source says of its length.
    public func data(upTo maximumByteCount: Int, context: BlobContext = BlobContext()) throws(BlobError) -> Data {
        precondition(maximumByteCount >= 0, "A limit is not negative.")
        let reader = try self.open(context: context.blocking)
        defer { reader.close() }
        do {
            // One byte more than allowed is asked for, to tell a blob of the limit's size from a larger one.
            let data = try reader.data(upTo: maximumByteCount < .max ? maximumByteCount + 1 : .max)
            guard data.count <= maximumByteCount else { throw self.tooLong(maximumByteCount) }
            return data
        } catch {
            throw BlobError(wrapping: error)
        }
    }

    private func tooLong(_ maximumByteCount: Int) -> BlobError {
        BlobError(
            .limitExceeded, "There are more bytes than the limit of \(maximumByteCount).", operation: "read",
            locator: self.locator?.description, byteOffset: Int64(maximumByteCount))
    }

    /// All bytes of this source, read without blocking the task's thread; otherwise as the blocking form.
    public func data(upTo maximumByteCount: Int, context: BlobContext = BlobContext()) async throws -> Data {
        precondition(maximumByteCount >= 0, "A limit is not negative.")
        var data = Data()
        for try await chunk in self.chunks(context: context) {
            guard chunk.count <= maximumByteCount - data.count else { throw self.tooLong(maximumByteCount) }
            data.append(chunk)
        }
        return data
    }
}

extension BlobGuardedReader {
    /// The next bytes, fewer than `byteCount` only at the end. Memory grows with what has arrived.
    func data(upTo byteCount: Int) throws -> Data {
        var data = Data()
        while data.count < byteCount {
            let count = data.count
            data.count += min(byteCount - count, BlobChunks.defaultByteCount)
            let read = try data.withUnsafeMutableBytes {
                try self.readWaiting(into: UnsafeMutableRawBufferPointer(rebasing: $0[count...]))
            }
            data.count = count + read
            if read == 0 { break }
        }
        return data
    }
}

/// Runs a blocking job on a thread of its own; cancelling the task cancels the job's context.
func offCooperativePool<Value: Sendable>(
    _ context: BlobContext, _ job: @escaping @Sendable (BlobContext) throws -> Value
) async throws -> Value {
    let context = context.makeChild()
    return try await withTaskCancellationHandler {
        try await withCheckedThrowingContinuation { continuation in
            BlockingPool.reads.run { continuation.resume(with: Result { try job(context) }) }
        }
    } onCancel: {
        context.cancellation.cancel()
    }
}
