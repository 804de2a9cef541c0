/// The header of a block of blocked gzip: a gzip member whose extra field says how long it is.
///
/// BGZF, section 4.1 of the SAM specification: XLEN bytes of subfields, among them `BC` with BSIZE, the length of the
/// member less one.
struct BlockHeader {
    /// Up to the end of the only subfield that `bgzip` writes.
    static let usualByteCount = 18

    /// A block holds at most 64 KiB, compressed and decoded.
    static let maximumByteCount = 64 * 1024

    /// How long the whole member is, at least ``minimumByteCount``.
    let byteCount: Int

    /// Header, an empty block of deflate data, trailer.
    private static let minimumByteCount = Self.usualByteCount + 2 + 8

    /// Nil when these are not the first bytes of such a block, with its subfield as the first.
    init?(_ bytes: some RandomAccessCollection<UInt8>) {
        guard bytes.count >= Self.usualByteCount else { return nil }
        func byte(_ offset: Int) -> Int { Int(bytes[bytes.index(bytes.startIndex, offsetBy: offset)]) }
        // ID1, ID2, CM, and FLG with FEXTRA alone.
        guard byte(0) == 0x1F, byte(1) == 0x8B, byte(2) == 8, byte(3) == 4 else { return nil }
        let extraByteCount = byte(10) | byte(11) << 8
        guard extraByteCount >= 6, byte(12) == UInt8(ascii: "B"), byte(13) == UInt8(ascii: "C"), byte(14) == 2,
            byte(15) == 0
        else { return nil }
        self.byteCount = (byte(16) | byte(17) << 8) + 1
        guard self.byteCount >= Self.minimumByteCount + extraByteCount - 6 else { return nil }
    }
}
