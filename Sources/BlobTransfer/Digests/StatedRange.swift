package import BlobCore

/// Bytes of an object with the digests that its server states for them: all bytes, or a part.
package struct StatedRange: Sendable, Equatable {
    /// The offset of the first byte.
    package let start: Int64

    /// The offset after the last byte; nil for the end of an object of unknown length.
    package let end: Int64?

    package internal(set) var digests: [BlobStatedDigest]

    package init(_ start: Int64, _ end: Int64?, _ digests: [BlobStatedDigest]) {
        (self.start, self.end, self.digests) = (start, end, digests)
    }

    /// Starts the comparison of the bytes; nil if none of the digests can be computed.
    func makeCheck() -> StatedDigestCheck? { StatedDigestCheck(self.digests, from: self.start, to: self.end) }
}
