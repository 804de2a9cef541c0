import BlobStreamsStandard
import BlobStreamsTesting
import BlobTestSupport
import Foundation

/// What goes wrong in a job, or makes it hard.
enum Fault: CaseIterable {
    case none, pieces, flakyRetried, flaky, broken, cut, changed, changedUnderDigest, wrongLength, cancelled, late

    /// The codes with which a job may end; empty when it must succeed.
    var codes: Set<BlobError.Code> {
        switch self {
        case .none, .pieces, .flakyRetried: []
        case .flaky: [.unavailable]
        case .broken: [.io]
        // Whatever the decoder notices first.
        case .cut, .changed, .wrongLength:
            [
                .truncated, .corrupted, .checksumMismatch, .sizeMismatch, .trailingData, .inconsistent, .unsupported,
                .changed, .notFound, .limitExceeded, .encrypted, .misbehavingPlugin, .invalidArgument,
                .ambiguousMember, .unavailable,
            ]
        case .changedUnderDigest: [.checksumMismatch]
        case .cancelled: [.cancelled]
        case .late: [.timedOut]
        }
    }

    /// True when the bytes before the error may be wrong: checksums come behind them.
    var spoilsBytes: Bool { [.changed, .changedUnderDigest, .wrongLength].contains(self) }

    /// Returns a source of a blob with this fault; nil when the fault cannot be noticed there.
    ///
    /// - Parameter isWhole: False when reading begins elsewhere than at the start, or moves: most checksums are those
    ///   of the whole.
    func source(
        of blob: KnownBlob, isWhole: Bool, _ context: BlobContext, using random: inout SplitMix64
    ) throws -> (any BlobInputStreamDataSource)? {
        let base = try blob.makeBase()
        let fileByteCount = try base.info(context).byteCount ?? Int64(blob.bytes.count)
        let place = Int64.random(in: 0..<max(1, fileByteCount), using: &random)
        switch self {
        case .none, .cancelled, .late:
            return Bool.random(using: &random) ? blob.shared : try blob.source(over: base)
        case .pieces:
            let pieces: [any BlobInputStreamDataSource] = [
                FaultSource(base, .half), DripSource(base, pieceByteCount: 9000), base.readingAhead(),
            ]
            return try blob.source(over: pieces.randomElement(using: &random) ?? base)
        case .flakyRetried:
            // Without random access each attempt reads all bytes again, and would never come further.
            let isRandomAccess = (try? blob.shared.info(context).isRandomAccess) ?? false
            let byteCount = isRandomAccess ? Int.random(in: 20_000...200_000, using: &random) : blob.bytes.count + 1
            let flaky = FlakySource(blob.shared, failingAfter: byteCount)
            let digest = Bool.random(using: &random)
            let (isAhead, isThrottled) = (Bool.random(using: &random), random.next() % 8 == 0)
            return flaky.layered {
                $0.retry = .impatient
                $0.idleLimit = .seconds(60)
                $0.readsAhead = isAhead
                $0.maximumByteCount = Int64(blob.bytes.count)
                $0.bytesPerSecond = isThrottled ? 20 << 20 : nil
                $0.onBytes = { _, _, _ in }
                if digest { $0.digest = (CryptoDigest.sha256, blob.digest) }
            }
        case .flaky: return FlakySource(blob.shared, failingAfter: Int.random(in: 0...200_000, using: &random))
        case .broken: return try blob.source(over: FaultSource(base, .fail(at: place)))
        case .cut: return try blob.source(over: FaultSource(base, .truncate(at: place)))
        case .changed:
            guard blob.isChecked, isWhole else { return nil }
            return try blob.source(over: FaultSource(base, .change(at: place)))
        case .wrongLength:
            guard blob.isChecked, isWhole else { return nil }
            return try blob.source(
                over: FaultSource(base, .wrongByteCount(by: Bool.random(using: &random) ? 1 : -1)))
        case .changedUnderDigest:
            let changed = FaultSource(
                blob.shared, .change(at: Int64.random(in: 0..<Int64(blob.bytes.count), using: &random)))
            return changed.hashing(with: CryptoDigest.sha256, expected: blob.digest)
        }
    }
}

extension CryptoDigest {
    func digest(of bytes: Data) -> [UInt8] {
        var hasher = self.makeHasher()
        bytes.withUnsafeBytes { hasher.update($0) }
        return hasher.finalize()
    }
}
