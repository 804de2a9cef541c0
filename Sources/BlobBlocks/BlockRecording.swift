/// A recording of the blocks while compressed data are decoded from their beginning by their blocks.
package final class BlockRecording {
    private let compressedByteCount: Int64
    private let finish: (BlockIndex) throws -> Void
    private var entries: [BlockIndex.Entry] = []
    private var next = BlockStart.beginning
    private var isTooLong = false

    /// - Parameters:
    ///   - base: The compressed data.
    ///   - finish: Called once, at the end, unless there are fewer than two blocks, or too many; its error is that of
    ///     the read.
    package init(of base: BlockBase, finish: @escaping (BlockIndex) throws -> Void) {
        self.compressedByteCount = base.byteCount
        self.finish = finish
    }

    /// Records a verified block.
    ///
    /// - Parameter next: The start of the next block.
    func append(checksum: UInt32, next: BlockStart) {
        self.isTooLong = self.isTooLong || self.entries.count == BlockIndex.maximumCount
        if !self.isTooLong { self.entries.append(BlockIndex.Entry(start: self.next, checksum: checksum)) }
        self.next = next
    }

    /// Completes the index after the last block.
    func end() throws {
        guard !self.isTooLong, self.entries.count > 1 else { return }
        try self.finish(
            BlockIndex(
                compressedByteCount: self.compressedByteCount, entries: self.entries, byteCount: self.next.byteOffset))
    }
}
