/// A layer that limits the average number of bytes per second. Blocks no thread.
package struct ThrottledSource: ForwardingSource {
    package let base: any BlobInputStreamDataSource
    private let makeAllowance: @Sendable () -> ByteAllowance

    /// Creates a layer in which each reader has an allowance of its own.
    package init(_ base: any BlobInputStreamDataSource, bytesPerSecond: Int64) {
        self.base = base
        self.makeAllowance = { ByteAllowance(bytesPerSecond: bytesPerSecond) }
    }

    /// Creates a layer whose readers share an allowance with each other and with the readers of other layers.
    package init(_ base: any BlobInputStreamDataSource, sharing allowance: ByteAllowance) {
        self.base = base
        self.makeAllowance = { allowance }
    }

    package func inspector(_ opening: BlobOpening) -> (any BlobInspector)? {
        Throttle(share: ByteAllowance.Share(of: self.makeAllowance()))
    }

    private struct Throttle: BlobInspector {
        let share: ByteAllowance.Share

        func readLimit() -> BlobReadLimit {
            let byteCount = self.share.available()
            return byteCount > 0 ? .bytes(Int64(byteCount)) : .wait(until: self.share.start)
        }

        func pass(_ bytes: RawSpan, at byteOffset: Int64, isLast: Bool) -> Range<Int> {
            self.share.use(bytes.byteCount)
            return 0..<bytes.byteCount
        }
    }
}

/// A rate in bytes per second that readers and requests share.
///
/// Readers and requests take portions of bytes in turn; a portion may pass once the time of the portions before it is
/// over. Time that passes unused is made up for, up to a quarter of a second.
package final class ByteAllowance: Sendable {
    private static let longestBacklog = Duration.milliseconds(250)
    /// The maximum size of a portion in bytes, large enough for efficient reading and sending.
    private static let maximumPortionByteCount: Int64 = 256 * 1024
    /// The number of portions per second, for a steady flow.
    private static let portionsPerSecond: Int64 = 20

    private let bytesPerSecond: Double
    private let portionByteCount: Int
    private let nextDeliveryTime: Locked<ContinuousClock.Instant>

    /// Creates an unused allowance.
    ///
    /// - Parameter bytesPerSecond: The rate, at least 1.
    package init(bytesPerSecond: Int64, now: ContinuousClock.Instant = .now) {
        precondition(bytesPerSecond > 0, "The rate must be at least one byte per second.")
        self.bytesPerSecond = Double(bytesPerSecond)
        self.portionByteCount = Int(min(max(1, bytesPerSecond / Self.portionsPerSecond), Self.maximumPortionByteCount))
        self.nextDeliveryTime = Locked(now)
    }

    private func duration(of byteCount: Int) -> Duration { .seconds(Double(byteCount) / self.bytesPerSecond) }

    /// The portions of one reader or request, whose owner makes one call at a time. The unused rest is returned when
    /// the share is released.
    package final class Share: @unchecked Sendable {  // Safe: its owner makes one call at a time.
        private let allowance: ByteAllowance
        private var byteCount = 0
        /// The time from which the bytes of the current portion may pass.
        package private(set) var start = ContinuousClock.now

        package init(of allowance: ByteAllowance) { self.allowance = allowance }

        deinit { self.allowance.nextDeliveryTime.withLock { $0 -= self.allowance.duration(of: self.byteCount) } }

        /// Returns the number of bytes that may pass now. If it is 0, no bytes may pass before ``start``.
        package func available(at now: ContinuousClock.Instant = .now) -> Int {
            if self.byteCount == 0 {
                (self.byteCount, self.start) = self.allowance.nextDeliveryTime.withLock { [allowance] next in
                    let start = max(next, now - ByteAllowance.longestBacklog)
                    next = start + allowance.duration(of: allowance.portionByteCount)
                    return (allowance.portionByteCount, start)
                }
            }
            return self.start <= now ? self.byteCount : 0
        }

        /// Subtracts bytes that have passed from the current portion.
        ///
        /// - Parameter byteCount: The number of bytes, at most the result of the last ``available(at:)``.
        package func use(_ byteCount: Int) { self.byteCount -= byteCount }
    }
}
