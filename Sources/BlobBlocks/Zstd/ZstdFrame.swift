import BlobCore

/// The header of a Zstandard frame (RFC 8878, sections 3.1.1 and 3.1.2).
enum ZstdFrame {
    /// A frame with compressed data.
    case data(headerByteCount: Int, windowByteCount: UInt64, byteCount: UInt64?, hasChecksum: Bool)
    /// A frame without data.
    case skippable(byteCount: UInt64)

    /// The length of the longest header, and of the header of a skippable frame.
    static let (maximumHeaderByteCount, skippableHeaderByteCount) = (18, 8)

    /// The checksum of a frame that has one: its lowest 32 bits.
    static let checksumName = "XXH64"

    /// The largest window, in bytes: 128 MiB.
    static let maximumWindowByteCount: UInt64 = 128 << 20

    /// Parses the first bytes of a frame, fewer than ``maximumHeaderByteCount`` only at the end; nil when there is
    /// none.
    init?(_ bytes: ArraySlice<UInt8>) {
        guard bytes.count >= 5 else { return nil }
        func number(_ place: Int, _ count: Int) -> UInt64 { bytes.dropFirst(place).prefix(count).littleEndian }
        let magic = number(0, 4)
        if magic & ~0xF == 0x184D_2A50 {
            guard bytes.count >= Self.skippableHeaderByteCount else { return nil }
            self = .skippable(byteCount: number(4, 4))
            return
        }
        let descriptor = Int(number(4, 1))
        let (isSingle, dictionaryByteCount) = (descriptor & 0x20 != 0, [0, 1, 2, 4][descriptor & 3])
        let sizeByteCount = [isSingle ? 1 : 0, 2, 4, 8][descriptor >> 6]
        let place = (isSingle ? 5 : 6) + dictionaryByteCount
        // A frame with a dictionary cannot be decoded without it.
        guard magic == 0xFD2F_B528, bytes.count >= place + sizeByteCount, dictionaryByteCount == 0 else { return nil }
        let byteCount = sizeByteCount == 0 ? nil : number(place, sizeByteCount) + (sizeByteCount == 2 ? 256 : 0)
        let exponent = number(5, 1) >> 3
        let base = UInt64(1) << (10 + exponent)
        let window = isSingle ? byteCount ?? 0 : base + base / 8 * (number(5, 1) & 7)
        self = .data(
            headerByteCount: place + sizeByteCount, windowByteCount: window, byteCount: byteCount,
            hasChecksum: descriptor & 4 != 0)
    }
}
