import BlobStreams

/// How many bytes may go out by now: a bucket that fills at the rate and holds a quarter of a second.
struct RateLimit {
    private let bytesPerSecond: Double
    private let capacity: Double
    private let grain: Double
    private var level: Double
    private var last: ContinuousClock.Instant

    /// - Parameter bytesPerSecond: Above 0.
    init(bytesPerSecond: Int64, now: ContinuousClock.Instant = .now) {
        let rate = Double(bytesPerSecond)
        self.bytesPerSecond = rate
        self.capacity = max(1, rate / 4)
        // Small enough to look steady, large enough that the sending costs nothing.
        self.grain = min(max(1, rate / 20), 16 * 1024)
        self.level = self.grain
        self.last = now
    }

    /// How many bytes may go out now; 0 means to wait for ``delay``.
    mutating func allowance(at now: ContinuousClock.Instant = .now) -> Int {
        self.level = min(self.capacity, self.level + (now - self.last).timeInterval * self.bytesPerSecond)
        self.last = now
        return self.level >= self.grain ? Int(self.level) : 0
    }

    mutating func use(_ byteCount: Int) { self.level -= Double(byteCount) }

    /// How long until bytes may go out again, seen from the last ``allowance(at:)``.
    var delay: Duration { .seconds(max(0, self.grain - self.level) / self.bytesPerSecond) }
}
