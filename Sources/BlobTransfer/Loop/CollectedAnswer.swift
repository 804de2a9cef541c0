package import BlobCore

/// The complete response to a request, regardless of its status.
package typealias CollectedAnswer = (head: ResponseHead, body: [UInt8])

extension TransferRequest {
    /// Starts the request and passes on the complete response.
    ///
    /// - Parameters:
    ///   - maximumByteCount: The maximum length of the body, which is kept in memory.
    ///   - completion: Called once on the thread of all transfers, unless the transfer is cancelled. It receives the
    ///     response or an error: ``BlobError/Code/limitExceeded`` for a longer body, ``BlobError/Code/unavailable``,
    ///     ``BlobError/Code/io``, ``BlobError/Code/truncated``, ``BlobError/Code/timedOut``, or the error of an invalid
    ///     head.
    /// - Throws: ``BlobError/Code/unavailable`` if libcurl, memory or a thread is unavailable.
    @discardableResult package func start(
        upTo maximumByteCount: Int, _ completion: @escaping @Sendable (Result<CollectedAnswer, BlobError>) -> Void
    ) throws(BlobError) -> Transfer {
        let transfer = Transfer(self, AnswerSink(maximumByteCount, completion))
        try transfer.start()
        return transfer
    }

    /// Makes the request and waits for the complete response without blocking a thread.
    ///
    /// - Throws: The errors of ``start(upTo:_:)`` and its completion; ``BlobError/Code/cancelled`` or
    ///   ``BlobError/Code/timedOut`` because of the context.
    package func answer(
        upTo maximumByteCount: Int, context: BlobContext
    ) async throws(BlobError) -> CollectedAnswer {
        let (signal, outcome) = (TaskSignal(), Locked<Result<CollectedAnswer, BlobError>?>(nil))
        let transfer = try self.observed(context).start(upTo: maximumByteCount) { result in
            outcome.withLock { $0 = result }
            signal.signal()
        }
        do throws(BlobError) {
            return try await context.transferContext.wait(on: signal) { () throws(BlobError) in
                try outcome.withLock { $0 }?.get()
            }
        } catch {
            transfer.cancel()
            throw error
        }
    }

    private func observed(_ context: BlobContext) -> TransferRequest {
        var request = self
        request.activity = RequestJob(context).activity
        return request
    }

    /// Requests the head of the object, and blocks until it arrives.
    ///
    /// - Returns: The last head, regardless of its status.
    /// - Throws: The errors of ``start(upTo:_:)`` and its completion; ``BlobError/Code/cancelled`` or
    ///   ``BlobError/Code/timedOut`` because of the context.
    package func head(_ context: BlobContext) throws(BlobError) -> ResponseHead {
        var request = self.observed(context)
        request.isHead = true
        let (signal, outcome) = (WaitSignal(), Locked<Result<CollectedAnswer, BlobError>?>(nil))
        let transfer = try request.start(upTo: 0) { result in
            outcome.withLock { $0 = result }
            signal.signal()
        }
        do throws(BlobError) {
            return try context.transferContext.wait(on: signal) { () throws(BlobError) in
                try outcome.withLock { $0 }?.get().head
            }
        } catch {
            transfer.cancel()
            throw error
        }
    }
}

/// Collects a response.
private final class AnswerSink: TransferSink {
    private let maximumByteCount: Int
    private let completion: @Sendable (Result<CollectedAnswer, BlobError>) -> Void
    private let answer = Locked<CollectedAnswer>((ResponseHead(), []))

    init(_ maximumByteCount: Int, _ completion: @escaping @Sendable (Result<CollectedAnswer, BlobError>) -> Void) {
        (self.maximumByteCount, self.completion) = (maximumByteCount, completion)
    }

    func begin(_ head: ResponseHead) -> TransferDisposition {
        self.answer.withLock { $0.head = head }
        return .deliver
    }

    func receive(_ bytes: UnsafeRawBufferPointer) -> Bool {
        self.answer.withLock { $0.body += bytes.prefix(self.maximumByteCount + 1 - $0.body.count) }
        return true
    }

    func flush() {}

    func end(_ error: BlobError?) {
        let (answer, limit) = (self.answer.withLock { $0 }, self.maximumByteCount)
        let excess =
            answer.body.count > limit
            ? BlobError(.limitExceeded, "The response has more bytes than the limit of \(limit).") : nil
        self.completion((error ?? excess).map { .failure($0) } ?? .success(answer))
    }
}
