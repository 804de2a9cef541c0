import BlobCore

/// The header of a Zstandard frame with compressed data (RFC 8878, section 3.1.1.1).
package struct ZstdFrame {
    let headerByteCount: Int
    package let windowByteCount: UInt64
    let byteCount: UInt64?
    package let hasChecksum: Bool
    /// True for a frame that cannot be decoded without its dictionary.
    let hasDictionary: Bool

    /// The length of the longest header, and of the header of a skippable frame.
    static let (maximumHeaderByteCount, skippableHeaderByteCount) = (18, 8)

    /// The name of the checksum of a frame, which stores its lowest 32 bits.
    package static let checksumName = "XXH64"

    /// The largest window, in bytes: 128 MiB.
    static let maximumWindowByteCount: UInt64 = 128 << 20

    /// The magic number of a frame with data.
    package static let magic: UInt64 = 0xFD2F_B528

    /// Returns true for the magic number of a skippable frame, whose length follows in 4 bytes (section 3.1.2).
    package static func isSkippable(_ magic: UInt64) -> Bool { magic & ~0xF == 0x184D_2A50 }

    /// Returns the length of a skippable frame in bytes, with its header; nil if the bytes are the beginning of another
    /// kind of frame.
    package static func skippableByteCount(_ bytes: ArraySlice<UInt8>) -> UInt64? {
        guard bytes.count >= Self.skippableHeaderByteCount, Self.isSkippable(bytes.prefix(4).littleEndian) else {
            return nil
        }
        return UInt64(Self.skippableHeaderByteCount) + bytes.dropFirst(4).prefix(4).littleEndian
    }

    /// Parses the header of a frame from its first bytes; returns nil if they do not begin with a complete frame
    /// header.
    package init?(_ bytes: ArraySlice<UInt8>) {
        func number(_ place: Int, _ count: Int) -> UInt64 { bytes.dropFirst(place).prefix(count).littleEndian }
        guard bytes.count >= 5, number(0, 4) == Self.magic else { return nil }
        let descriptor = Int(number(4, 1))
        let (isSingle, dictionaryByteCount) = (descriptor & 0x20 != 0, [0, 1, 2, 4][descriptor & 3])
        let sizeByteCount = [isSingle ? 1 : 0, 2, 4, 8][descriptor >> 6]
        let place = (isSingle ? 5 : 6) + dictionaryByteCount
        guard bytes.count >= place + sizeByteCount else { return nil }
        self.headerByteCount = place + sizeByteCount
        self.byteCount = sizeByteCount == 0 ? nil : number(place, sizeByteCount) + (sizeByteCount == 2 ? 256 : 0)
        let base = UInt64(1) << (10 + number(5, 1) >> 3)
        self.windowByteCount = isSingle ? self.byteCount ?? 0 : base + base / 8 * (number(5, 1) & 7)
        (self.hasChecksum, self.hasDictionary) = (descriptor & 4 != 0, dictionaryByteCount > 0)
    }
}

extension BlockTable {
    /// The length of the footer of the seek table, a skippable frame at the end of seekable Zstandard data
    /// (zstd_seekable_compression_format.md).
    private static let footerByteCount = 9
    /// The maximum number of frames, whose headers are all read; a larger table is not used.
    private static let maximumFrameCount: Int64 = 16_384

    /// Reads the seek table of seekable Zstandard data.
    ///
    /// The table is a hint: the header of each frame must agree with it, and each decoded frame must have the lengths
    /// stated in it.
    ///
    /// - Returns: Nil if the table is missing or inconsistent, or lists too many frames.
    /// - Throws: Errors of the base.
    /// - Complexity: Reads the table, and the header of each frame.
    static func zstd(_ base: BlockBase) throws -> BlockTable? {
        let footerStart = base.byteCount - Int64(Self.footerByteCount)
        guard footerStart > 0 else { return nil }
        let footer = try base.bytes(at: footerStart, count: Self.footerByteCount)
        let (count, descriptor) = (Int64(footer.prefix(4).littleEndian), footer.dropFirst(4).first ?? 0)
        // The bits 2 to 6 are reserved.
        guard footer.count == Self.footerByteCount, footer.suffix(4).littleEndian == 0x8F92_EAB1,
            descriptor & 0x7C == 0, count <= Self.maximumFrameCount
        else { return nil }
        let entryByteCount: Int64 = descriptor & 0x80 == 0 ? 8 : 12
        let bodyByteCount = count * entryByteCount + Int64(Self.footerByteCount)
        let end = base.byteCount - bodyByteCount - Int64(ZstdFrame.skippableHeaderByteCount)
        guard end >= 0 else { return nil }
        let bytes = try base.bytes(at: end, count: Int(base.byteCount - end))
        guard bytes.prefix(4).littleEndian == 0x184D_2A5E, bytes[4..<8].littleEndian == UInt64(bodyByteCount) else {
            return nil
        }
        var table = BlockTable()
        var start: Int64 = 0
        for place in stride(from: 8, to: 8 + Int(count * entryByteCount), by: Int(entryByteCount)) {
            func number(_ offset: Int) -> UInt64 { bytes[(place + offset)..<(place + offset + 4)].littleEndian }
            let frameEnd = start + Int64(number(0))
            // Bit 32, above the checksum, marks a table with checksums.
            let detail = entryByteCount == 12 ? number(8) | 1 << 32 : 0
            guard frameEnd <= end, table.append(start..<frameEnd, byteCount: Int64(number(4)), detail: detail) else {
                return nil
            }
            start = frameEnd
        }
        return try start == end && table.hasRightHeaders(base) ? table : nil
    }

    /// Returns true if each frame begins at its offset in the table, and its header states the same length.
    private func hasRightHeaders(_ base: BlockBase) throws -> Bool {
        for index in 0..<self.count {
            let header = try base.bytes(
                at: self.compressedRange(index).lowerBound, count: ZstdFrame.maximumHeaderByteCount)
            guard let frame = ZstdFrame(header[...]), !frame.hasDictionary,
                frame.byteCount == UInt64(self.byteCount(of: index))
            else { return false }
        }
        return true
    }
}
