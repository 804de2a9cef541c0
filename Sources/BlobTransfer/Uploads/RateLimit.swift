import BlobCore

/// The bytes that one request may send of the rate that it shares; the rest of its portion is given back at its end.
final class RateLimit {
    private let pace: RatePace
    private var byteCount = 0
    private var (start, last): (ContinuousClock.Instant, ContinuousClock.Instant)

    init(_ pace: RatePace, now: ContinuousClock.Instant = .now) {
        (self.pace, self.start, self.last) = (pace, now, now)
    }

    deinit { self.pace.giveBack(self.byteCount) }

    /// Returns the number of bytes that may be sent now; if 0, wait for ``delay``.
    func allowance(at now: ContinuousClock.Instant = .now) -> Int {
        self.last = now
        if self.byteCount == 0 { (self.byteCount, self.start) = self.pace.take(at: now) }
        return self.start <= now ? self.byteCount : 0
    }

    /// - Parameter byteCount: At most the number of the last ``allowance(at:)``.
    func use(_ byteCount: Int) { self.byteCount -= byteCount }

    /// The time from the last ``allowance(at:)`` until bytes may be sent.
    var delay: Duration { max(.zero, self.start - self.last) }
}
