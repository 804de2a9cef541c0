import BlobPlatform

/// A layer that delivers no more than a number of bytes a second, on average. Blocks no thread.
package struct ThrottledSource: ForwardingSource {
    package let base: any BlobInputStreamDataSource
    private let bytesPerSecond: Int64

    package init(_ base: any BlobInputStreamDataSource, bytesPerSecond: Int64) {
        precondition(bytesPerSecond > 0, "A rate is at least one byte a second.")
        self.base = base
        self.bytesPerSecond = bytesPerSecond
    }

    package func reader(
        at byteOffset: Int64, matching validator: BlobValidator?, _ context: BlobContext
    ) throws -> any BlobReader {
        let reader = try self.base.open(at: byteOffset, matching: validator, context: context)
        return ThrottledReader(reader, self.bytesPerSecond, context)
    }
}

/// Each reader has an allowance, which grows with time up to that of a tenth of a second.
private final class ThrottledReader: ForwardingReader {
    let base: any BlobReader
    private let bytesPerSecond: Double
    private let maximumAllowance: Double
    private let context: BlobContext
    private var allowance: Double
    private var moment = ContinuousClock.Instant.now
    /// The wait that the last read was refused for; nil when the base had no bytes.
    private var wait: TimerWait?

    init(_ base: any BlobReader, _ bytesPerSecond: Int64, _ context: BlobContext) {
        self.base = base
        self.bytesPerSecond = Double(bytesPerSecond)
        self.maximumAllowance = max(self.bytesPerSecond / 10, 1)
        self.allowance = self.maximumAllowance
        self.context = context
    }

    func read(into output: inout OutputRawSpan) throws -> BlobReadResult {
        if let wait {
            guard wait.isOver else { return .notYet }
            self.wait = nil
        }
        let now = ContinuousClock.Instant.now
        let seconds = (now - self.moment) / .seconds(1)
        (self.allowance, self.moment) = (
            min(self.allowance + seconds * self.bytesPerSecond, self.maximumAllowance), now
        )
        guard self.allowance >= 1 else {
            // Until the allowance is whole again, so that reads stay large.
            let missing = (self.maximumAllowance - self.allowance) / self.bytesPerSecond
            self.wait = TimerWait(.seconds(missing), self.context)
            return .notYet
        }
        let start = output.byteCount
        let result = try self.base.read(into: &output, atMost: Int(self.allowance))
        self.allowance -= Double(output.byteCount - start)
        return result
    }

    func whenReadable(_ waker: BlobWaker) {
        if let wait { wait.whenOver(waker) } else { self.base.whenReadable(waker) }
    }

    func close() {
        self.wait?.cancel()
        self.base.close()
    }
}
