import BlobCore

/// A run of bytes that grows at its end, in blocks, and can be dropped from its front.
///
/// Bytes that exist never change and never move, so they are read without a lock, and lent.
struct ByteBlocks {
    static let blockByteCount = 64 * 1024

    /// The memory of one block.
    final class Block: @unchecked Sendable {  // Safe: bytes are written once, before others learn of them.
        let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: blockByteCount, alignment: 16)

        deinit { self.bytes.deallocate() }
    }

    private var blocks: [Block] = []
    /// Blocks without bytes, so that a long run does not allocate.
    private var spares: [Block] = []
    /// The offset of the first byte of the first block.
    private(set) var start: Int64
    private(set) var end: Int64

    init(at byteOffset: Int64) { (self.start, self.end) = (byteOffset, byteOffset) }

    var byteCount: Int { Int(self.end - self.start) }

    /// Returns the block for the next bytes, with the offset in it at which they belong.
    mutating func room() -> (block: Block, offset: Int) {
        let offset = self.byteCount % Self.blockByteCount
        if self.byteCount / Self.blockByteCount == self.blocks.count {
            self.blocks.append(self.spares.popLast() ?? Block())
        }
        return (self.blocks[self.blocks.count - 1], offset)
    }

    /// Counts bytes that were written to the room.
    mutating func grow(_ byteCount: Int) { self.end += Int64(byteCount) }

    /// Returns the bytes from an offset within the run to the end of its block or of the run.
    func bytes(at byteOffset: Int64) -> (block: Block, range: Range<Int>) {
        let (index, offset) = Int(byteOffset - self.start).quotientAndRemainder(dividingBy: Self.blockByteCount)
        return (self.blocks[index], offset..<min(Self.blockByteCount, offset + Int(self.end - byteOffset)))
    }

    /// Drops the blocks that lie before an offset as a whole.
    mutating func drop(before byteOffset: Int64) {
        while byteOffset - self.start >= Int64(Self.blockByteCount), !self.blocks.isEmpty,
            self.byteCount >= Self.blockByteCount
        {
            var block = self.blocks.removeFirst()
            self.start += Int64(Self.blockByteCount)
            if self.spares.count < 16, isKnownUniquelyReferenced(&block) { self.spares.append(block) }
        }
    }

    /// Frees the memory of all blocks.
    mutating func removeAll() { (self.blocks, self.spares, self.start) = ([], [], self.end) }
}
