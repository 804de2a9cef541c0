import BlobCore

/// A rate in bytes per second that requests share, of one upload or of several.
///
/// Each request takes the next portion of bytes in turn, and sends it from the time at which those before it are over. A
/// pause of the sources is made up for, up to a quarter of a second.
package final class RatePace: Sendable {
    private static let longestBacklog = Duration.milliseconds(250)

    private let bytesPerSecond: Double
    /// Small enough for a steady flow, large enough to send efficiently.
    private let portionByteCount: Int
    private let next: Locked<ContinuousClock.Instant>

    /// - Parameter bytesPerSecond: The rate, above 0.
    package init(bytesPerSecond: Int64, now: ContinuousClock.Instant = .now) {
        self.bytesPerSecond = Double(bytesPerSecond)
        self.portionByteCount = Int(min(max(1, bytesPerSecond / 20), 16 * 1024))
        self.next = Locked(now)
    }

    /// Takes the next portion, and returns the number of its bytes and the time from which they may be sent.
    func take(at now: ContinuousClock.Instant) -> (byteCount: Int, start: ContinuousClock.Instant) {
        let start = self.next.withLock { next in
            let start = max(next, now - Self.longestBacklog)
            next = start + self.duration(of: self.portionByteCount)
            return start
        }
        return (self.portionByteCount, start)
    }

    /// Gives bytes back that were taken and not sent.
    func giveBack(_ byteCount: Int) { self.next.withLock { $0 -= self.duration(of: byteCount) } }

    private func duration(of byteCount: Int) -> Duration { .seconds(Double(byteCount) / self.bytesPerSecond) }
}
