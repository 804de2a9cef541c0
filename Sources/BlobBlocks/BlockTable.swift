import BlobCore
package import BlobIndex

/// The blocks of compressed data, listed by the data or by an index.
package protocol BlockList: Sendable {
    /// The positions at which the blocks begin.
    var points: RestartPoints { get }
    /// The length of the largest block in decoded bytes.
    var largestByteCount: Int64 { get }
}

extension BlockList {
    /// The length of all decoded bytes.
    package var byteCount: Int64 { self.points.byteCount }

    /// True if opening at an offset costs about as much as opening at the start.
    package var isRandomAccess: Bool { self.points.count > 1 && self.largestByteCount <= maximumRandomAccessByteCount }
}

/// The maximum length of a block, in decoded bytes, that still permits random access: 32 MiB.
private let maximumRandomAccessByteCount: Int64 = 32 << 20

/// The blocks that a table in the compressed data lists.
///
/// The detail of each point is a number that the format needs, such as the kind of the check or the checksum.
package struct BlockTable: BlockList {
    /// The maximum number of blocks in a table; a table of a million blocks takes 32 MB.
    static let maximumCount = 1 << 20

    package private(set) var points = RestartPoints()
    /// The ends of the blocks in the compressed data; data other than a block may follow an end.
    private var endOffsets: [Int64] = []
    package private(set) var largestByteCount: Int64 = 0

    /// Appends a block; returns false if the table would exceed the limit, or the maximum length of a blob.
    mutating func append(_ compressed: Range<Int64>, byteCount: Int64, detail: UInt64) -> Bool {
        guard self.endOffsets.count < Self.maximumCount,
            self.points.append(byteCount, compressed: compressed, detail: detail)
        else { return false }
        self.endOffsets.append(compressed.upperBound)
        self.largestByteCount = max(self.largestByteCount, byteCount)
        return true
    }

    var count: Int { self.endOffsets.count }

    /// Returns the range of the compressed bytes of a block.
    func compressedRange(_ index: Int) -> Range<Int64> {
        self.points[index].compressedByteOffset..<self.endOffsets[index]
    }

    /// Returns the number of decoded bytes of a block.
    func byteCount(of index: Int) -> Int64 { Int64(self.points.slice(index).count) }

    /// Returns the index of the block that contains a decoded byte; the number of blocks for the offset at the end.
    func index(of byteOffset: Int64) -> Int {
        byteOffset < self.byteCount ? self.points.index(of: byteOffset) : self.count
    }
}

/// A finder of the blocks that a table lists.
final class TableFinder: BlockFinder {
    /// The maximum size in bytes of a compressed block that is held in memory; larger blocks are streamed.
    private static let maximumKeptByteCount: Int64 = 32 << 20
    /// The maximum size in bytes of a decoded block that is held in memory.
    private static let maximumDecodedByteCount: Int64 = 40 << 20
    private static let pieceByteCount: Int64 = 256 * 1024

    typealias MakeBlock = (_ bytes: [UInt8], _ table: BlockTable, _ index: Int, _ context: BlobContext) throws -> Block

    private let table: BlockTable
    private let makeBlock: MakeBlock
    private let context: BlobContext
    private let base: BlobReader
    private(set) var byteOffset: Int64
    private var index: Int
    /// The offset, in the compressed data, of the end of the block that is being streamed.
    private var endOffset: Int64 = 0

    /// Creates a finder of the blocks of `table`.
    ///
    /// - Parameters:
    ///   - index: The index of the first block to return.
    ///   - makeBlock: A closure that creates a block from its compressed bytes, or from the first of them if it is
    ///     streamed.
    init(_ base: BlockBase, _ table: BlockTable, from index: Int, makeBlock: @escaping MakeBlock) throws {
        self.table = table
        self.index = index
        self.makeBlock = makeBlock
        self.context = base.context
        self.byteOffset = index < table.count ? table.points[index].byteOffset : table.byteCount
        let start = index < table.count ? table.points[index].compressedByteOffset : base.byteCount
        self.base = try base.open(at: index == 0 ? 0 : start)
    }

    func next() throws -> Block? {
        guard self.index < self.table.count else {
            _ = try self.base.drain()
            return nil
        }
        let range = self.table.compressedRange(self.index)
        self.base.skip(range.lowerBound - self.base.byteOffset)
        let isStreamed =
            Int64(range.count) > Self.maximumKeptByteCount
            || self.table.byteCount(of: self.index) > Self.maximumDecodedByteCount
        self.endOffset = range.upperBound
        let bytes = try isStreamed ? self.nextBytes() : self.base.bytes(atMost: range.count)
        guard isStreamed || bytes.count == range.count else {
            throw BlobError(.truncated, "The compressed data ends within a block.", byteOffset: self.base.byteOffset)
        }
        var block = try self.makeBlock(bytes, self.table, self.index, self.context)
        block.isStreamed = isStreamed
        self.byteOffset += table.byteCount(of: self.index)
        self.index += 1
        return block
    }

    func nextBytes() throws -> [UInt8] {
        try self.base.bytes(atMost: Int(min(self.endOffset - self.base.byteOffset, Self.pieceByteCount)))
    }

    func close() { self.base.close() }
}
