import BlobCore
import BlobIndex

/// The blocks of compressed data that do not list them themselves, as decoding from the beginning has found them.
///
/// Where decoding begins at a block of the index, every block from there on must have the length and the checksum that
/// it has here: the bytes at an offset are those from which the index was made.
package final class BlockIndex: HeldIndex, BlockList {
    struct Entry: Equatable, Sendable {
        /// The place at which the search for the block begins.
        var start: BlockStart
        /// The CRC-32 of its decoded bytes.
        var checksum: UInt32
    }

    /// The largest number of blocks in an index; its section takes 16 MB then.
    static let maximumCount = 1 << 20

    /// The length of the compressed data in bytes.
    package let compressedByteCount: Int64
    /// The blocks in order; at least one, and the first at the beginning.
    let entries: [Entry]
    package let byteCount: Int64
    package let isRandomAccess: Bool
    private let disproof = Locked(false)

    init(compressedByteCount: Int64, entries: [Entry], byteCount: Int64) {
        self.compressedByteCount = compressedByteCount
        self.entries = entries
        self.byteCount = byteCount
        var (largest, end) = (Int64(0), byteCount)
        for entry in entries.reversed() {
            largest = max(largest, end - entry.start.byteOffset)
            end = entry.start.byteOffset
        }
        self.isRandomAccess = BlockTable.isRandomAccess(count: entries.count, largestByteCount: largest)
    }

    package var starts: [(decoded: Int64, compressed: Int64)] {
        self.entries.map { ($0.start.byteOffset, $0.start.bitOffset / 8) }
    }

    /// True when the index turned out to be made from other bytes than its content has.
    package var isDisproved: Bool { self.disproof.withLock { $0 } }

    /// Marks the index as made from other bytes than its content has, in spite of matching validators.
    package func disprove() { self.disproof.withLock { $0 = true } }

    /// The number of blocks.
    package var blockCount: Int { self.entries.count }

    /// The number of decoded bytes of a block.
    func byteCount(of index: Int) -> Int64 {
        let end = index + 1 < self.entries.count ? self.entries[index + 1].start.byteOffset : self.byteCount
        return end - self.entries[index].start.byteOffset
    }

    /// Returns the last block that begins at or before a decoded byte.
    func index(of byteOffset: Int64) -> Int {
        var (low, high) = (0, self.entries.count)
        while high - low > 1 {
            let middle = (low + high) / 2
            if self.entries[middle].start.byteOffset <= byteOffset { low = middle } else { high = middle }
        }
        return low
    }

    /// Calls `report` with a sentence on each block that another index of the same data has otherwise.
    ///
    /// - Returns: The number of blocks.
    package func compare(with other: BlockIndex, report: (String) throws -> Void) rethrows -> Int {
        for (number, entry) in self.entries.enumerated() {
            let isRight =
                number < other.entries.count && other.entries[number] == entry
                && other.byteCount(of: number) == self.byteCount(of: number)
            guard !isRight else { continue }
            let start = entry.start
            try report(
                "Block \(number), at bit \(start.bitOffset) and byte \(start.byteOffset): the data have another one.")
        }
        if other.entries.count > self.entries.count {
            try report("The data have \(other.entries.count) blocks, the index has \(self.entries.count).")
        }
        return self.entries.count
    }
}

/// The blocks of an index that a reader meets, one after another.
struct ExpectedBlocks {
    private let index: BlockIndex
    private var number: Int

    /// Creates the blocks from a number on.
    init(_ index: BlockIndex, from number: Int) { (self.index, self.number) = (index, number) }

    /// Returns the content of the next block.
    ///
    /// - Throws: ``BlobError/Code/sizeMismatch`` after the last one.
    mutating func next() throws(BlobError) -> Block.Content {
        guard self.number < self.index.entries.count else {
            throw BlobError(.sizeMismatch, "There are more blocks than the \(self.number) of the index.")
        }
        defer { self.number += 1 }
        return Block.Content(
            byteCount: self.index.byteCount(of: self.number), checksum: self.index.entries[self.number].checksum)
    }
}
