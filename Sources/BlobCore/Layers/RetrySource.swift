/// A layer that opens its base again after transient errors, and resumes at the byte reached.
package struct RetrySource: ForwardingSource {
    package let base: any BlobInputStreamDataSource
    private let rules: BlobRetry

    package init(_ base: any BlobInputStreamDataSource, _ rules: BlobRetry) {
        (self.base, self.rules) = (base, rules)
    }

    /// Blocks during the delays, unless the base never blocks: then its info is not waited for.
    package func describe(_ context: BlobContext) throws -> BlobInfo {
        var failures = RetryFailures(self.rules)
        while true {
            do {
                return try self.base.info(context)
            } catch {
                guard !self.traits.contains(.neverBlocks) else { throw error }
                let delay = try failures.delay(after: error)
                let (signal, wait) = (WaitSignal(), TimerWait(delay, context))
                wait.whenOver(BlobWaker { signal.signal() })
                var patient = context
                patient.idleLimit = nil
                try patient.wait(on: signal) { wait.isOver ? () : nil }
            }
        }
    }

    package func reader(
        at byteOffset: Int64, matching validator: BlobValidator?, _ context: BlobContext
    ) throws -> any BlobReader {
        let reader = RetryReader(self.base, at: byteOffset, matching: validator, self.rules, context)
        try reader.start()
        return reader
    }
}

/// The failures of one reader, counted.
struct RetryFailures {
    private let rules: BlobRetry
    private var count = 0
    private var countInRow = 0
    private var random = SystemRandomNumberGenerator()

    init(_ rules: BlobRetry) { self.rules = rules }

    /// Notes that bytes came.
    mutating func end() { self.countInRow = 0 }

    /// Counts a failure, and returns the delay before the next attempt.
    ///
    /// - Throws: The error, if there is to be none.
    mutating func delay(after error: BlobError) throws(BlobError) -> Duration {
        self.count += 1
        self.countInRow += 1
        guard error.isTransient, error.code != .changed, self.countInRow < self.rules.maximumFailureCount,
            self.count < self.rules.failureBudget
        else { throw error }
        return max(self.rules.delay(afterFailures: self.countInRow, using: &self.random), error.retryDelay ?? .zero)
    }
}
