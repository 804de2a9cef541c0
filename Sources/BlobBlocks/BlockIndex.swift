package import BlobCore
package import BlobIndex

/// The blocks of compressed data that does not list them, found by decoding from the beginning.
///
/// When decoding begins at a block of the index, every block from there on must have the length and the checksum in the
/// index. The bytes at an offset are therefore the bytes from which the index was made.
package final class BlockIndex: CacheableIndex, BlockList {
    /// The maximum number of blocks in an index; the section of such an index takes 16 MB.
    static let maximumCount = 1 << 20

    /// The positions at which a search for the blocks can begin; there is at least one, and the first is at the start.
    package let points: RestartPoints
    /// The CRC-32 of the decoded bytes of each block.
    let checksums: [UInt32]
    package let largestByteCount: Int64
    private let invalidation = Locked(false)

    init(_ points: RestartPoints, checksums: [UInt32]) {
        (self.points, self.checksums) = (points, checksums)
        self.largestByteCount = points.maximumSliceByteCount
    }

    /// True if the index turned out to be made from bytes other than the content.
    package var isInvalidated: Bool { self.invalidation.withLock { $0 } }

    /// Marks the index as made from bytes other than the content, despite matching validators.
    package func invalidate() { self.invalidation.withLock { $0 = true } }

    /// The length and the checksum of a block; nil after the last block.
    func block(_ index: Int) -> Block.Content? {
        guard index < self.points.count else { return nil }
        return Block.Content(byteCount: Int64(self.points.slice(index).count), checksum: self.checksums[index])
    }

    /// Calls `report` with a sentence about each block that differs in another index of the same data.
    ///
    /// - Returns: The number of blocks.
    package func compare(with other: BlockIndex, report: (String) throws -> Void) rethrows -> Int {
        let count = self.points.count
        for (number, place) in self.points.places.enumerated() {
            let isRight = other.block(number) == self.block(number) && other.points[number] == place
            guard !isRight else { continue }
            try report(
                "Block \(number) (bit \(place.bitOffset), byte \(place.byteOffset)) of the index "
                    + "does not match the data."
            )
        }
        if other.points.count > count {
            try report("The data has \(other.points.count) blocks, but the index has \(count).")
        }
        return count
    }

    // MARK: The section

    /// The version of the format of the section; other versions are not read.
    private static let version: UInt64 = 1

    /// The length of the shortest block in bytes: an empty Zstandard frame has nine.
    private static let minimumBlockByteCount: Int64 = 8

    /// The largest encoded length of a block in bytes: three varints and a checksum.
    private static let maximumEntryByteCount: Int64 = 3 * 10 + 4

    /// The largest encoded length of the fields before the blocks, in bytes: four varints.
    private static let maximumHeadByteCount: Int64 = 4 * 10

    /// Loads the index of some content from a file; returns nil if it is missing or damaged.
    ///
    /// - Throws: Errors of reading the file.
    package static func load(
        _ file: IndexFile, layer: String, content: IndexedContent
    ) throws(BlobError) -> BlockIndex? {
        let limit = Self.maximumHeadByteCount + Self.maximumCount(content.byteCount) * Self.maximumEntryByteCount
        return try file.load(.blocks(layer), for: content, atMost: limit) {
            let index = try BlockIndex(decoding: $0)
            return index.points.compressedByteCount == content.byteCount ? index : nil
        }
    }

    /// Returns the section of the index, and its length in bytes.
    package func sections(layer: String) -> (sections: [NewIndexSection], byteCount: Int64) {
        let bytes = self.encoded
        return ([NewIndexSection(.blocks(layer), bytes: bytes)], Int64(bytes.count))
    }

    private static func maximumCount(_ compressedByteCount: Int64) -> Int64 {
        min(Int64(Self.maximumCount), compressedByteCount / Self.minimumBlockByteCount)
    }

    /// The encoded section. The position of each block is relative to the position of the previous block.
    var encoded: [UInt8] {
        var writer = IndexWriter()
        writer.append(varint: Self.version)
        for number in [self.points.compressedByteCount, self.byteCount, Int64(self.points.count)] {
            writer.append(varint: UInt64(number))
        }
        var bitOffset: Int64 = 0
        for (number, place) in self.points.places.enumerated() {
            writer.append(varint: UInt64(place.bitOffset - bitOffset))
            writer.append(varint: UInt64(self.points.slice(number).count))
            writer.append(varint: place.detail)
            writer.append(fixed: self.checksums[number])
            bitOffset = place.bitOffset
        }
        return writer.bytes
    }

    /// Decodes a section.
    ///
    /// - Throws: ``BlobError/Code/corrupted`` if the bytes are not a valid section. The error is thrown before memory
    ///   is allocated for more blocks than the compressed data can hold.
    convenience init(decoding bytes: [UInt8]) throws(BlobError) {
        var reader = IndexReader(bytes)
        guard try reader.readVarint() == Self.version else { throw reader.failure("has an unsupported version") }
        let compressedByteCount = Int64(try reader.count())
        let byteCount = Int64(try reader.count())
        let count = try reader.count()
        // The bound keeps the number of bits, and sums of offsets, from overflowing.
        guard max(compressedByteCount, byteCount) <= .max / 8, count > 0,
            Int64(count) <= Self.maximumCount(compressedByteCount)
        else { throw reader.failure("has an invalid number of blocks or an invalid size") }
        var (places, checksums, place) = ([RestartPoint](), [UInt32](), RestartPoint.start)
        for number in 0..<count {
            let bits = Int64(try reader.count())
            let blockByteCount = Int64(try reader.count())
            guard number == 0 ? bits == 0 : bits > 0, bits <= compressedByteCount * 8 - place.bitOffset,
                blockByteCount <= byteCount - place.byteOffset
            else { throw reader.failure("has a block out of order") }
            place.bitOffset += bits
            place.detail = try reader.readVarint()
            places.append(place)
            checksums.append(try reader.readFixed())
            place.byteOffset += blockByteCount
        }
        guard place.byteOffset == byteCount, reader.isAtEnd else {
            throw reader.failure("has blocks that do not match its size")
        }
        self.init(
            RestartPoints(places, compressedByteCount: compressedByteCount, byteCount: byteCount), checksums: checksums)
    }
}

extension IndexSection.Key {
    fileprivate static func blocks(_ layer: String) -> Self { Self(layer: layer, kind: IndexSection.Kind("BLKS")) }
}

/// A recording of the blocks of compressed data while they are decoded block by block from their beginning.
package final class BlockRecording {
    private let compressedByteCount: Int64
    private let finish: (BlockIndex) throws -> Void
    private var (places, checksums) = ([RestartPoint](), [UInt32]())
    private var nextPoint = RestartPoint.start
    private var isTooLong = false

    /// Creates an empty recording.
    ///
    /// - Parameters:
    ///   - base: The compressed data.
    ///   - finish: A closure that is called once, at the end, unless there are fewer than two blocks or too many; the
    ///     read throws its error.
    package init(of base: BlockBase, finish: @escaping (BlockIndex) throws -> Void) {
        self.compressedByteCount = base.byteCount
        self.finish = finish
    }

    /// Records a verified block.
    ///
    /// - Parameter next: The start of the next block.
    func append(checksum: UInt32, next: RestartPoint) {
        self.isTooLong = self.isTooLong || self.places.count == BlockIndex.maximumCount
        if !self.isTooLong {
            self.places.append(self.nextPoint)
            self.checksums.append(checksum)
        }
        self.nextPoint = next
    }

    /// Completes the index after the last block.
    func end() throws {
        guard !self.isTooLong, self.places.count > 1 else { return }
        let points = RestartPoints(
            self.places, compressedByteCount: self.compressedByteCount, byteCount: self.nextPoint.byteOffset)
        try self.finish(BlockIndex(points, checksums: self.checksums))
    }
}
