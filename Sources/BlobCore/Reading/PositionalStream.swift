/// The stream of a positional body.
final class PositionalStream: BlobByteStream {
    private let knownInfo: BlobInfo
    private let now: BlobReadAtNow?
    private let readAt: BlobReadAt
    /// The read on the pool, running or complete; nil when none was started.
    private var fetch: Fetch?

    /// - Parameter now: Nil when reads may block.
    init(_ info: BlobInfo, now: BlobReadAtNow?, _ read: @escaping BlobReadAt) {
        (self.knownInfo, self.now, self.readAt) = (info, now, read)
    }

    var info: BlobInfo? { self.knownInfo }
    var neverBlocks: Bool { self.now != nil }
    var readiness: BlobWakerSlot? { self.fetch?.slot }

    func read(at byteOffset: Int64, into output: inout OutputRawSpan) throws -> BlobReadResult {
        let before = output.byteCount
        if let now {
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
        /// The most bytes that are read at once.
        private static let maximumByteCount = 128 * 1024

        let slot = BlobWakerSlot()
        private let byteCount: Int
        private let result = Locked<Result<BlobBytes, any Error>?>(nil)

        init(_ byteCount: Int) { self.byteCount = min(byteCount, Self.maximumByteCount) }

        var outcome: Result<BlobBytes, any Error>? { self.result.withLock { $0 } }

        func start(at byteOffset: Int64, _ read: @escaping BlobReadAt) {
            // The stream calls neither closure before this read is over.
            let read = HandedOver(read)
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
