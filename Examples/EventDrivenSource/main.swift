import BlobStreamsStandard
import BlobStreamsTesting
import Foundation

/// Lines that a timer writes: an event-driven source, for whose next line no thread waits.
struct TickSource: BlobInputStreamDataSource {
    let tickCount: Int
    let capabilities: BlobCapabilities = [.repeatable, .concurrentReaders, .eventDriven]

    func info(_ context: BlobContext) -> BlobInfo { BlobInfo(name: "ticks") }

    func openReader(
        at byteOffset: Int64, matching validator: BlobValidator?, context: BlobContext
    ) throws -> any BlobReader {
        let info = self.info(context)
        try info.check(byteOffset: byteOffset, matching: validator)
        return SkippingReader(TickReader(self.tickCount, info), bytesToSkip: byteOffset)
    }
}

final class TickReader: BlobReader, @unchecked Sendable {  // Safe: all that varies does so inside `state.update`.
    let info: BlobInfo
    let state = BlobObservable(BlobReaderState(isOpenCompleted: true))
    var readiness: BlobObservable<BlobReaderState>? { self.state }
    private let timer = DispatchSource.makeTimerSource()
    private var (ticksLeft, isClosed, bytes) = (0, false, ArraySlice<UInt8>())

    init(_ tickCount: Int, _ info: BlobInfo) {
        (self.info, self.ticksLeft) = (info, tickCount)
        self.timer.setEventHandler { [weak self] in self?.tick() }
        self.timer.schedule(deadline: .now(), repeating: .milliseconds(2))
        self.timer.activate()
    }

    private func tick() {
        self.state.update { state in
            guard !self.isClosed, self.ticksLeft > 0 else { return self.timer.cancel() }
            self.ticksLeft -= 1
            self.bytes += "tick, \(self.ticksLeft) left\n".utf8
            state.hasBytesAvailable = true
        }
    }

    func read(into output: inout OutputRawSpan) throws {
        try self.state.update { state in
            guard !self.isClosed else { throw BlobError(.closed, "The reader is closed.") }
            self.bytes = self.bytes.dropFirst(self.bytes.withUnsafeBytes { output.append(contentsOf: $0) })
            state.hasBytesAvailable = !self.bytes.isEmpty
            state.isAtEnd = self.bytes.isEmpty && self.ticksLeft == 0
        }
    }

    func close() { self.state.update { _ in (self.isClosed, self.bytes) = (true, []) } }  // The next tick is the last.
    deinit { self.timer.cancel() }
}

for try await line in TickSource(tickCount: 3).lines { print(line) }
let expected = Data("tick, 1 left\ntick, 0 left\n".utf8)
print("broken contracts:", violations(of: TickSource(tickCount: 2), expecting: expected))
