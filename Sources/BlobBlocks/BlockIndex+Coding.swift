package import BlobCore
package import BlobIndex

extension BlockIndex {
    /// The version of the format of the section; other versions are not read.
    private static let version: UInt64 = 1

    /// The length of the shortest block in bytes: a Zstandard frame without bytes has nine.
    private static let minimumBlockByteCount: Int64 = 8

    /// The largest encoded length of a block in bytes: three varints and a checksum.
    private static let maximumEntryByteCount: Int64 = 3 * 10 + 4

    /// The largest encoded length of the fields before the blocks, in bytes: four varints.
    private static let maximumHeadByteCount: Int64 = 4 * 10

    /// Loads the index of some content from a file; returns nil when there is none, or it is damaged.
    ///
    /// - Throws: Errors of reading the file.
    package static func load(
        _ file: IndexFile, layer: String, content: IndexedContent
    ) throws(BlobError) -> BlockIndex? {
        let limit = Self.maximumHeadByteCount + Self.maximumCount(content.byteCount) * Self.maximumEntryByteCount
        guard let section = try file.section(.blocks(layer), for: content, atMost: limit) else { return nil }
        guard let index = try? BlockIndex(decoding: try section.bytes()), index.compressedByteCount == content.byteCount
        else {
            file.noteRefusal(IndexFile.isDamaged)
            return nil
        }
        file.noteUse()
        return index
    }

    /// Returns the section of the index, and its length in bytes.
    package func sections(layer: String) -> (sections: [NewIndexSection], byteCount: Int64) {
        let bytes = self.encoded
        return ([NewIndexSection(.blocks(layer), bytes: bytes)], Int64(bytes.count))
    }

    private static func maximumCount(_ compressedByteCount: Int64) -> Int64 {
        min(Int64(Self.maximumCount), compressedByteCount / Self.minimumBlockByteCount)
    }

    /// The encoded section. The places of blocks are relative to those of the previous one.
    var encoded: [UInt8] {
        var writer = IndexWriter()
        writer.append(varint: Self.version)
        for number in [self.compressedByteCount, self.byteCount, Int64(self.entries.count)] {
            writer.append(varint: UInt64(number))
        }
        var bitOffset: Int64 = 0
        for (number, entry) in self.entries.enumerated() {
            writer.append(varint: UInt64(entry.start.bitOffset - bitOffset))
            writer.append(varint: UInt64(self.byteCount(of: number)))
            writer.append(varint: entry.start.detail)
            writer.append(fixed: entry.checksum)
            bitOffset = entry.start.bitOffset
        }
        return writer.bytes
    }

    /// Decodes a section.
    ///
    /// - Throws: ``BlobError/Code/corrupted`` for bytes that no recording writes, before memory is taken for more
    ///   blocks than the compressed data can hold.
    convenience init(decoding bytes: [UInt8]) throws(BlobError) {
        var reader = IndexReader(bytes)
        guard try reader.varint() == Self.version else { throw reader.failure("has another version") }
        let compressedByteCount = Int64(try reader.count())
        let byteCount = Int64(try reader.count())
        let count = try reader.count()
        // The bound keeps the number of bits, and sums of offsets, from overflowing.
        guard max(compressedByteCount, byteCount) <= .max / 8, count > 0,
            Int64(count) <= Self.maximumCount(compressedByteCount)
        else { throw reader.failure("has no blocks, more than its content can have, or sizes that no content has") }
        var (entries, place) = ([Entry](), BlockStart.beginning)
        // A block takes at least seven bytes.
        entries.reserveCapacity(min(count, reader.remaining / 7))
        for number in 0..<count {
            let bits = Int64(try reader.count())
            let blockByteCount = Int64(try reader.count())
            guard number == 0 ? bits == 0 : bits > 0, bits <= compressedByteCount * 8 - place.bitOffset,
                blockByteCount <= byteCount - place.byteOffset
            else { throw reader.failure("has a block out of order") }
            place.bitOffset += bits
            place.detail = try reader.varint()
            entries.append(Entry(start: place, checksum: try reader.fixed()))
            place.byteOffset += blockByteCount
        }
        guard place.byteOffset == byteCount, reader.isAtEnd else { throw reader.failure("has other blocks than bytes") }
        self.init(compressedByteCount: compressedByteCount, entries: entries, byteCount: byteCount)
    }
}

extension IndexSection.Key {
    fileprivate static func blocks(_ layer: String) -> Self { Self(layer: layer, kind: IndexSection.Kind("BLKS")) }
}
