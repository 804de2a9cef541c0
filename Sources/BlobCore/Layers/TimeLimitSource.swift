import BlobPlatform

/// A layer that limits the time of each opening of its base, and of each wait for its next bytes.
package struct TimeLimitSource: ForwardingSource {
    package let base: any BlobInputStreamDataSource
    private let idleLimit: Duration?
    private let timeLimit: Duration?

    package init(_ base: any BlobInputStreamDataSource, idleLimit: Duration?, timeLimit: Duration?) {
        self.base = base
        self.idleLimit = idleLimit
        self.timeLimit = timeLimit
    }

    package func describe(_ context: BlobContext) throws -> BlobInfo {
        try self.base.info(self.limited(context))
    }

    package func reader(
        at byteOffset: Int64, matching validator: BlobValidator?, _ context: BlobContext
    ) throws -> any BlobReader {
        try self.base.open(at: byteOffset, matching: validator, context: self.limited(context))
    }

    private func limited(_ context: BlobContext) -> BlobContext {
        var limited = context
        if let idleLimit { limited.idleLimit = min(idleLimit, context.idleLimit ?? idleLimit) }
        if let timeLimit {
            let end = ContinuousClock.Instant.now.advanced(by: timeLimit)
            limited.deadline = min(end, context.deadline ?? end)
        }
        return limited
    }
}
