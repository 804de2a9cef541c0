/// The rules by which an interrupted reading is tried again, and resumed at the byte that it had reached.
///
/// Only errors whose ``BlobError/isTransient`` is true are tried again, over a source that can be opened again. An end
/// that comes too early is ``BlobError/Code/truncated``, which is not: the data of a format would be as short again. A
/// source whose connection was cut marks its error as transient, and is resumed. The content must still be the same
/// then: see ``Identity``.
public struct BlobRetry: Hashable, Sendable {
    /// The proof that the content is still the same, without which reading is not resumed.
    ///
    /// Without random access, all bytes before the one reached are read again. They are compared, too, unless nothing
    /// is asked for: so the checks at the end of a format hold for the bytes that were delivered.
    public enum Identity: Hashable, Sendable {
        /// A strong validator that is still the same.
        case strong
        /// A strong validator that is still the same; or a weak one that is, and the last 4 KiB that were delivered,
        /// which are read again and compared. What changed elsewhere is not noticed then, if the weak validator, such
        /// as the size and the time of a file, is the same.
        case compared
        /// None: whatever the source delivers from that byte on is taken for the rest.
        case unchecked
    }

    /// The number of failures in a row, without a byte between them, after which the last error is thrown; 6 by
    /// default: the first attempt and five more.
    public var maximumFailureCount: Int

    /// The number of failures of one reader in all after which the last error is thrown: 1,000 by default.
    public var failureBudget: Int

    /// The longest delay before the second attempt, and before any: 0.2 and 30 seconds by default.
    ///
    /// The limit doubles with each failure in a row, and the delay is random, from zero to the limit: so many clients
    /// of one server do not return at the same moment. A delay that the source asks for is kept to. When it ends after
    /// the deadline of the job, the error is thrown at once.
    public var maximumDelays: ClosedRange<Duration>

    /// The proof that the content is still the same; ``Identity/compared`` by default.
    public var identity: Identity

    /// False to try again only before the first byte of a reader; true by default.
    package var resumes = true

    /// Creates rules.
    public init(
        maximumFailureCount: Int = 6, failureBudget: Int = 1000,
        maximumDelays: ClosedRange<Duration> = .milliseconds(200)...(.seconds(30)), identity: Identity = .compared
    ) {
        self.maximumFailureCount = maximumFailureCount
        self.failureBudget = failureBudget
        self.maximumDelays = maximumDelays
        self.identity = identity
    }

    /// Returns the delay after a number of failures in a row, from 1: random, up to a limit that doubles with each.
    func delay(afterFailures count: Int, using random: inout some RandomNumberGenerator) -> Duration {
        let (least, most) = (self.maximumDelays.lowerBound, self.maximumDelays.upperBound)
        // 2^40 of any delay is longer than the longest.
        let limit = min(least * (1 << min(max(count, 1) - 1, 40)), most)
        return limit * Double.random(in: 0...1, using: &random)
    }
}
