import BlobPlatform

/// A layer over a source without concurrent readers, which serialises the calls of its readers.
struct SerialSource: ForwardingSource, NamedLayer {
    let base: any BlobInputStreamDataSource
    private let lock = ReaderLock()

    init(_ base: any BlobInputStreamDataSource) { self.base = base }

    var layer: String { self.base.layerName }
    var standsForBase: Bool { true }

    func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        let reader = try self.lock.withLock(opening.context) { try self.base.open(opening) }
        return .stream(SerialStream(reader, self.lock, opening.context), startingAt: opening.byteOffset)
    }
}

private final class SerialStream: StreamOverReader {
    private let base: BlobReader
    private let lock: ReaderLock
    private let context: BlobContext

    init(_ base: BlobReader, _ lock: ReaderLock, _ context: BlobContext) {
        (self.base, self.lock, self.context) = (base, lock, context)
        base.deferChecks(to: context)
    }

    var info: BlobInfo? { get throws { try self.lock.withLock(self.context) { try self.base.knownInfo() } } }
    var reader: BlobReader? { self.base }
    var neverBlocks: Bool { self.base.neverBlocks }
    // Without limits, waiting for the lock cannot throw.
    var readiness: BlobWakerSlot? { try? self.lock.withLock(BlobContext()) { self.base.readiness } }

    func read(at byteOffset: Int64, into output: inout OutputRawSpan) throws -> BlobReadResult {
        try self.lock.withLock(self.context) { try self.base.read(into: &output) }
    }

    func readBytes(at byteOffset: Int64, atMost byteCount: Int) throws -> BlobBytes? {
        try self.lock.withLock(self.context) { try self.base.readBytes(atMost: byteCount) }
    }

    func close() { try? self.lock.withLock(BlobContext()) { self.base.close() } }
}

/// The lock of the readers of one source. The owning thread may acquire it again: a plugin may call the stream.
private final class ReaderLock: Sendable {
    private struct State {
        var holder: pthread_t?
        var depth = 0
        var waiters: [WaitSignal] = []
    }

    private let state = Locked(State())

    /// Waits for the lock, and calls `body` with it held.
    ///
    /// - Throws: The errors of `body` and of waiting in `context`.
    func withLock<Result>(_ context: BlobContext, _ body: () throws -> Result) throws -> Result {
        if !self.acquire(nil) {
            let signal = WaitSignal()
            try BlockingPool.runOutside { () throws(BlobError) in
                try context.wait(on: signal) { self.acquire(signal) ? () : nil }
            }
        }
        defer { self.release() }
        return try body()
    }

    /// Acquires the lock if no other thread holds it.
    ///
    /// - Returns: False if another thread holds the lock; `signal` is signalled when it is released.
    private func acquire(_ signal: WaitSignal?) -> Bool {
        let thread = pthread_self()
        return self.state.withLock { state in
            guard state.depth == 0 || state.holder == thread else {
                if let signal { state.waiters.append(signal) }
                return false
            }
            (state.holder, state.depth) = (thread, state.depth + 1)
            return true
        }
    }

    private func release() {
        let waiting = self.state.withLock { state in
            state.depth -= 1
            guard state.depth == 0 else { return [WaitSignal]() }
            defer { state.waiters = [] }
            return state.waiters
        }
        for signal in waiting { signal.signal() }
    }
}
