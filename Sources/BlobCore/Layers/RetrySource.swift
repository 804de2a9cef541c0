/// A layer that opens its base again after transient errors, and resumes at the byte reached.
package struct RetrySource: ForwardingSource {
    package let base: any BlobInputStreamDataSource
    private let rules: BlobRetry

    package init(_ base: any BlobInputStreamDataSource, _ rules: BlobRetry) {
        (self.base, self.rules) = (base, rules)
    }

    /// Blocks during the delays; a base that never blocks is asked once, unless the job may block.
    package func describe(_ context: BlobContext) throws -> BlobInfo {
        var failures = RetryFailures(self.rules)
        while true {
            do {
                let info = try self.base.info(context)
                if failures.count > 0 { context.eventSink?(BlobEvent(.recovered)) }
                return info
            } catch {
                guard !self.traits.contains(.neverBlocks) || context.mayBlock else { throw error }
                let delay = try failures.delay(after: error, context)
                context.eventSink?(BlobEvent(.recovering))
                let (signal, wait) = (WaitSignal(), TimerWait(delay, context))
                wait.slot.store(BlobWaker { signal.signal() })
                var patient = context
                patient.idleLimit = nil
                try patient.wait(on: signal) { wait.isOver ? () : nil }
            }
        }
    }

    package func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        guard self.traits.contains(.repeatable) else {
            return .inspected(try self.base.open(opening), UnchangedBytes(), startingAt: opening.byteOffset)
        }
        let stream = RetryStream(self.base, opening, self.rules)
        try stream.start()
        return .stream(stream, startingAt: opening.byteOffset)
    }
}

/// The failures of one reader, counted.
struct RetryFailures {
    private let rules: BlobRetry
    private(set) var count = 0
    private var countInRow = 0
    private var random = SystemRandomNumberGenerator()

    init(_ rules: BlobRetry) { self.rules = rules }

    /// Notes that bytes came.
    mutating func end() { self.countInRow = 0 }

    /// Counts a failure, and returns the delay before the next attempt: the one that the source asks for if that is
    /// longer than the random one, which leaves at least half of the time up to the deadline to the attempt.
    ///
    /// - Throws: The error, if there is to be no attempt, or none before the deadline; what ended the job meanwhile.
    mutating func delay(after error: BlobError, _ context: BlobContext) throws(BlobError) -> Duration {
        self.count += 1
        self.countInRow += 1
        guard error.isTransient, error.code != .changed, self.countInRow < self.rules.maximumFailureCount,
            self.count < self.rules.failureBudget
        else { throw error }
        let (random, asked) = (
            self.rules.delay(afterFailures: self.countInRow, using: &self.random), error.retryDelay ?? .zero
        )
        guard let left = context.lastMoment?.remaining else { return max(random, asked) }
        // An attempt that fails when the time of the job is up: the job ends for that reason.
        try context.check()
        guard asked < left else { throw error }
        return max(min(random, left / 2), asked)
    }
}
