import BlobCore

/// A token bucket that fills at the given rate and holds the bytes of a quarter of a second.
struct RateLimit {
    private let bytesPerSecond: Double
    private let capacity: Double
    private let grain: Double
    private var level: Double
    private var last: ContinuousClock.Instant

    /// - Parameter bytesPerSecond: The rate, above 0.
    init(bytesPerSecond: Int64, now: ContinuousClock.Instant = .now) {
        let rate = Double(bytesPerSecond)
        self.bytesPerSecond = rate
        self.capacity = max(1, rate / 4)
        // Small enough for a steady flow, large enough to send efficiently.
        self.grain = min(max(1, rate / 20), 16 * 1024)
        self.level = self.grain
        self.last = now
    }

    /// Returns the number of bytes that may be sent now; if 0, wait for ``delay``.
    mutating func allowance(at now: ContinuousClock.Instant = .now) -> Int {
        self.level = min(self.capacity, self.level + (now - self.last).timeInterval * self.bytesPerSecond)
        self.last = now
        return self.level >= self.grain ? Int(self.level) : 0
    }

    mutating func use(_ byteCount: Int) { self.level -= Double(byteCount) }

    /// The time from the last ``allowance(at:)`` until bytes may be sent again.
    var delay: Duration { .seconds(max(0, self.grain - self.level) / self.bytesPerSecond) }
}
