/// The layers around a source; each is left out unless it is set.
///
/// Whatever the order in which they are set, they are applied in this one, innermost first: the limits of time and of
/// the ratio, retry, read-ahead, the limit of bytes, throttling, counting, and the digest. So each attempt has its own
/// limits of time, a byte that was read twice is counted once, and the digest is that of what is delivered.
///
/// ```swift
/// let layered = source.layered {
///     $0.idleLimit = .seconds(30)
///     $0.retry = BlobRetry()
///     $0.bytesPerSecond = 1 << 20
/// }
/// ```
public struct BlobLayers: Sendable {
    /// The longest time that a single attempt may wait for its next bytes; ``BlobError/Code/timedOut`` after it, which
    /// is tried again if ``retry`` is set. Unlike that of the context, it does not end the job.
    public var idleLimit: Duration?

    /// The longest time of a single attempt, however many bytes come; ``BlobError/Code/timedOut`` after it.
    public var timeLimit: Duration?

    /// The largest number of bytes that the filters of the source may decode for each byte that they read; see
    /// ``BlobContext/ratioLimit``.
    public var ratioLimit: Int?

    /// The rules by which reading is tried again after transient errors.
    public var retry: BlobRetry?

    /// True to read on another thread, ahead of the consumer; see
    /// ``BlobInputStreamDataSource/readingAhead(windowByteCounts:)``.
    public var readsAhead = false

    /// The length of the longest blob that is delivered, in bytes: a longer one ends in
    /// ``BlobError/Code/limitExceeded``, at once if its length is known, and otherwise behind the limit.
    public var maximumByteCount: Int64?

    /// The number of bytes that a reader delivers in a second, on average; from 1.
    public var bytesPerSecond: Int64?

    /// A closure that is called after each read; see ``BlobInputStreamDataSource/counting(_:)``.
    public var onBytes: (@Sendable (_ count: Int, _ byteOffset: Int64, _ byteCount: Int64?) -> Void)?

    /// The algorithm of a digest of the whole blob, and the digest that it must have, or nil; see
    /// ``BlobInputStreamDataSource/hashing(with:expected:onDigest:)``.
    public var digest: (algorithm: any BlobDigest, expected: [UInt8]?)?

    init() {}

    func applied(to source: any BlobInputStreamDataSource) -> any BlobInputStreamDataSource {
        var source = source
        if self.idleLimit != nil || self.timeLimit != nil || self.ratioLimit != nil {
            source = ContextLimitSource(
                source, idleLimit: self.idleLimit, timeLimit: self.timeLimit, ratioLimit: self.ratioLimit)
        }
        if let retry { source = RetrySource(source, retry) }
        if self.readsAhead { source = ReadAheadSource(source) }
        if let maximumByteCount {
            precondition(maximumByteCount >= 0, "A number of bytes is not negative.")
            source = LimitSource(base: source, maximumByteCount: maximumByteCount)
        }
        if let bytesPerSecond { source = ThrottledSource(source, bytesPerSecond: bytesPerSecond) }
        if let onBytes { source = source.counting(onBytes) }
        if let digest { source = source.hashing(with: digest.algorithm, expected: digest.expected) }
        return source
    }
}

extension BlobInputStreamDataSource {
    /// Returns this source with layers around it, in their fixed order; see ``BlobLayers``.
    ///
    /// - Parameter choose: Sets the layers.
    public func layered(_ choose: (inout BlobLayers) -> Void) -> any BlobInputStreamDataSource {
        var layers = BlobLayers()
        choose(&layers)
        return layers.applied(to: self)
    }
}
