import BlobCore

/// A finder of the blocks that a table lists.
final class TableFinder: BlockFinder {
    /// The largest compressed block that is kept in memory, in bytes; larger ones are streamed.
    private static let maximumKeptByteCount: Int64 = 32 << 20
    /// The largest decoded block that is kept in memory, in bytes.
    private static let maximumDecodedByteCount: Int64 = 40 << 20
    private static let pieceByteCount: Int64 = 256 * 1024

    typealias MakeBlock = (_ bytes: [UInt8], _ table: BlockTable, _ index: Int, _ context: BlobContext) throws -> Block

    private let table: BlockTable
    private let makeBlock: MakeBlock
    private let context: BlobContext
    private let base: BlobReader
    private(set) var byteOffset: Int64
    private var index: Int
    /// The end of the block that is being streamed.
    private var end: Int64 = 0

    /// - Parameters:
    ///   - index: The first block to return.
    ///   - makeBlock: Makes a block from its compressed bytes; from the first ones when it is to be streamed.
    init(_ base: BlockBase, _ table: BlockTable, from index: Int, makeBlock: @escaping MakeBlock) throws {
        self.table = table
        self.index = index
        self.makeBlock = makeBlock
        self.context = base.context
        self.byteOffset = index < table.entries.count ? table.entries[index].byteOffset : table.byteCount
        let start = index == 0 ? 0 : index < table.entries.count ? table.entries[index].compressed.lowerBound : nil
        self.base = try base.open(at: start ?? base.byteCount)
    }

    func next() throws -> Block? {
        guard self.index < self.table.entries.count else {
            _ = try self.base.drain()
            return nil
        }
        let range = self.table.entries[self.index].compressed
        self.base.skip(range.lowerBound - self.base.byteOffset)
        let isStreamed =
            Int64(range.count) > Self.maximumKeptByteCount
            || self.table.byteCount(of: self.index) > Self.maximumDecodedByteCount
        self.end = range.upperBound
        let bytes = try isStreamed ? self.nextBytes() : self.base.bytes(range.count)
        guard isStreamed || bytes.count == range.count else {
            throw BlobError(.truncated, "The compressed data end within a block.", byteOffset: self.base.byteOffset)
        }
        var block = try self.makeBlock(bytes, self.table, self.index, self.context)
        block.isStreamed = isStreamed
        self.byteOffset += table.byteCount(of: self.index)
        self.index += 1
        return block
    }

    func nextBytes() throws -> [UInt8] {
        try self.base.bytes(Int(min(self.end - self.base.byteOffset, Self.pieceByteCount)))
    }

    func close() { self.base.close() }
}
