import BlobStreamsStandard
import BlobStreamsTesting
import Foundation

/// Lines written by a timer: an event-driven source, which blocks no thread while it waits for the next line.
struct TickSource: BlobInputStreamDataSource {
    let tickCount: Int
    let traits: BlobTraits = [.neverBlocks, .repeatable, .concurrentReaders]

    func describe(_ context: BlobContext) -> BlobInfo { BlobInfo(name: "ticks") }

    func makeReader(
        at byteOffset: Int64, matching validator: BlobValidator?, context: BlobContext
    ) throws -> any BlobReader {
        let info = self.describe(context)
        try info.check(byteOffset: byteOffset, matching: validator)
        return TickReader(self.tickCount, info).skipping(byteOffset)
    }
}

final class TickReader: BlobReader, @unchecked Sendable {  // Safe: `lock` guards all mutable state.
    let info: BlobInfo
    private let lock = NSLock()
    private let timer = DispatchSource.makeTimerSource()
    private var (ticksLeft, isClosed, bytes) = (0, false, ArraySlice<UInt8>())
    private var waker: BlobWaker?

    init(_ tickCount: Int, _ info: BlobInfo) {
        (self.info, self.ticksLeft) = (info, tickCount)
        self.timer.setEventHandler { [weak self] in self?.tick() }
        self.timer.schedule(deadline: .now(), repeating: .milliseconds(2))
        self.timer.activate()
    }

    private func tick() {
        let waker: BlobWaker? = self.lock.withLock {
            guard !self.isClosed, self.ticksLeft > 0 else {
                self.timer.cancel()
                return nil
            }
            self.ticksLeft -= 1
            self.bytes += "tick, \(self.ticksLeft) left\n".utf8
            defer { self.waker = nil }
            return self.waker
        }
        waker?.wake()  // Outside the lock: the waker may read at once.
    }

    func read(into output: inout OutputRawSpan) throws -> BlobReadResult {
        try self.lock.withLock {
            guard !self.isClosed else { throw BlobError(.closed, "The reader is closed.") }
            if self.bytes.isEmpty, self.ticksLeft > 0 { return .notYet }
            return .moving(&self.bytes, to: &output)
        }
    }

    func whenReadable(_ waker: BlobWaker) {
        let isReadable = self.lock.withLock {  // As in `tick`, so that no tick comes between check and registration.
            let isReadable = !self.bytes.isEmpty || self.ticksLeft == 0
            self.waker = isReadable || self.isClosed ? nil : waker
            return isReadable
        }
        if isReadable { waker.wake() }
    }

    func close() { self.lock.withLock { (self.isClosed, self.bytes, self.waker) = (true, [], nil) } }
    deinit { self.timer.cancel() }
}

for try await line in TickSource(tickCount: 3).lines() { print(line) }
let expected = Data("tick, 1 left\ntick, 0 left\n".utf8)
print("broken contracts:", violations(of: TickSource(tickCount: 2), expecting: expected))
