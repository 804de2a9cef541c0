import BlobCore

extension BlockTable {
    /// The seek table at the end of seekable Zstandard data: a skippable frame (zstd_seekable_compression_format.md).
    private static let footerByteCount = 9
    /// The number of frames whose headers are read: a table of more is not used.
    private static let maximumFrameCount: Int64 = 16_384

    /// Reads the seek table of seekable Zstandard data.
    ///
    /// The table is a hint: the header of each frame must say the same, and a frame that is decoded must have the
    /// lengths.
    ///
    /// - Returns: Nil when there is no table, or one that cannot be right, or more frames than are worth to be looked
    ///   at.
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
            // A number behind the checksum says that there is one.
            let detail = entryByteCount == 12 ? number(8) | 1 << 32 : 0
            guard frameEnd <= end, table.append(start..<frameEnd, byteCount: Int64(number(4)), detail: detail) else {
                return nil
            }
            start = frameEnd
        }
        return try start == end && table.hasRightHeaders(base) ? table : nil
    }

    /// Returns true when each frame begins where the table says, and says that it has as many bytes.
    private func hasRightHeaders(_ base: BlockBase) throws -> Bool {
        for (index, entry) in self.entries.enumerated() {
            let header = try base.bytes(at: entry.compressed.lowerBound, count: ZstdFrame.maximumHeaderByteCount)
            guard case .data(_, _, let byteCount, _) = ZstdFrame(header[...]),
                byteCount == UInt64(self.byteCount(of: index))
            else { return false }
        }
        return true
    }
}
