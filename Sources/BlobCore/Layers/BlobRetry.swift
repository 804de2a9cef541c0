/// The rules by which something that failed is tried again: an interrupted reading, which is resumed at the byte that it
/// had reached, or a request that sends bytes.
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

    /// The longest time that the delays in a row may take together; nil, the default, is no limit.
    ///
    /// When the next delay would exceed it, as one that a server asks for may, the error is thrown at once.
    public var maximumWait: Duration?

    /// The longest delay before the second attempt, and before any: 0.2 and 30 seconds by default, and 1 and 60 seconds
    /// for requests that send bytes.
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

    /// Creates the rules for requests that send bytes.
    ///
    /// - Parameter count: The maximum number of repetitions in a row, from 0.
    package init(maximumRetryCount count: Int) {
        self.init(failureBudget: .max, maximumDelays: .seconds(1)...(.seconds(60)))
        self.maximumRetryCount = count
    }

    /// The maximum number of repetitions in a row, from 0: one less than the failures.
    package var maximumRetryCount: Int {
        get { self.maximumFailureCount - 1 }
        set { self.maximumFailureCount = newValue == .max ? .max : newValue + 1 }
    }

    /// The statuses of HTTP by which a server says that it did not act, and may later: timeout, too early, too many
    /// requests, unavailable (RFC 9110, sections 15.5.9 and 15.6.4; RFC 6585, section 4; RFC 8470, section 5.2).
    private static let postponingStatuses: Set = [408, 425, 429, 503]

    /// The statuses of gateways, behind which a server may have acted (RFC 9110, sections 15.6.3 and 15.6.5).
    private static let gatewayStatuses: Set = [502, 504]

    /// Returns true when a request may succeed later that was answered with a status of HTTP.
    ///
    /// - Parameters:
    ///   - isRepeatable: True when the request has no further effect if it is made twice.
    ///   - isReading: True when it has no effect at all. Only then 500 passes: a server that fails on a body is likely to
    ///     fail on it again.
    package static func isTransient(_ status: Int, isRepeatable: Bool, isReading: Bool = false) -> Bool {
        self.postponingStatuses.contains(status) || isRepeatable && self.gatewayStatuses.contains(status)
            || isReading && status == 500
    }

    /// Returns the delay after a number of failures in a row, from 1: random, up to a limit that doubles with each.
    func delay(afterFailures count: Int, using random: inout some RandomNumberGenerator) -> Duration {
        let (least, most) = (self.maximumDelays.lowerBound, self.maximumDelays.upperBound)
        // 2^40 of any delay is longer than the longest.
        let limit = min(least * (1 << min(max(count, 1) - 1, 40)), most)
        return limit * Double.random(in: 0...1, using: &random)
    }
}

/// The failures of one reader or request, counted.
package struct RetryFailures {
    /// An attempt that follows a failure.
    package struct Attempt: Sendable {
        /// The failure.
        package let error: BlobError
        /// The number of the attempt, from 1 for the first repetition in a row, and the highest that there can be.
        package let number, limit: Int
        /// The time before the attempt.
        package let delay: Duration

        package init(after error: BlobError, number: Int, of limit: Int, delay: Duration = .zero) {
            (self.error, self.number, self.limit, self.delay) = (error, number, limit, delay)
        }
    }

    private let rules: BlobRetry
    package private(set) var count = 0
    private var countInRow = 0
    private var waited = Duration.zero
    private var random = SystemRandomNumberGenerator()

    package init(_ rules: BlobRetry) { self.rules = rules }

    /// Notes that there was progress, such as bytes that came.
    package mutating func end() { (self.countInRow, self.waited) = (0, .zero) }

    /// Counts a failure, and returns the attempt that follows.
    ///
    /// - Throws: As ``delay(after:_:)``.
    package mutating func attempt(after error: BlobError, _ context: BlobContext) throws(BlobError) -> Attempt {
        let delay = try self.delay(after: error, context)
        return Attempt(after: error, number: self.countInRow, of: self.rules.maximumRetryCount, delay: delay)
    }

    /// Counts a failure, and returns the delay before the next attempt: the one that the source asks for if that is
    /// longer than the random one, which leaves at least half of the time up to the deadline to the attempt.
    ///
    /// - Throws: The error, if there is to be no attempt, or none before the deadline; what ended the job meanwhile.
    package mutating func delay(after error: BlobError, _ context: BlobContext) throws(BlobError) -> Duration {
        self.count += 1
        self.countInRow += 1
        guard error.isTransient, error.code != .changed, self.countInRow < self.rules.maximumFailureCount,
            self.count < self.rules.failureBudget
        else { throw error }
        let (random, asked) = (
            self.rules.delay(afterFailures: self.countInRow, using: &self.random), error.retryDelay ?? .zero
        )
        var delay = max(random, asked)
        if let left = context.lastMoment?.remaining {
            // An attempt that fails when the time of the job is up: the job ends for that reason.
            try context.check()
            guard asked < left else { throw error }
            delay = max(min(random, left / 2), asked)
        }
        self.waited += delay
        guard self.rules.maximumWait.map({ self.waited <= $0 }) ?? true else { throw error }
        return delay
    }
}
