package import BlobCore

/// The comparison of bytes, from the first one on, with the digests that a server states of all of them.
package struct StatedDigestCheck {
    private let algorithm: StatedAlgorithm
    private let stated: [BlobStatedDigest]
    private var hasher: any BlobHasher

    /// The number of bytes so far.
    package private(set) var byteCount: Int64 = 0

    /// Starts with no bytes; nil when none of the digests can be computed.
    package init?(_ digests: [BlobStatedDigest]) {
        for algorithm in StatedAlgorithm.allCases {
            let stated = digests.filter { $0.algorithm == algorithm.rawValue }
            guard !stated.isEmpty, let hasher = algorithm.makeHasher() else { continue }
            (self.algorithm, self.stated, self.hasher) = (algorithm, stated, hasher)
            return
        }
        return nil
    }

    /// Adds the next bytes.
    package mutating func append(_ bytes: UnsafeRawBufferPointer) {
        self.hasher.update(bytes)
        self.byteCount += Int64(bytes.count)
    }

    /// Adds bytes from an offset; those that were added before are read again only.
    package mutating func append(_ bytes: UnsafeRawBufferPointer, at byteOffset: Int64) {
        self.append(UnsafeRawBufferPointer(rebasing: bytes.dropFirst(Int(clamping: self.byteCount - byteOffset))))
    }

    /// Compares the digest of all bytes. Must be the last call.
    ///
    /// - Returns: What was compared, such as `SHA-256 (Repr-Digest)`.
    /// - Throws: ``BlobError/Code/checksumMismatch``.
    package mutating func finish() throws(BlobError) -> String {
        let (found, title) = (self.hasher.finalize(), self.algorithm.title)
        if let stated = self.stated.first(where: { $0.value != found }) {
            throw BlobError(
                .checksumMismatch,
                "The \(title) of \(self.byteCount) bytes is \(found.hexadecimal), \(stated.origin) says "
                    + "\(stated.value.hexadecimal).")
        }
        return "\(title) (\(self.stated[0].origin))"
    }
}

/// The checks of passes that ended early, to be gone on with where the same job reads on.
final class InterruptedChecks: Sendable {
    private static let maximumCount = 16
    /// The bytes before the one reached that a resumed pass reads again and compares.
    private static let maximumOverlap = Int64(DeliveredBytes.lastByteCount)

    private let checks = Locked<[(job: BlobCancellation, digests: [BlobStatedDigest], check: StatedDigestCheck)]>([])

    /// Keeps a check; forgets the oldest one when there are too many.
    func keep(_ check: StatedDigestCheck, of digests: [BlobStatedDigest], in context: BlobContext) {
        self.checks.withLock { checks in
            if checks.count == Self.maximumCount { checks.removeFirst() }
            checks.append((context.cancellation, digests, check))
        }
    }

    /// Returns the check for a pass from an offset: a new one at the start; nil where none of this job reached the
    /// offset.
    func take(at byteOffset: Int64, of digests: [BlobStatedDigest], in context: BlobContext) -> StatedDigestCheck? {
        guard byteOffset > 0 else { return StatedDigestCheck(digests) }
        return self.checks.withLock { checks in
            let index = checks.lastIndex { kept in
                kept.job === context.cancellation && kept.digests == digests
                    && (0...Self.maximumOverlap).contains(kept.check.byteCount - byteOffset)
            }
            return index.map { checks.remove(at: $0).check }
        }
    }
}
