package import BlobCore

/// The comparison of bytes with the digests that a server states of them.
package struct StatedDigestCheck {
    private let algorithm: StatedAlgorithm
    private let stated: [BlobStatedDigest]
    private var hasher: any BlobHasher
    private let start: Int64

    /// The offset after the last byte that the digests are of; nil is the end of the object.
    package let end: Int64?

    /// The offset after the last byte so far.
    package private(set) var reached: Int64

    /// Starts with no bytes; nil when none of the digests can be computed.
    ///
    /// - Parameter start: The offset of the first byte that the digests are of.
    package init?(_ digests: [BlobStatedDigest], from start: Int64 = 0, to end: Int64? = nil) {
        for algorithm in StatedAlgorithm.allCases {
            let stated = digests.filter { $0.algorithm == algorithm.rawValue }
            guard !stated.isEmpty, let hasher = algorithm.makeHasher() else { continue }
            (self.algorithm, self.stated, self.hasher) = (algorithm, stated, hasher)
            (self.start, self.end, self.reached) = (start, end, start)
            return
        }
        return nil
    }

    /// Adds bytes from an offset, at most the one reached: those that were added before are only read again.
    package mutating func append(_ bytes: UnsafeRawBufferPointer, at byteOffset: Int64) {
        let known = Int(clamping: self.reached - byteOffset)
        let new = bytes.dropFirst(known).prefix(self.end.map { Int(clamping: $0 - self.reached) } ?? .max)
        self.hasher.update(UnsafeRawBufferPointer(rebasing: new))
        self.reached += Int64(new.count)
    }

    /// Compares the digest of all bytes. Must be the last call.
    ///
    /// - Returns: What was compared, such as `SHA-256 (Repr-Digest)`.
    /// - Throws: ``BlobError/Code/checksumMismatch``.
    package mutating func finish() throws(BlobError) -> String {
        let (found, title) = (self.hasher.finalize(), self.algorithm.title)
        if let stated = self.stated.first(where: { $0.value != found }) {
            let bytes = self.end == nil ? "all bytes" : "the bytes from \(self.start) to \(self.reached)"
            throw BlobError(
                .checksumMismatch,
                "The \(title) of \(bytes) is \(found.hexadecimal), \(stated.origin) says \(stated.value.hexadecimal).")
        }
        return "\(title) (\(self.stated[0].origin))"
    }
}

/// The checks of passes that ended early, to be gone on with where the same job reads on.
final class InterruptedChecks: Sendable {
    private static let maximumCount = 16
    /// The bytes before the one reached that a resumed pass reads again and compares.
    private static let maximumOverlap = Int64(DeliveredBytes.lastByteCount)

    private struct Interrupted {
        let job: BlobCancellation
        let object: BlobInfo
        let check: StatedDigestCheck
    }

    private let checks = Locked<[Interrupted]>([])

    /// Keeps a check of an object that a job reads; forgets the oldest one when there are too many.
    func keep(_ check: StatedDigestCheck, of object: BlobInfo, in context: BlobContext) {
        self.checks.withLock { checks in
            if checks.count == Self.maximumCount { checks.removeFirst() }
            checks.append(Interrupted(job: context.cancellation, object: object, check: check))
        }
    }

    /// Returns the checks for a pass from an offset: those that the job took up to there, or a new one from the start.
    func take(at byteOffset: Int64, of object: BlobInfo, in context: BlobContext) -> [StatedDigestCheck] {
        guard byteOffset > 0 else { return [StatedDigestCheck(object.digests)].compactMap(\.self) }
        return self.checks.withLock { checks in
            let isResumed = { (kept: Interrupted) in
                kept.job === context.cancellation && kept.object == object
                    && (0...Self.maximumOverlap).contains(kept.check.reached - byteOffset)
            }
            defer { checks.removeAll(where: isResumed) }
            return checks.filter(isResumed).map(\.check)
        }
    }
}
