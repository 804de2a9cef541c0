import BlobPlatform

/// A layer that gives its base a context with tighter limits: the time of each opening and of each wait for its next
/// bytes, and the ratio of decoded bytes.
package struct ContextLimitSource: ForwardingSource {
    package let base: any BlobInputStreamDataSource
    private let idleLimit: Duration?
    private let timeLimit: Duration?
    private let ratioLimit: Int?

    package init(
        _ base: any BlobInputStreamDataSource, idleLimit: Duration?, timeLimit: Duration?, ratioLimit: Int?
    ) {
        self.base = base
        self.idleLimit = idleLimit
        self.timeLimit = timeLimit
        self.ratioLimit = ratioLimit
    }

    package func describe(_ context: BlobContext) throws -> BlobInfo {
        try self.base.info(self.limited(context))
    }

    package func reader(
        at byteOffset: Int64, matching validator: BlobValidator?, _ context: BlobContext
    ) throws -> any BlobPluginReader {
        try self.base.open(at: byteOffset, matching: validator, context: self.limited(context))
    }

    private func limited(_ context: BlobContext) -> BlobContext {
        var limited = context
        if let idleLimit { limited.idleLimit = min(idleLimit, context.idleLimit ?? idleLimit) }
        if let timeLimit {
            let end = ContinuousClock.Instant.now.advanced(by: timeLimit)
            limited.deadline = min(end, context.deadline ?? end)
        }
        if let ratioLimit { limited.ratioLimit = min(ratioLimit, context.ratioLimit ?? ratioLimit) }
        return limited
    }
}
