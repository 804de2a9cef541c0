import BlobPlatform

/// The layers around a source; a layer that is not set is omitted.
///
/// Regardless of the order in which they are set, they are applied in a fixed order, innermost first: the time limits
/// and the ratio limit, retry, read-ahead, the length limit, throttling, counting, and the digest. Each attempt
/// therefore has its own time limits, a byte that is read twice is counted once, and the digest covers the delivered
/// bytes.
///
/// ```swift
/// let layered = source.layered {
///     $0.idleLimit = .seconds(30)
///     $0.retry = BlobRetry()
///     $0.bytesPerSecond = 1 << 20
/// }
/// ```
public struct BlobLayers: Sendable {
    /// The longest time that a single attempt may wait for its next bytes; after that, the attempt fails with
    /// ``BlobError/Code/timedOut`` and is tried again if ``retry`` is set. Unlike the context's idle limit, it does not
    /// end the job.
    public var idleLimit: Duration?

    /// The longest duration of a single attempt, regardless of its progress; after that, it fails with
    /// ``BlobError/Code/timedOut``.
    public var timeLimit: Duration?

    /// The maximum number of bytes that the filters of the source may decode for each byte that they read; see
    /// ``BlobContext/ratioLimit``.
    public var ratioLimit: Int?

    /// The rules for retrying reads after transient errors.
    public var retry: BlobRetry?

    /// True to read on another thread, ahead of the consumer; see
    /// ``BlobInputStreamDataSource/readingAhead(windowByteCounts:)``.
    public var readsAhead = false

    /// The maximum length of a blob in bytes: a longer blob throws ``BlobError/Code/limitExceeded``, at once if its
    /// length is known, and otherwise after the limit.
    public var maximumByteCount: Int64?

    /// The maximum average number of bytes per second that a reader delivers, at least 1.
    public var bytesPerSecond: Int64?

    /// A closure that is called after each read; see ``BlobInputStreamDataSource/counting(_:)``.
    public var onBytes: (@Sendable (_ count: Int, _ byteOffset: Int64, _ byteCount: Int64?) -> Void)?

    /// The algorithm of a digest of the whole blob, and the expected digest, or nil; see
    /// ``BlobInputStreamDataSource/hashing(with:expected:onDigest:)``.
    public var digest: (algorithm: any BlobDigest, expected: [UInt8]?)?

    init() {}

    func applied(to source: any BlobInputStreamDataSource) -> any BlobInputStreamDataSource {
        var source = source
        if self.idleLimit != nil || self.timeLimit != nil || self.ratioLimit != nil {
            source = ContextLimitSource(
                base: source, idleLimit: self.idleLimit, timeLimit: self.timeLimit, ratioLimit: self.ratioLimit)
        }
        if let retry { source = RetrySource(source, retry) }
        if self.readsAhead { source = ReadAheadSource(source) }
        if let maximumByteCount {
            precondition(maximumByteCount >= 0, "The maximum number of bytes must not be negative.")
            source = InspectedSource(layer: "LimitSource", base: source) { opening in
                Limit(maximumByteCount: maximumByteCount, byteOffset: opening.byteOffset)
            }
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
    /// - Parameter choose: A closure that sets the layers.
    public func layered(_ choose: (inout BlobLayers) -> Void) -> any BlobInputStreamDataSource {
        var layers = BlobLayers()
        choose(&layers)
        return layers.applied(to: self)
    }

    /// Returns this source with a layer that counts the bytes that pass, for progress.
    ///
    /// ```swift
    /// let counted = source.counting { count, byteOffset, byteCount in
    ///     print("\(byteOffset) of \(byteCount.map(String.init) ?? "unknown")")
    /// }
    /// ```
    ///
    /// - Parameter onBytes: A closure that is called after each read, on the reading thread, with the number of bytes
    ///   read, the offset after them, and the byte count if known. Each reader counts separately; the bytes are also
    ///   reported to the event sink of the context.
    public func counting(
        _ onBytes: @escaping @Sendable (_ count: Int, _ byteOffset: Int64, _ byteCount: Int64?) -> Void
    ) -> some BlobInputStreamDataSource {
        InspectedSource(layer: "CountingSource", base: self) { opening in
            Counter(onBytes: onBytes, context: opening.context)
        }
    }

    /// Returns this source with a layer that reads it on another thread, ahead of the consumer, which makes a blocking
    /// source event-driven.
    ///
    /// In addition to the window that is being consumed, a reader keeps up to two windows of bytes that were read
    /// ahead: 64 KiB each at first, and up to 1 MiB each if the consumer waits for them. The memory exists only while
    /// it holds bytes or is being filled. A source whose readers never block is read in place. Over a source without
    /// `concurrentReaders`, a reader is still used by one thread at a time.
    ///
    /// ```swift
    /// let stream = BlobInputStream(source.readingAhead())
    /// ```
    ///
    /// - Parameter windowByteCounts: The sizes of the first and of the largest window in bytes, at least 1; by default
    ///   64 KiB and 1 MiB.
    public func readingAhead(
        windowByteCounts: ClosedRange<Int> = (64 * 1024)...(1024 * 1024)
    ) -> some BlobInputStreamDataSource {
        ReadAheadSource(self, windowByteCounts: windowByteCounts)
    }
}

/// A layer that opens its base with tighter limits on the duration of an opening, on each wait for the next bytes, and
/// on the ratio of decoded bytes.
private struct ContextLimitSource: ForwardingSource {
    let base: any BlobInputStreamDataSource
    let idleLimit: Duration?
    let timeLimit: Duration?
    let ratioLimit: Int?

    func describe(_ context: BlobContext) throws -> BlobInfo {
        try self.base.info(self.limited(context))
    }

    func makeBody(_ opening: BlobOpening) throws -> BlobBody {
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

/// An inspector that passes all bytes unchanged.
public struct UnchangedBytes: BlobInspector {
    private let registration: BlobRegistration?

    /// Creates an inspector.
    public init() { self.init(keeping: nil) }

    /// Creates an inspector that retains a registration.
    ///
    /// - Parameter registration: A registration that lasts until the reader is closed.
    init(keeping registration: BlobRegistration?) { self.registration = registration }

    /// Passes all bytes unchanged.
    public func pass(_ bytes: RawSpan, at byteOffset: Int64, isLast: Bool) -> Range<Int> { 0..<bytes.byteCount }
}

/// A layer that inspects the bytes of each reader.
struct InspectedSource: ForwardingSource, NamedLayer {
    let layer: String
    let base: any BlobInputStreamDataSource
    let makeInspector: @Sendable (BlobOpening) -> any BlobInspector

    func inspector(_ opening: BlobOpening) -> (any BlobInspector)? { self.makeInspector(opening) }
}

/// An inspector that throws if a blob is longer than a number of bytes.
private struct Limit: BlobInspector {
    let maximumByteCount: Int64
    var byteOffset: Int64

    func info(of base: BlobInfo) throws -> BlobInfo {
        try self.check(base.byteCount ?? 0)
        return base
    }

    // At the limit, one more byte is requested: otherwise the end would remain unknown.
    func readLimit() -> BlobReadLimit { .bytes(max(self.maximumByteCount - self.byteOffset, 1)) }

    mutating func pass(_ bytes: RawSpan, at byteOffset: Int64, isLast: Bool) throws -> Range<Int> {
        self.byteOffset = byteOffset + Int64(bytes.byteCount)
        try self.check(self.byteOffset)
        return 0..<bytes.byteCount
    }

    private func check(_ byteCount: Int64) throws {
        guard byteCount > self.maximumByteCount else { return }
        throw BlobError(.limitExceeded, "The blob has more bytes than the limit of \(self.maximumByteCount).")
    }
}

/// An inspector that counts the bytes that pass.
private struct Counter: BlobInspector {
    let onBytes: @Sendable (_ count: Int, _ byteOffset: Int64, _ byteCount: Int64?) -> Void
    let context: BlobContext
    var byteCount: Int64?

    mutating func info(of base: BlobInfo) -> BlobInfo {
        self.byteCount = base.byteCount
        return base
    }

    func pass(_ bytes: RawSpan, at byteOffset: Int64, isLast: Bool) -> Range<Int> {
        if isLast { return 0..<0 }
        self.onBytes(bytes.byteCount, byteOffset + Int64(bytes.byteCount), self.byteCount)
        self.context.report(BlobEvent(.bytes, Int64(bytes.byteCount)))
        return 0..<bytes.byteCount
    }
}

/// A layer that reads its base on another thread, ahead of the consumer.
package struct ReadAheadSource: ForwardingSource, NamedLayer {
    package let base: any BlobInputStreamDataSource
    private let windowByteCounts: ClosedRange<Int>

    package init(
        _ base: any BlobInputStreamDataSource, windowByteCounts: ClosedRange<Int> = (64 * 1024)...(1024 * 1024)
    ) {
        precondition(windowByteCounts.lowerBound > 0, "A window must have room for at least one byte.")
        self.base = base
        self.windowByteCounts = windowByteCounts
    }

    package var layer: String { self.base.layerName }
    package var standsForBase: Bool { true }

    package var traits: BlobTraits { self.base.traits.union(.neverBlocks) }
    package var locator: BlobLocator? { self.base.locator }

    package func makeBody(_ opening: BlobOpening) -> BlobBody {
        let stream = ReadAheadStream(windowByteCounts: self.windowByteCounts, opening.context) { [base] context in
            try base.open(at: opening.byteOffset, matching: opening.validator, context: context)
        }
        return .stream(stream, startingAt: opening.byteOffset)
    }
}

extension ReadAheadSource: BlobLayer {
    package var underlying: any BlobInputStreamDataSource { self.base }
}
