package import BlobCore

extension TransferRequest {
    /// Makes the request, and waits for its whole answer without a thread.
    ///
    /// - Parameter maximumByteCount: The maximum length of the body, which is kept in memory.
    /// - Returns: The last head, whatever its status, and the body.
    /// - Throws: ``BlobError/Code/limitExceeded`` for a longer body, ``BlobError/Code/unavailable``,
    ///   ``BlobError/Code/io``, ``BlobError/Code/truncated``, ``BlobError/Code/timedOut``, ``BlobError/Code/cancelled``
    ///   and the errors of heads that are not valid.
    package func answer(
        upTo maximumByteCount: Int, context: BlobContext
    ) async throws(BlobError) -> (head: ResponseHead, body: [UInt8]) {
        let sink = AnswerSink(maximumByteCount)
        let transfer = Transfer(self, sink)
        try transfer.start()
        do throws(BlobError) {
            var context = context
            context.idleLimit = nil  // The transfer has one of its own.
            return try await context.wait(on: sink.signal) { () throws(BlobError) in try sink.outcome?.get() }
        } catch {
            transfer.cancel()
            throw error
        }
    }
}

private final class AnswerSink: TransferSink {
    typealias Answer = (head: ResponseHead, body: [UInt8])

    private struct State: Sendable {
        var answer: Answer = (ResponseHead(), [])
        var outcome: Result<Answer, BlobError>?
    }

    let signal = TaskSignal()
    private let maximumByteCount: Int
    private let state = Locked(State())

    init(_ maximumByteCount: Int) { self.maximumByteCount = maximumByteCount }

    /// The answer, or the error in its place; nil while there is neither.
    var outcome: Result<Answer, BlobError>? { self.state.withLock { $0.outcome } }

    func begin(_ head: ResponseHead) -> TransferDisposition {
        self.state.withLock { $0.answer.head = head }
        return .deliver
    }

    func take(_ bytes: UnsafeRawBufferPointer) -> Bool {
        self.state.withLock { $0.answer.body += bytes.prefix(self.maximumByteCount + 1 - $0.answer.body.count) }
        return true
    }

    func flush() {}

    func end(_ error: BlobError?) {
        let limit = self.maximumByteCount
        self.state.withLock { state in
            let error =
                error
                ?? (state.answer.body.count > limit
                    ? BlobError(.limitExceeded, "The answer has more than \(limit) bytes, which is the limit.") : nil)
            state.outcome = error.map { .failure($0) } ?? .success(state.answer)
        }
        self.signal.signal()
    }
}
