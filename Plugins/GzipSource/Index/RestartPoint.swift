/// A place in compressed data where decoding can begin.
struct RestartPoint: Equatable, Sendable {
    /// Where the bytes of a window are in their section, and their CRC-32; packed, as raw deflate data.
    struct PackedWindow: Equatable, Sendable {
        var byteOffset: Int64
        var byteCount: Int
        var checksum: UInt32
    }

    /// In the compressed data, from their start.
    var bitOffset: Int64

    /// In the decoded bytes, from their start.
    var byteOffset: Int64

    /// What the data before the point say, as far as those behind it refer to it; nil in front of a header, where nothing
    /// can be referred to.
    var window: PackedWindow?

    /// In front of the first byte.
    static let start = RestartPoint(bitOffset: 0, byteOffset: 0, window: nil)
}
