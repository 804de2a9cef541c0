import BlobCore

/// A run of bytes that grows at its end, in blocks, and can be dropped from its front.
///
/// Bytes that exist never change and never move: those that were lent may be read while more are added.
struct ByteBlocks {
    static let blockByteCount = 64 * 1024

    private var blocks: [Window] = []
    /// Blocks without bytes, so that a long run does not allocate.
    private var spares: [Window] = []
    /// The offset of the first byte of the first block.
    private(set) var start: Int64
    private(set) var end: Int64

    init(at byteOffset: Int64) { (self.start, self.end) = (byteOffset, byteOffset) }

    var byteCount: Int { Int(self.end - self.start) }

    /// Adds bytes at the end.
    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        var rest = bytes
        while !rest.isEmpty {
            if self.byteCount == self.blocks.count * Self.blockByteCount {
                self.blocks.append(self.spares.popLast() ?? Window(Self.blockByteCount))
            }
            let count = self.blocks[self.blocks.count - 1].append { $0.append(contentsOf: rest) }
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            self.end += Int64(count)
        }
    }

    /// Returns the bytes from an offset within the run to the end of its block or of the run.
    func bytes(at byteOffset: Int64, isExclusive: Bool) -> BlobBytes {
        let (index, offset) = Int(byteOffset - self.start).quotientAndRemainder(dividingBy: Self.blockByteCount)
        let block = self.blocks[index]
        return BlobBytes(
            UnsafeRawBufferPointer(rebasing: block.bytes[offset...]), ownedBy: block, isExclusive: isExclusive)
    }

    /// Drops the blocks that lie before an offset as a whole.
    mutating func drop(before byteOffset: Int64) {
        while byteOffset - self.start >= Int64(Self.blockByteCount), !self.blocks.isEmpty,
            self.byteCount >= Self.blockByteCount
        {
            var block = self.blocks.removeFirst()
            self.start += Int64(Self.blockByteCount)
            guard self.spares.count < 16, isKnownUniquelyReferenced(&block) else { continue }
            block.drop(block.count)
            self.spares.append(block)
        }
    }

    /// Frees the memory of all blocks.
    mutating func removeAll() { (self.blocks, self.spares, self.start) = ([], [], self.end) }
}
