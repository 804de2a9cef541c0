package import BlobCore

extension TransferRequest {
    /// Asks for the head of the object, and waits for it.
    ///
    /// - Returns: The last head, whatever its status.
    /// - Throws: ``BlobError/Code/unavailable``, ``BlobError/Code/io``, ``BlobError/Code/timedOut``,
    ///   ``BlobError/Code/cancelled`` and the errors of heads that are not valid.
    package func head(_ context: BlobContext) throws(BlobError) -> ResponseHead {
        var request = self
        request.isHead = true
        let sink = HeadSink()
        let transfer = Transfer(request, sink)
        try transfer.start()
        do throws(BlobError) {
            var context = context
            context.idleLimit = nil  // The transfer has one of its own.
            return try context.wait(on: sink.signal) { () throws(BlobError) in
                try sink.outcome.withLock { $0 }?.get()
            }
        } catch {
            transfer.cancel()
            throw error
        }
    }
}

private final class HeadSink: TransferSink {
    let signal = WaitSignal()
    let outcome = Locked<Result<ResponseHead, BlobError>?>(nil)

    func begin(_ head: ResponseHead) -> TransferDisposition {
        self.outcome.withLock { $0 = .success(head) }
        return .drop
    }

    func take(_ bytes: UnsafeRawBufferPointer) -> Bool { true }

    func flush() { self.signal.signal() }

    func end(_ error: BlobError?) {
        self.outcome.withLock { outcome in
            outcome = outcome ?? .failure(error ?? BlobError(.truncated, "There was no answer.", isTransient: true))
        }
        self.signal.signal()
    }
}
