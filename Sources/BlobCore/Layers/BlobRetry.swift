/// The rules for retrying a failed read, which is resumed at the byte that it had reached, or a failed request that
/// sends bytes.
///
/// Only errors whose ``BlobError/isTransient`` is true are retried, over a source that can be opened again. A premature
/// end is ``BlobError/Code/truncated``, which is not transient: the same data would be truncated again. A source whose
/// connection was cut marks its error as transient, and is resumed. The content must still be the same: see
/// ``Identity``.
public struct BlobRetry: Hashable, Sendable {
    /// The evidence, required for resuming a read, that the content is still the same.
    ///
    /// Without random access, all bytes before the byte reached are read again. They are also compared, unless no
    /// evidence is required, so the checks at the end of a format hold for the delivered bytes.
    public enum Identity: Hashable, Sendable {
        /// An unchanged strong validator.
        case strong
        /// Either an unchanged strong validator, or an unchanged weak validator and the last 4 KiB delivered, which are
        /// read again and compared. Changes elsewhere then go unnoticed if the weak validator, such as the size and the
        /// time of a file, is the same.
        case compared
        /// No evidence: the bytes that the source delivers from that offset on are accepted as the rest.
        case unchecked
    }

    /// The number of consecutive failures, without a byte between them, after which the last error is thrown; 6 by
    /// default: the first attempt and five more.
    public var maximumFailureCount: Int

    /// The total number of failures of one reader after which the last error is thrown: 1,000 by default.
    public var failureBudget: Int

    /// The maximum total of consecutive delays; nil, the default, for no limit.
    ///
    /// If the next delay would exceed it, for example because a server requests a long delay, the error is thrown at
    /// once.
    public var maximumWait: Duration?

    /// The longest delay before the second attempt (the lower bound), and before any later attempt (the upper bound):
    /// 0.2 and 30 seconds by default, and 1 and 60 seconds for requests that send bytes.
    ///
    /// The limit doubles with each consecutive failure, and the delay is random, from zero to the limit, so that the
    /// clients of a server do not all return at the same moment. A delay that the source requests is honoured. If it
    /// ends after the deadline of the job, the error is thrown at once.
    public var maximumDelays: ClosedRange<Duration>

    /// The evidence that the content is still the same; ``Identity/compared`` by default.
    public var identity: Identity

    /// False to retry only before the first byte of a reader; true by default.
    package var resumesReading = true

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
    /// - Parameter count: The maximum number of consecutive retries, at least 0.
    package init(maximumRetryCount count: Int) {
        self.init(failureBudget: .max, maximumDelays: .seconds(1)...(.seconds(60)))
        self.maximumRetryCount = count
    }

    /// The maximum number of consecutive retries, which is one less than the maximum number of consecutive failures.
    package var maximumRetryCount: Int {
        get { self.maximumFailureCount - 1 }
        set { self.maximumFailureCount = newValue == .max ? .max : newValue + 1 }
    }

    /// The HTTP statuses by which a server reports that it did not process a request but may do so later: timeout, too
    /// early, too many requests, unavailable (RFC 9110, sections 15.5.9 and 15.6.4; RFC 6585, section 4; RFC 8470,
    /// section 5.2).
    private static let postponingStatuses: Set = [408, 425, 429, 503]

    /// The HTTP statuses of gateways; the server behind the gateway may have processed the request (RFC 9110, sections
    /// 15.6.3 and 15.6.5).
    private static let gatewayStatuses: Set = [502, 504]

    /// Returns true if a request that was answered with an HTTP status may succeed later.
    ///
    /// - Parameters:
    ///   - isRepeatable: True if making the request twice has no further effect.
    ///   - isReading: True if the request has no effect at all. Only then is 500 transient: a server that fails on a
    ///     body is likely to fail on it again.
    package static func isTransient(_ status: Int, isRepeatable: Bool, isReading: Bool = false) -> Bool {
        self.postponingStatuses.contains(status) || isRepeatable && self.gatewayStatuses.contains(status)
            || isReading && status == 500
    }

    /// Returns a random delay after `count` consecutive failures, at least 1, up to a limit that doubles with each
    /// failure.
    func delay(afterFailures count: Int, using random: inout some RandomNumberGenerator) -> Duration {
        let (least, most) = (self.maximumDelays.lowerBound, self.maximumDelays.upperBound)
        // 2^40 times any delay exceeds the maximum.
        let limit = min(least * (1 << min(max(count, 1) - 1, 40)), most)
        return limit * Double.random(in: 0...1, using: &random)
    }
}

/// The count of failures of one reader or request.
package struct RetryFailures {
    /// An attempt that follows a failure.
    package struct Attempt: Sendable {
        /// The failure.
        package let error: BlobError
        /// The number of the attempt, which is 1 for the first consecutive retry, and the maximum number.
        package let number, limit: Int
        /// The delay before the attempt.
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

    /// Records progress, such as the arrival of bytes.
    package mutating func end() { (self.countInRow, self.waited) = (0, .zero) }

    /// Counts a failure, and returns the next attempt.
    ///
    /// - Throws: The errors of ``delay(after:_:)``.
    package mutating func attempt(after error: BlobError, _ context: BlobContext) throws(BlobError) -> Attempt {
        let delay = try self.delay(after: error, context)
        return Attempt(after: error, number: self.countInRow, of: self.rules.maximumRetryCount, delay: delay)
    }

    /// Counts a failure, and returns the delay before the next attempt. It is the longer of the delay that the source
    /// requests and a random delay, which leaves at least half of the time before the deadline to the attempt.
    ///
    /// - Throws: `error` if no further attempt is allowed, or if none is possible before the deadline. If the job was
    ///   cancelled or timed out, throws that error instead.
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
        if let left = context.compactDeadline?.remaining {
            // If the attempt failed because the time of the job is up, the job ends for that reason.
            try context.check()
            guard asked < left else { throw error }
            delay = max(min(random, left / 2), asked)
        }
        self.waited += delay
        guard self.rules.maximumWait.map({ self.waited <= $0 }) ?? true else { throw error }
        return delay
    }
}
