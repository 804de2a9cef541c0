/// A layer that opens its base again after transient errors, and resumes at the byte reached.
package struct RetrySource: ForwardingSource {
    package let base: any BlobInputStreamDataSource
    private let rules: BlobRetry

    package init(_ base: any BlobInputStreamDataSource, _ rules: BlobRetry) {
        (self.base, self.rules) = (base, rules)
    }

    /// Returns the info of the base, retrying after transient errors. Blocks during the delays; a base that never
    /// blocks is tried only once, unless the job may block.
    package func describe(_ context: BlobContext) throws -> BlobInfo {
        var failures = RetryFailures(self.rules)
        while true {
            do {
                let info = try self.base.info(context)
                if failures.count > 0 { context.report(BlobEvent(.recovered)) }
                return info
            } catch {
                guard !self.traits.contains(.neverBlocks) || context.mayBlock else { throw error }
                let attempt = try failures.attempt(after: error, context)
                context.report(BlobEvent(attempt))
                let (signal, wait) = (WaitSignal(), TimerWait(attempt.delay, context))
                wait.slot.store(BlobWaker { signal.signal() })
                var unlimited = context
                unlimited.idleLimit = nil
                try unlimited.wait(on: signal) { wait.isOver ? () : nil }
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
