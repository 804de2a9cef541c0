/// The lock of the readers of one stream, of which only one holds it when the source supports only one reader at a
/// time. A reader holds it from its creation until it is closed or released.
final class ReaderLock: Sendable {
    private struct State {
        var isHeld = false
        var waiting: [WaitSignal] = []
    }

    private let state = Locked(State())

    /// Waits for the lock and acquires it; returns false at once when the source supports concurrent readers.
    fileprivate func acquire(
        for source: any BlobInputStreamDataSource, _ context: BlobContext
    ) throws(BlobError) -> Bool {
        guard !source.traits.contains(.concurrentReaders) else { return false }
        let signal = WaitSignal()
        return try BlockingPool.leave { () throws(BlobError) in
            try context.wait(on: signal) {
                self.state.withLock { state in
                    if state.isHeld { state.waiting.append(signal) }
                    defer { state.isHeld = true }
                    return state.isHeld ? nil : true
                }
            }
        }
    }

    /// The time during which a reader holds the lock.
    fileprivate final class Turn {
        private let lock: ReaderLock

        init(_ lock: ReaderLock) { self.lock = lock }

        deinit { self.lock.release() }
    }

    private func release() {
        let waiting = self.state.withLock { state in
            defer { (state.isHeld, state.waiting) = (false, []) }
            return state.waiting
        }
        for signal in waiting { signal.signal() }
    }
}

/// A source with at most one reader at a time, unless it supports concurrent readers.
struct SerialSource: ForwardingSource, NamedLayer {
    let base: any BlobInputStreamDataSource
    private let lock: ReaderLock

    init(_ base: any BlobInputStreamDataSource, _ lock: ReaderLock) { (self.base, self.lock) = (base, lock) }

    var layer: String { self.base.layerName }

    func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        guard try self.lock.acquire(for: self.base, opening.context) else { return try self.base.makeBody(opening) }
        let turn = ReaderLock.Turn(self.lock)
        return .inspected(try self.base.open(opening), LastReader(turn: turn), startingAt: opening.byteOffset)
    }
}

/// Holds the lock until the reader is closed.
private struct LastReader: BlobInspector {
    let turn: ReaderLock.Turn

    func pass(_ bytes: RawSpan, at byteOffset: Int64, isLast: Bool) -> Range<Int> { 0..<bytes.byteCount }
}
