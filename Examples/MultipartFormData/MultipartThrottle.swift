import BlobCore

/// A limit of the rate at which a body is read, for networks that lose uploads at full speed.
///
/// After each packet, reading waits for the delay: a body is read at `packetByteCount / delay` at most. The wait holds
/// no thread.
public struct MultipartThrottle: Hashable, Sendable {
    /// The number of bytes between two delays, from 1.
    public let packetByteCount: Int
    /// The delay after each packet, from 0.
    public let delay: Duration

    /// The values that AFNetworking suggests for slow networks, such as 3G: 16 KiB, then 0.2 s; 80 KiB a second.
    public static let slowNetwork = MultipartThrottle(packetByteCount: 16 * 1024, delay: .milliseconds(200))

    /// Creates a limit.
    public init(packetByteCount: Int, delay: Duration) {
        precondition(packetByteCount > 0 && delay >= .zero, "A packet has a byte, and a delay is not negative.")
        self.packetByteCount = packetByteCount
        self.delay = delay
    }
}

/// A reader that waits after each packet.
final class ThrottledBodyReader: BlobPluginReader {
    var info: BlobInfo { self.base.info }
    private let base: any BlobPluginReader
    private let throttle: MultipartThrottle
    private let context: BlobContext
    private var rest: Int
    /// The end of the current delay.
    private var due: ContinuousClock.Instant?
    private var timer: BlobRegistration?

    init(_ base: any BlobPluginReader, _ throttle: MultipartThrottle, _ context: BlobContext) {
        (self.base, self.throttle, self.context) = (base, throttle, context)
        self.rest = throttle.packetByteCount
    }

    var isOpen: Bool { self.base.isOpen }
    var neverBlocks: Bool { self.base.neverBlocks }

    func read(into output: inout OutputRawSpan) throws -> BlobReadResult {
        if let due {
            guard ContinuousClock.now >= due else { return .notYet }
            (self.due, self.rest) = (nil, self.throttle.packetByteCount)
        }
        let before = output.byteCount
        let result = try self.base.read(into: &output, atMost: self.rest)
        self.rest -= output.byteCount - before
        if self.rest == 0 { self.due = .now + self.throttle.delay }
        return result
    }

    func whenReadable(_ waker: BlobWaker) {
        guard let due else { return self.base.whenReadable(waker) }
        self.timer = self.context.wake(after: due - .now, waker)
    }

    func close() {
        self.timer?.cancel()
        self.base.close()
    }
}
