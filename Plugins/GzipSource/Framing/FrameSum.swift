import BlobCore
import BlobDeflate

extension GzipSource.Format {
    /// The checksum in the trailers of the format; nil when it has none.
    var checksumName: String? {
        switch self {
        case .gzip: "CRC-32"
        case .zlib: "Adler-32"
        case .deflate: nil
        }
    }
}

/// The checksum and the length of the decoded bytes of one frame, to be compared with its trailer.
enum FrameSum: Sendable {
    /// The CRC-32 and the length of a gzip member.
    case gzip(CRC32, byteCount: Int64)
    /// The Adler-32 and the length of a zlib stream.
    case zlib(Adler32, byteCount: Int64)
    /// No sum: raw deflate has no trailer.
    case none

    /// Creates the sum of no bytes.
    init(_ format: GzipSource.Format) {
        switch format {
        case .gzip: self = .gzip(CRC32(), byteCount: 0)
        case .zlib: self = .zlib(Adler32(), byteCount: 0)
        case .deflate: self = .none
        }
    }

    /// Updates the sum with `bytes`.
    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        switch self {
        case .gzip(var sum, let byteCount):
            sum.update(bytes)
            self = .gzip(sum, byteCount: byteCount + Int64(bytes.count))
        case .zlib(var sum, let byteCount):
            sum.update(bytes)
            self = .zlib(sum, byteCount: byteCount + Int64(bytes.count))
        case .none: break
        }
    }

    /// Updates the sum with the bytes whose sum is `next`.
    mutating func append(_ next: FrameSum) {
        switch (self, next) {
        case (.gzip(var sum, let byteCount), .gzip(let next, let nextByteCount)):
            sum.append(next, byteCount: nextByteCount)
            self = .gzip(sum, byteCount: byteCount + nextByteCount)
        case (.zlib(var sum, let byteCount), .zlib(let next, let nextByteCount)):
            sum.append(next, byteCount: nextByteCount)
            self = .zlib(sum, byteCount: byteCount + nextByteCount)
        default: break
        }
    }

    /// Compares the sum with the checksum in a trailer.
    ///
    /// - Parameter byteOffset: The offset of the checksum in the compressed data.
    func check(checksum expected: UInt32, at byteOffset: Int64) throws(BlobError) {
        let (name, found): (String, UInt32)
        switch self {
        case .gzip(let sum, _): (name, found) = ("CRC-32", sum.value)
        case .zlib(let sum, _): (name, found) = ("Adler-32", sum.value)
        case .none: return
        }
        guard found == expected else {
            throw BlobError(
                .checksumMismatch,
                "The \(name) of the decoded bytes is \(hexadecimal(found, digits: 8)), "
                    + "the trailer says \(hexadecimal(expected, digits: 8)).", byteOffset: byteOffset)
        }
    }

    /// Compares the length with that in a trailer (ISIZE).
    ///
    /// - Parameter byteOffset: The offset of the length in the compressed data.
    func check(byteCount expected: UInt32, at byteOffset: Int64) throws(BlobError) {
        guard case .gzip(_, let byteCount) = self, case let found = UInt32(truncatingIfNeeded: byteCount),
            found != expected
        else { return }
        throw BlobError(
            .sizeMismatch,
            "The member has \(found) bytes, the trailer says \(expected) (both modulo 2^32).",
            byteOffset: byteOffset)
    }
}
