/// The facts that a list of the blocks of compressed data tells about the decoded bytes.
package protocol BlockList: Sendable {
    /// The length of all decoded bytes.
    var byteCount: Int64 { get }
    /// True when opening at an offset costs about as much as opening at the start.
    var isRandomAccess: Bool { get }
    /// The offsets of the blocks' first bytes, in ascending order.
    var starts: [(decoded: Int64, compressed: Int64)] { get }
}

/// The blocks that a table in the compressed data lists.
package struct BlockTable: BlockList {
    /// One block, which ends where the next one begins, or where something else than a block does.
    struct Entry: Sendable {
        /// The range of its compressed bytes.
        var compressed: Range<Int64>
        /// The offset of its first decoded byte.
        var byteOffset: Int64
        /// A number that the format needs to decode the block: the kind of its check, or its checksum.
        var detail: UInt64
    }

    /// The number of blocks up to which a table is used: with a million, it takes 32 MB.
    static let maximumCount = 1 << 20

    /// The largest block, in decoded bytes, whose length still makes it worth to be looked for: 32 MiB.
    private static let maximumRandomAccessByteCount: Int64 = 32 << 20

    private(set) var entries: [Entry] = []
    package private(set) var byteCount: Int64 = 0
    private var largestByteCount: Int64 = 0

    package var starts: [(decoded: Int64, compressed: Int64)] {
        self.entries.map { ($0.byteOffset, $0.compressed.lowerBound) }
    }

    package var isRandomAccess: Bool {
        Self.isRandomAccess(count: self.entries.count, largestByteCount: self.largestByteCount)
    }

    /// Returns true when blocks are short enough to be found and decoded from their start.
    static func isRandomAccess(count: Int, largestByteCount: Int64) -> Bool {
        count > 1 && largestByteCount <= Self.maximumRandomAccessByteCount
    }

    /// Appends a block; returns false when it makes the table larger than a blob or than the limit.
    mutating func append(_ compressed: Range<Int64>, byteCount: Int64, detail: UInt64) -> Bool {
        let (end, overflows) = self.byteCount.addingReportingOverflow(byteCount)
        guard byteCount >= 0, !overflows, self.entries.count < Self.maximumCount else { return false }
        self.entries.append(Entry(compressed: compressed, byteOffset: self.byteCount, detail: detail))
        self.byteCount = end
        self.largestByteCount = max(self.largestByteCount, byteCount)
        return true
    }

    /// The number of decoded bytes of a block.
    func byteCount(of index: Int) -> Int64 {
        let next = index + 1 < self.entries.count ? self.entries[index + 1].byteOffset : self.byteCount
        return next - self.entries[index].byteOffset
    }

    /// The block that contains a decoded byte; the number of blocks for the offset at the end.
    func index(of byteOffset: Int64) -> Int {
        guard byteOffset < self.byteCount else { return self.entries.count }
        var (low, high) = (0, self.entries.count)
        while high - low > 1 {
            let middle = (low + high) / 2
            if self.entries[middle].byteOffset <= byteOffset { low = middle } else { high = middle }
        }
        return low
    }
}
