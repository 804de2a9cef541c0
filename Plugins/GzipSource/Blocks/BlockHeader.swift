/// The header of a block of blocked gzip: a gzip member whose extra field contains its length.
///
/// BGZF, section 4.1 of the SAM specification: XLEN bytes of subfields, among them `BC` with BSIZE, the length of the
/// member less one.
struct BlockHeader {
    /// The length of a header with the only subfield that `bgzip` writes, in bytes.
    static let usualByteCount = 18

    /// The length of the longest block, compressed and decoded: 64 KiB.
    static let maximumByteCount = 64 * 1024

    /// The length of the whole member in bytes, at least ``minimumByteCount``.
    let byteCount: Int

    /// The length of a header, an empty block of deflate data and a trailer, in bytes.
    private static let minimumByteCount = Self.usualByteCount + 2 + 8

    /// Parses the first bytes of a block; nil when they are not those of a block whose first subfield is `BC`.
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
