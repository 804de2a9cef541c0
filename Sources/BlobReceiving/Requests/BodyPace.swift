/// Judges whether a body arrives too slowly, using times that the caller supplies.
///
/// The time during which the receiver holds back the sender is not measured.
package struct BodyPace: Sendable {
    package typealias Instant = ContinuousClock.Instant

    package enum Verdict: Equatable, Sendable {
        /// The body arrives fast enough. The next check is due after this delay.
        case fine(checkAfter: Duration)
        /// No byte arrived within the limit.
        case idle
        /// Too few bytes arrived within the limit.
        case slow
    }

    private let timeLimit: Duration
    private let minimumByteCount: Double
    /// The start of the measurement, moved later by the time for which the sender was held back.
    private var start: Instant
    private var heldSince: Instant?
    private var lastByteTime = Duration.zero
    private var spanStart = Duration.zero
    private var byteCount = 0.0

    /// - Parameters:
    ///   - timeLimit: The time without a byte after which a body is idle, and the span over which its rate is measured.
    ///   - minimumRate: The minimum average rate in bytes per second over each span; 0 for no minimum.
    package init(timeLimit: Duration, minimumRate: Int64, at instant: Instant) {
        self.timeLimit = timeLimit
        self.minimumByteCount = Double(minimumRate) * (timeLimit / .seconds(1))
        self.start = instant
    }

    /// Counts bytes that have arrived.
    package mutating func add(_ byteCount: Int, at instant: Instant) {
        self.byteCount += Double(byteCount)
        self.lastByteTime = self.time(at: instant)
    }

    /// Starts holding back the sender. A second call has no effect.
    package mutating func hold(at instant: Instant) { self.heldSince = self.heldSince ?? instant }

    /// Stops holding back the sender. Has no effect without an earlier call to ``hold(at:)``.
    package mutating func resume(at instant: Instant) {
        if let heldSince { self.start += instant - heldSince }
        self.heldSince = nil
    }

    /// Returns the verdict, which is final unless it is `fine`.
    package mutating func check(at instant: Instant) -> Verdict {
        let time = self.time(at: instant)
        if time - self.lastByteTime >= self.timeLimit { return .idle }
        if time - self.spanStart >= self.timeLimit {
            guard self.byteCount >= self.minimumByteCount else { return .slow }
            (self.spanStart, self.byteCount) = (time, 0)
        }
        // Never zero, because time does not advance while the sender is held back.
        return .fine(
            checkAfter: max(min(self.lastByteTime, self.spanStart) + self.timeLimit - time, self.timeLimit / 10))
    }

    private func time(at instant: Instant) -> Duration { (self.heldSince ?? instant) - self.start }
}
