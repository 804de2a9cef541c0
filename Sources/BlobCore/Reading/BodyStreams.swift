/// A stream that another stream replaces, when enough facts are known or when another stream must continue.
package protocol LateStream: BlobByteStream {
    /// Returns the stream that replaces this one, which is then no longer read or closed; nil while this stream remains
    /// in use. Called until the info is known, and after each read that returned ``BlobReadResult/notYet``.
    ///
    /// - Parameter isOpening: True while the reader is being opened, when no bytes are read.
    func successor(isOpening: Bool) throws -> StartedStream?
}

/// A stream that reads from a reader.
package protocol StreamOverReader: BlobByteStream {
    /// The reader from which the stream reads now; nil if it reads from none.
    var reader: BlobReader? { get }
}

/// A stream, and its position in the blob.
package struct StartedStream {
    let stream: any BlobByteStream
    /// The offset of the next byte of the stream.
    let byteOffset: Int64
    /// Bytes that were already taken from the stream: the bytes just before ``byteOffset``.
    var heldBytes: BlobBytes?
    /// The reading of the stream so far, if it is observed, which continues.
    var activity: BlobActivity?
}

extension BlobBody {
    /// Returns the stream that delivers the bytes of this body.
    package func start(_ opening: BlobOpening) throws -> StartedStream {
        switch self {
        case .positional(let info, let now, let read):
            // Checked before a closure is called with the offset.
            try info.check(byteOffset: opening.byteOffset, matching: opening.validator)
            let stream = PositionalStream(info, now: opening.context.mayBlock ? nil : now, read)
            return StartedStream(stream: stream, byteOffset: opening.byteOffset)
        case .stream(let stream, let start): return StartedStream(stream: stream, byteOffset: start)
        case .transform(let base, let transform, let start):
            return StartedStream(stream: TransformedStream(base, transform, opening.context), byteOffset: start)
        case .inspected(let base, let inspector, let start):
            return StartedStream(stream: InspectedStream(base, inspector, opening.context), byteOffset: start)
        case .joined(let parts, let info):
            return StartedStream(stream: JoinedStream(parts, info, opening), byteOffset: opening.byteOffset)
        case .deferred(let base, let byteCount, let makeBody):
            let stream = DeferredStream(base, peeking: byteCount, opening, makeBody)
            return StartedStream(stream: stream, byteOffset: opening.byteOffset)
        }
    }
}

/// The stream of a deferred body, until the body is created.
private final class DeferredStream: LateStream, StreamOverReader {
    private let base: BlobReader
    private let byteCount: Int
    private let opening: BlobOpening
    private let makeBody: (BlobInfo, RawSpan) throws -> BlobBody

    init(
        _ base: BlobReader, peeking byteCount: Int, _ opening: BlobOpening,
        _ makeBody: @escaping (BlobInfo, RawSpan) throws -> BlobBody
    ) {
        (self.base, self.byteCount, self.opening, self.makeBody) = (base, byteCount, opening, makeBody)
        base.deferChecks(to: opening.context)
    }

    var info: BlobInfo? { nil }
    var reader: BlobReader? { self.base }
    var neverBlocks: Bool { self.base.neverBlocks }
    var readiness: BlobWakerSlot? { self.base.readiness }

    func read(at byteOffset: Int64, into output: inout OutputRawSpan) -> BlobReadResult { .notYet }

    func successor(isOpening: Bool) throws -> StartedStream? {
        guard !isOpening || self.byteCount == 0 else { return nil }
        guard let info = try self.base.knownInfo() else { return nil }
        guard let bytes = try self.base.peek(self.byteCount) else { return nil }
        let body = try bytes.withUnsafeBytes { try self.makeBody(info, RawSpan(_unsafeBytes: $0)) }
        return try body.start(self.opening)
    }

    func close() { self.base.close() }
}

/// The stream of a positional body.
private final class PositionalStream: BlobByteStream {
    private let knownInfo: BlobInfo
    private let nonblockingReadAt: BlobNonblockingReadAt?
    private let readAt: BlobReadAt
    /// The read on the pool, running or complete; nil if none was started.
    private var fetch: Fetch?

    /// Creates the stream of a positional body.
    ///
    /// - Parameter now: A closure that reads without waiting; nil if reads may block.
    init(_ info: BlobInfo, now: BlobNonblockingReadAt?, _ read: @escaping BlobReadAt) {
        (self.knownInfo, self.nonblockingReadAt, self.readAt) = (info, now, read)
    }

    var info: BlobInfo? { self.knownInfo }
    var neverBlocks: Bool { self.nonblockingReadAt != nil }
    var readiness: BlobWakerSlot? { self.fetch?.slot }

    func read(at byteOffset: Int64, into output: inout OutputRawSpan) throws -> BlobReadResult {
        let before = output.byteCount
        if let now = self.nonblockingReadAt {
            if let fetch {
                guard let outcome = fetch.outcome else { return .notYet }
                self.fetch = nil
                let bytes = try outcome.get()
                bytes.withUnsafeBytes { _ = output.append(contentsOf: $0) }
                return bytes.isEmpty ? .end : .bytes
            }
            guard try now(byteOffset, &output) else {
                let fetch = Fetch(output.freeCapacity)
                self.fetch = fetch
                fetch.start(at: byteOffset, self.readAt)
                return .notYet
            }
        } else {
            try self.readAt(byteOffset, &output)
        }
        return output.byteCount > before ? .bytes : .end
    }

    /// One read on a thread of the pool.
    private final class Fetch: Sendable {
        /// The maximum number of bytes of a read.
        private static let maximumByteCount = 128 * 1024

        let slot = BlobWakerSlot()
        private let byteCount: Int
        private let result = Locked<Result<BlobBytes, any Error>?>(nil)

        init(_ byteCount: Int) { self.byteCount = min(byteCount, Self.maximumByteCount) }

        var outcome: Result<BlobBytes, any Error>? { self.result.withLock { $0 } }

        func start(at byteOffset: Int64, _ read: @escaping BlobReadAt) {
            // The stream calls neither closure before this read is over.
            let read = UnsafeTransfer(read)
            BlockingPool.reads.run {
                let window = Window(self.byteCount)
                let result = Result {
                    try window.fill { try read.value(byteOffset, &$0) }
                    return BlobBytes(window.bytes, ownedBy: window)
                }
                self.result.withLock { $0 = result }
                self.slot.fire()
            }
        }
    }
}
