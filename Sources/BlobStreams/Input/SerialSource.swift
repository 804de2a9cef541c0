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

    fileprivate func release() {
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

    func makeReader(
        at byteOffset: Int64, matching validator: BlobValidator?, context: BlobContext
    ) throws -> any BlobPluginReader {
        let isHeld = try self.lock.acquire(for: self.base, context)
        do {
            let reader = try self.base.makeReader(at: byteOffset, matching: validator, context: context)
            return isHeld ? SerialReader(reader, self.lock) : reader
        } catch {
            if isHeld { self.lock.release() }
            throw error
        }
    }
}

private final class SerialReader: ForwardingReader {
    let base: any BlobPluginReader
    private var lock: ReaderLock?

    init(_ base: any BlobPluginReader, _ lock: ReaderLock) { (self.base, self.lock) = (base, lock) }

    deinit { self.lock?.release() }

    func read(into output: inout OutputRawSpan) throws -> BlobReadResult { try self.base.read(into: &output) }

    func close() {
        self.base.close()
        self.lock?.release()
        self.lock = nil
    }
}
