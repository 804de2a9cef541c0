/// A reader that is opened and read by threads of the pool, and that gives its thread back when others need it.
///
/// One job at a time. A job that is interrupted while it stalls closes the reader, waits for its next turn, and opens
/// another at the byte it had reached, for the same content. What a source cannot repeat is never interrupted.
final class PooledReader: @unchecked Sendable {  // Safe: see `state`; `reader` is used by the job, or by `close`.
    private struct State {
        var isRunning = false
        var isClosed = false
        /// Interrupts the job that runs; nil when that is not possible.
        var interruption: BlobCancellation?
        var wasInterrupted = false
    }

    private let context: BlobContext
    private let source: (any BlobInputStreamDataSource)?
    private let open: @Sendable (_ byteOffset: Int64, BlobValidator?, BlobContext) throws -> any BlobReader
    private let startOffset: Int64
    private let pool: BlockingPool
    private let state = Locked(State())

    // Touched by the job that runs, and by the owner when none does.
    private var validator: BlobValidator?
    private var byteOffset: Int64
    private var isRepeatable: Bool?
    private var attempt: BlobContext
    private var reader: (any BlobReader)?

    /// Reads a source from an offset; its event-driven readers do not wait. Closing cancels the context.
    init(
        _ source: any BlobInputStreamDataSource, at byteOffset: Int64, matching validator: BlobValidator?,
        _ context: BlobContext
    ) {
        self.source = source
        self.pool = .shared
        self.context = context
        self.attempt = self.context
        (self.startOffset, self.byteOffset, self.validator) = (byteOffset, byteOffset, validator)
        self.open = { try source.pollableReader(at: $0, matching: $1, context: $2) }
    }

    /// Reads what `open` gives, once. Closing cancels the context.
    init(_ context: BlobContext, open: @escaping @Sendable (BlobContext) throws -> any BlobReader) {
        self.source = nil
        self.pool = .origins
        self.context = context
        self.attempt = self.context
        (self.startOffset, self.byteOffset) = (0, 0)
        self.open = { _, _, context in try open(context) }
    }

    // No job runs any more, because each holds this object.
    deinit { self.reader?.close() }

    /// Runs `body` with the open reader on a thread of the pool, then `completion` there with its result.
    ///
    /// `body` may run again after it was interrupted, with another reader at the same offset; nothing that it did before
    /// may count then. Not to be called before the last job is complete.
    func run<Value: Sendable>(
        _ body: @escaping @Sendable (any BlobReader) throws -> Value,
        completion: @escaping @Sendable (Result<Value, BlobError>) -> Void
    ) {
        self.state.withLock { $0.isRunning = true }
        self.run(after: nil, body, completion)
    }

    private func run<Value: Sendable>(
        after last: BlockingPool.Interruption?,
        _ body: @escaping @Sendable (any BlobReader) throws -> Value,
        _ completion: @escaping @Sendable (Result<Value, BlobError>) -> Void
    ) {
        let request: @Sendable () -> Bool = { [state] in
            let interruption = state.withLock { state in
                state.wasInterrupted = state.interruption != nil
                return state.interruption
            }
            interruption?.cancel()
            return interruption != nil
        }
        let interruption = last?.longer(request) ?? BlockingPool.Interruption(request)
        self.pool.run(interruption: interruption) {
            let result = Result {
                let reader = try self.readerOfThisTurn()
                return try body(reader)
            }
            .mapError { BlobError(wrapping: $0) }
            let (isClosed, goesOn) = self.state.withLock { state in
                defer { (state.interruption, state.wasInterrupted) = (nil, false) }
                let goesOn = state.wasInterrupted && !state.isClosed && !self.context.cancellation.isCancelled
                state.isRunning = goesOn
                return (state.isClosed, goesOn)
            }
            if goesOn {
                // Also when it succeeded: the reader is cancelled, and only bytes that nobody has seen can come again.
                self.reader?.close()
                self.reader = nil
                return self.run(after: interruption, body, completion)
            }
            if isClosed { self.reader?.close() }
            if let reader = self.reader as? BlobGuardedReader { self.byteOffset = reader.byteOffset }
            completion(result)
        }
    }

    private func readerOfThisTurn() throws -> any BlobReader {
        let canOpenAgain = self.canOpenAgain
        if self.reader == nil {
            // A context of its own for each reader: interrupting one must not cancel the next.
            self.attempt = canOpenAgain ? self.context.makeChild() : self.context
        }
        let interruption = canOpenAgain ? self.attempt.cancellation : nil
        self.state.withLock { $0.interruption = interruption }
        let reader = try self.reader ?? self.open(self.byteOffset, self.validator, self.attempt)
        self.reader = reader
        return reader
    }

    /// Closes the reader: at once, or when the job that runs has returned, which is told to.
    func close() {
        let isRunning = self.state.withLock { state in
            state.isClosed = true
            return state.isRunning
        }
        self.context.cancellation.cancel()
        if !isRunning { self.reader?.close() }
    }

    /// True when another reader at the same offset is sure to have the same bytes. Asked on a thread that may block.
    private var canOpenAgain: Bool {
        self.validator = self.validator ?? self.reader?.info.validator
        let isRepeatable = self.isRepeatable ?? self.source?.capabilities.contains(.repeatable) ?? false
        self.isRepeatable = isRepeatable
        return isRepeatable && (self.validator != nil || self.byteOffset == self.startOffset)
    }

    /// What the open reader says. Between jobs.
    var info: BlobInfo { self.reader?.info ?? BlobInfo() }

    /// Gives the open reader away if it is event-driven, and so needs no thread. Between jobs.
    func takeEventDrivenReader() -> BlobGuardedReader? {
        guard let reader = self.reader as? BlobGuardedReader, reader.readiness != nil else { return nil }
        self.reader = nil
        return reader
    }
}
