/// A position in compressed data at which decoding can begin.
struct RestartPoint: Equatable, Sendable {
    /// The place of a window in its section, where it is packed as raw deflate data, and the CRC-32 of the packed
    /// bytes.
    struct PackedWindow: Equatable, Sendable {
        var byteOffset: Int64
        var byteCount: Int
        var checksum: UInt32
    }

    /// The offset from the start of the compressed data, in bits.
    var bitOffset: Int64

    /// The offset from the start of the decoded bytes.
    var byteOffset: Int64

    /// The decoded bytes before the point, as far as data after it refer to them; nil before a header, after which no
    /// reference reaches back.
    var window: PackedWindow?

    /// The position before the first byte.
    static let start = RestartPoint(bitOffset: 0, byteOffset: 0, window: nil)
}
