import BlobInflate

/// What the decoded bytes of one frame add up to, to be compared with its trailer.
enum FrameSum {
    /// The CRC-32 and the length modulo 2^32 of a gzip member.
    case gzip(CRC32, byteCount: UInt32)
    /// The Adler-32 of a zlib stream.
    case zlib(Adler32)
    /// Raw deflate says nothing of what it holds.
    case none

    /// That of no bytes.
    init(_ format: GzipSource.Format) {
        switch format {
        case .gzip: self = .gzip(CRC32(), byteCount: 0)
        case .zlib: self = .zlib(Adler32())
        case .deflate: self = .none
        }
    }

    /// Takes more bytes in.
    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        switch self {
        case .gzip(var sum, let byteCount):
            sum.update(bytes)
            self = .gzip(sum, byteCount: byteCount &+ UInt32(truncatingIfNeeded: bytes.count))
        case .zlib(var sum):
            sum.update(bytes)
            self = .zlib(sum)
        case .none: break
        }
    }
}
