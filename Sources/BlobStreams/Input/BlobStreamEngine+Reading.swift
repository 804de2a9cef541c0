import Foundation

extension BlobStreamEngine {
    /// Reads the next bytes, waiting while there are none.
    ///
    /// - Returns: The number of bytes read; 0 at the end, -1 after an error.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        var waiter: WaitSignal?
        while true {
            let step = self.update(delivers: false) { machine, state in
                machine.beginRead(into: buffer, waiter, &state)
            }
            switch step {
            case .done(let count):
                self.state.deliver()
                return count
            case .publishOutcome(let count):
                self.publishOutcome()
                if let count { return count }
            case .start(let id): self.start(id)
            case .use(let use, let count):
                let total = count + self.read(use, into: buffer, from: count)
                if total > 0 { return total }
            case .wait:
                if let waiter { BlockingPool.leave { _ = waiter.wait(for: nil) } } else { waiter = WaitSignal() }
            }
        }
    }

    /// The size from which reads go straight to the caller's memory; smaller reads take bytes from a window.
    private static let directByteCount = 16 * 1024
    private static let peekByteCount = 512

    /// Reads, then gives the reader back.
    ///
    /// - Parameter offset: The number of bytes that are already in `buffer`.
    /// - Returns: The number of bytes added.
    func read(_ use: Machine.Use, into buffer: UnsafeMutableRawBufferPointer, from offset: Int) -> Int {
        var outcome = Machine.Outcome()
        use.reader.isLimited = true
        let isDirect = buffer.count >= Self.directByteCount || use.reader.lend() != nil
        let windowByteCount = isDirect ? Self.peekByteCount : BlobPipe.defaultCapacity
        if offset < buffer.count, offset == 0 || use.neverBlocks {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[offset...])
            if isDirect {
                self.read(use.reader, into: rest, &outcome)
            } else {
                self.fill(windowByteCount, use.reader, &outcome)
                outcome.appended = outcome.window?.move(to: rest) ?? 0
                if outcome.window?.isEmpty ?? false { outcome.window = nil }
            }
        }
        self.finish(use, &outcome, peeking: use.neverBlocks ? windowByteCount : nil)
        return outcome.appended
    }

    /// Checks whether bytes are available, then gives the reader back.
    func checkForBytes(with use: Machine.Use) {
        var outcome = Machine.Outcome()
        use.reader.isLimited = self.isAwaited
        self.finish(use, &outcome, peeking: use.neverBlocks ? BlobPipe.defaultCapacity : nil)
    }

    /// Gives the reader back.
    ///
    /// - Parameter byteCount: The maximum number of bytes to read to find out whether any are available, when nothing
    ///   else shows it; nil when reading would block.
    func finish(_ use: Machine.Use, _ outcome: inout Machine.Outcome, peeking byteCount: Int?) {
        let reader = use.reader
        if case .success(.bytes) = outcome.result, outcome.window == nil {
            if byteCount != nil, reader.lend() != nil {
                outcome.isReadable = true
            } else if byteCount != nil || reader.isAtDeclaredEnd {
                self.fill(byteCount ?? 1, reader, &outcome)
            }
        }
        if case .success(.notYet) = outcome.result {
            reader.whenReadable(BlobWaker { [weak self, id = use.sessionID] in self?.woken(id) })
        }
        outcome.isLimited = reader.isLimited
        self.finish(use, outcome)
    }

    func finish(_ use: Machine.Use, _ outcome: Machine.Outcome) {
        let info = !use.isOpenCompleted && use.reader.isOpen ? use.reader.info : nil
        let hasMore = self.update { machine, state in machine.finish(use, outcome, opening: info, &state) }
        if hasMore { self.publishOutcome() }
    }

    func publishOutcome() { while self.update({ machine, state in machine.publishOutcome(&state) }) {} }

    func fill(_ byteCount: Int, _ reader: BlobReader, _ outcome: inout Machine.Outcome) {
        let window = Window(byteCount)
        outcome.result = Result { try window.fill(from: reader) }.mapError { BlobError(wrapping: $0) }
        if !window.isEmpty { outcome.window = window }
    }

    func read(_ reader: BlobReader, into buffer: UnsafeMutableRawBufferPointer, _ outcome: inout Machine.Outcome) {
        var output = OutputRawSpan(buffer: buffer, initializedCount: 0)
        outcome.result = Result { try reader.read(into: &output) }.mapError { BlobError(wrapping: $0) }
        outcome.appended = output.finalize(for: buffer)
    }

    func woken(_ id: Int) { self.update(delivers: false) { machine, _ in ((), machine.woken(id)) } }

    /// Checks whether bytes are available, for delegates that wait for events and for observers of the state.
    func checkForBytes() {
        let use = self.withMachine { machine, state in machine.beginCheckForBytes(state) }
        if let use { self.checkForBytes(with: use) }
    }

    /// Checks for bytes with limits, which apply from now on.
    func wasScheduled() { self.checkForBytes() }

    /// Lends the bytes that are in memory until the next call; nil when there are none.
    func lendWindow() -> UnsafeRawBufferPointer? {
        // Under the lock: lending only accesses memory, and no thread is using the reader.
        self.withMachine { machine, state in machine.lend(state) { $0.lend() } }
    }
}
