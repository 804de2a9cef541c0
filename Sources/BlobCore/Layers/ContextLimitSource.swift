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

    package func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        let base = try self.base.open(
            at: opening.byteOffset, matching: opening.validator, context: self.limited(opening.context))
        return .inspected(base, UnchangedBytes(), startingAt: opening.byteOffset)
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

/// Lets all bytes pass.
public struct UnchangedBytes: BlobInspector {
    /// Creates an inspector.
    public init() {}

    /// Lets them pass.
    public func pass(_ bytes: RawSpan, at byteOffset: Int64, isLast: Bool) -> Range<Int> { 0..<bytes.byteCount }
}
