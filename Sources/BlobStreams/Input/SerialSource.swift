/// The turn that the readers of one stream take when the source supports only one reader at a time.
final class ReaderTurn: Sendable {
    private struct State {
        var isTaken = false
        var waiting: [WaitSignal] = []
    }

    private let state = Locked(State())

    /// Waits for the turn; returns false at once when the source supports concurrent readers.
    fileprivate func take(_ source: any BlobInputStreamDataSource, _ context: BlobContext) throws(BlobError) -> Bool {
        guard !source.traits.contains(.concurrentReaders) else { return false }
        let signal = WaitSignal()
        return try BlockingPool.leave { () throws(BlobError) in
            try context.wait(on: signal) {
                self.state.withLock { state in
                    if state.isTaken { state.waiting.append(signal) }
                    defer { state.isTaken = true }
                    return state.isTaken ? nil : true
                }
            }
        }
    }

    fileprivate func give() {
        let waiting = self.state.withLock { state in
            defer { (state.isTaken, state.waiting) = (false, []) }
            return state.waiting
        }
        for signal in waiting { signal.signal() }
    }
}

/// A source whose readers take turns.
struct SerialSource: ForwardingSource, NamedLayer {
    let base: any BlobInputStreamDataSource
    private let turn: ReaderTurn

    init(_ base: any BlobInputStreamDataSource, _ turn: ReaderTurn) { (self.base, self.turn) = (base, turn) }

    var layer: String { self.base.layerName }

    func makeReader(
        at byteOffset: Int64, matching validator: BlobValidator?, context: BlobContext
    ) throws -> any BlobReader {
        let isTaken = try self.turn.take(self.base, context)
        do {
            let reader = try self.base.makeReader(at: byteOffset, matching: validator, context: context)
            return isTaken ? SerialReader(reader, self.turn) : reader
        } catch {
            if isTaken { self.turn.give() }
            throw error
        }
    }
}

private final class SerialReader: ForwardingReader {
    let base: any BlobReader
    private var turn: ReaderTurn?

    init(_ base: any BlobReader, _ turn: ReaderTurn) { (self.base, self.turn) = (base, turn) }

    deinit { self.turn?.give() }

    func read(into output: inout OutputRawSpan) throws -> BlobReadResult { try self.base.read(into: &output) }

    func close() {
        self.base.close()
        self.turn?.give()
        self.turn = nil
    }
}
