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

    package func reader(
        at byteOffset: Int64, matching validator: BlobValidator?, _ context: BlobContext
    ) throws -> any BlobPluginReader {
        let reader = try self.base.open(at: byteOffset, matching: validator, context: context)
        return ThrottledReader(reader, self.makeAllowance(), context)
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

private final class ThrottledReader: ForwardingReader {
    let base: any BlobPluginReader
    private let allowance: ByteAllowance
    private let context: BlobContext
    /// The wait that the last read was refused for; nil when the base had no bytes.
    private var wait: TimerWait?

    init(_ base: any BlobPluginReader, _ allowance: ByteAllowance, _ context: BlobContext) {
        (self.base, self.allowance, self.context) = (base, allowance, context)
    }

    func read(into output: inout OutputRawSpan) throws -> BlobReadResult {
        if let wait {
            guard wait.isOver else { return .notYet }
            self.wait = nil
        }
        let (allowed, delay) = self.allowance.take(atMost: output.freeCapacity)
        guard allowed > 0 else {
            self.wait = TimerWait(delay, self.context)
            return .notYet
        }
        let start = output.byteCount
        defer { self.allowance.giveBack(allowed - (output.byteCount - start)) }
        return try self.base.read(into: &output, atMost: allowed)
    }

    func whenReadable(_ waker: BlobWaker) {
        if let wait { wait.whenOver(waker) } else { self.base.whenReadable(waker) }
    }

    func close() {
        self.wait?.cancel()
        self.base.close()
    }
}
