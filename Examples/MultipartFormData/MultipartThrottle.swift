import BlobCore

/// A limit on the rate at which a body is read, for networks that lose uploads at full speed.
///
/// After each packet, reading waits for the delay, so a body is read at no more than `packetByteCount / delay`. The
/// wait does not occupy a thread.
public struct MultipartThrottle: Hashable, Sendable {
    /// The number of bytes between two delays, at least 1.
    public let packetByteCount: Int
    /// The delay after each packet, not negative.
    public let delay: Duration

    /// The values that AFNetworking suggests for slow networks such as 3G: 16 KiB, then 0.2 s, which is 80 KiB a
    /// second.
    public static let slowNetwork = MultipartThrottle(packetByteCount: 16 * 1024, delay: .milliseconds(200))

    /// Creates a limit.
    public init(packetByteCount: Int, delay: Duration) {
        precondition(
            packetByteCount > 0 && delay >= .zero,
            "A packet must have at least one byte, and the delay must not be negative.")
        self.packetByteCount = packetByteCount
        self.delay = delay
    }
}

/// Waits after each packet.
struct Packets: BlobInspector {
    private let throttle: MultipartThrottle
    private var remainingByteCount: Int
    /// The end of the current delay.
    private var resumptionTime: ContinuousClock.Instant?

    init(_ throttle: MultipartThrottle) {
        (self.throttle, self.remainingByteCount) = (throttle, throttle.packetByteCount)
    }

    mutating func readLimit() -> BlobReadLimit {
        if let due = self.resumptionTime {
            guard ContinuousClock.now >= due else { return .wait(until: due) }
            (self.resumptionTime, self.remainingByteCount) = (nil, self.throttle.packetByteCount)
        }
        return .bytes(Int64(self.remainingByteCount))
    }

    mutating func pass(_ bytes: RawSpan, at byteOffset: Int64, isLast: Bool) -> Range<Int> {
        self.remainingByteCount -= bytes.byteCount
        if self.remainingByteCount == 0 { self.resumptionTime = .now + self.throttle.delay }
        return 0..<bytes.byteCount
    }
}
