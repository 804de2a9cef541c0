import BlobPlatform

/// A layer that delivers no more than a number of bytes a second, on average. Blocks no thread.
package struct ThrottledSource: ForwardingSource {
    package let base: any BlobInputStreamDataSource
    private let makeAllowance: @Sendable () -> ByteAllowance

    /// Creates a layer in which each reader has an allowance of its own.
    package init(_ base: any BlobInputStreamDataSource, bytesPerSecond: Int64) {
        self.base = base
        self.makeAllowance = { ByteAllowance(bytesPerSecond: bytesPerSecond) }
    }

    /// Creates a layer whose readers share an allowance, also with those of other layers.
    package init(_ base: any BlobInputStreamDataSource, sharing allowance: ByteAllowance) {
        self.base = base
        self.makeAllowance = { allowance }
    }

    package func inspector(_ opening: BlobOpening) -> (any BlobInspector)? {
        Throttle(allowance: self.makeAllowance())
    }
}

/// A number of bytes that may be delivered now, which grows with time up to that of a tenth of a second.
package final class ByteAllowance: Sendable {
    private struct State {
        var byteCount: Double
        var moment = Moment.now
    }

    private let bytesPerSecond: Double
    private let maximumByteCount: Double
    private let state: Locked<State>

    /// - Parameter bytesPerSecond: The rate, from 1.
    package init(bytesPerSecond: Int64) {
        precondition(bytesPerSecond > 0, "A rate is at least one byte a second.")
        self.bytesPerSecond = Double(bytesPerSecond)
        self.maximumByteCount = max(self.bytesPerSecond / 10, 1)
        self.state = Locked(State(byteCount: self.maximumByteCount))
    }

    /// Takes at most `byteCount` bytes. With less than one, returns none, and the delay until the allowance is whole
    /// again, so that reads stay large.
    fileprivate func take(atMost byteCount: Int) -> (byteCount: Int, delay: Duration) {
        self.state.withLock { state in
            let now = Moment.now
            let grown = state.byteCount + now.timeInterval(since: state.moment) * self.bytesPerSecond
            (state.byteCount, state.moment) = (min(grown, self.maximumByteCount), now)
            guard state.byteCount >= 1 else {
                return (0, .seconds((self.maximumByteCount - state.byteCount) / self.bytesPerSecond))
            }
            let taken = min(byteCount, Int(state.byteCount))
            state.byteCount -= Double(taken)
            return (taken, .zero)
        }
    }

    fileprivate func giveBack(_ byteCount: Int) { self.state.withLock { $0.byteCount += Double(byteCount) } }
}

private struct Throttle: BlobInspector {
    /// The most bytes that pass at once.
    private static let maximumByteCount = 1 << 20

    private let allowance: ByteAllowance
    /// The bytes that were taken from the allowance, and have not passed.
    private var taken = 0

    init(allowance: ByteAllowance) { self.allowance = allowance }

    mutating func room() -> BlobRoom {
        self.allowance.giveBack(self.taken)
        let (allowed, delay) = self.allowance.take(atMost: Self.maximumByteCount)
        self.taken = allowed
        return allowed > 0 ? .bytes(Int64(allowed)) : .wait(until: .now + delay)
    }

    mutating func pass(_ bytes: RawSpan, at byteOffset: Int64, isLast: Bool) -> Range<Int> {
        self.allowance.giveBack(self.taken - bytes.byteCount)
        self.taken = 0
        return 0..<bytes.byteCount
    }
}
