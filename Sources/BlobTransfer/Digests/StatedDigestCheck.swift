package import BlobCore
package import BlobDeflate

/// Compares bytes with the digests that a server states for them.
package struct StatedDigestCheck {
    let algorithm: StatedAlgorithm
    private let statedDigests: [BlobStatedDigest]
    private var hasher: any BlobHasher

    /// The offset of the first byte that the digests cover.
    let start: Int64

    /// The offset after the last byte that the digests cover; nil for the end of the object.
    package let end: Int64?

    /// The offset after the last byte added so far.
    package private(set) var reachedOffset: Int64

    /// Creates a check to which no bytes have been added; fails if none of the digests can be computed.
    ///
    /// - Parameter start: The offset of the first byte that the digests cover.
    package init?(_ digests: [BlobStatedDigest], from start: Int64 = 0, to end: Int64? = nil) {
        for algorithm in StatedAlgorithm.allCases {
            let stated = digests.filter { $0.algorithm == algorithm.rawValue }
            guard !stated.isEmpty, let hasher = algorithm.makeHasher() else { continue }
            (self.algorithm, self.statedDigests, self.hasher) = (algorithm, stated, hasher)
            (self.start, self.end, self.reachedOffset) = (start, end, start)
            return
        }
        return nil
    }

    /// The checksum of the bytes added so far; nil if the algorithm's digests cannot be combined.
    var sum: CyclicSum? { self.hasher as? CyclicSum }

    /// Returns true if the digests cover a stated range.
    func covers(_ range: StatedRange) -> Bool {
        self.start == range.start && self.end == range.end && range.digests.contains(self.statedDigests[0])
    }

    /// Adds bytes from an offset, which is at most ``reachedOffset``. Bytes that were already added are skipped.
    package mutating func append(_ bytes: UnsafeRawBufferPointer, at byteOffset: Int64) {
        let known = Int(clamping: self.reachedOffset - byteOffset)
        let new = bytes.dropFirst(known).prefix(self.end.map { Int(clamping: $0 - self.reachedOffset) } ?? .max)
        self.hasher.update(UnsafeRawBufferPointer(rebasing: new))
        self.reachedOffset += Int64(new.count)
    }

    /// Compares the digest of all bytes. This must be the last call.
    ///
    /// - Parameter sum: The checksum of all bytes if they were not added to this check; nil to use the added bytes.
    /// - Returns: The algorithm and the origin of the digest, such as `SHA-256 (Repr-Digest)`.
    /// - Throws: ``BlobError/Code/checksumMismatch``.
    package mutating func finish(_ sum: CyclicSum? = nil) throws(BlobError) -> String {
        let (found, title) = (sum?.finalize() ?? self.hasher.finalize(), self.algorithm.title)
        if let stated = self.statedDigests.first(where: { $0.value != found }) {
            let bytes = self.end.map { "the bytes from \(self.start) to \($0)" } ?? "all bytes"
            throw BlobError(
                .checksumMismatch,
                "The \(title) of \(bytes) is \(found.hexadecimal), but \(stated.origin) says "
                    + "\(stated.value.hexadecimal)."
            )
        }
        return "\(title) (\(self.statedDigests[0].origin))"
    }
}

/// A range of an object's bytes and the digests that the server states for it.
package struct StatedRange: Sendable, Equatable {
    /// The offset of the first byte.
    package let start: Int64

    /// The offset after the last byte; nil for the end of an object of unknown length.
    package let end: Int64?

    package internal(set) var digests: [BlobStatedDigest]

    package init(_ start: Int64, _ end: Int64?, _ digests: [BlobStatedDigest]) {
        (self.start, self.end, self.digests) = (start, end, digests)
    }

    /// Creates a check of the bytes; returns nil if none of the digests can be computed.
    func makeCheck() -> StatedDigestCheck? { StatedDigestCheck(self.digests, from: self.start, to: self.end) }
}
