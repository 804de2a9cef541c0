import Foundation

extension BlobStreamEngine {
    /// Who may use the reader.
    enum Turn {
        /// Nothing to read: this is the answer.
        case over(Int)
        case mine(StreamPass, any StreamReader)
        /// Nobody opens the source yet.
        case start(StreamPass)
        /// Somebody else uses the reader, or it has nothing now.
        case wait
    }

    /// Reads the next bytes, waiting for them if there are none.
    ///
    /// - Returns: How many; 0 at the end, -1 after an error.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        var turn = self.turn(into: buffer, waiter: nil)
        while true {
            switch turn {
            case .over(let result): return result
            case .mine(let pass, let reader):
                let result = Result { try reader.read(into: buffer) }
                let (answer, mustRefresh) = self.finishReading(pass, reader, result)
                if mustRefresh { self.refresh(pass, afterReading: answer != nil) }
                if let answer { return answer }
                turn = self.turn(into: buffer, waiter: nil)
            case .start(let pass):
                self.start(pass)
                turn = self.turn(into: buffer, waiter: nil)
            case .wait:
                let waiter = WaitSignal()
                do {
                    turn = try self.context.wait(on: waiter) {
                        let turn = self.turn(into: buffer, waiter: waiter)
                        if case .wait = turn { return nil }
                        return turn
                    }
                } catch {
                    self.fail(error, in: nil)
                    return -1
                }
            }
        }
    }

    private func turn(into buffer: UnsafeMutableRawBufferPointer, waiter: WaitSignal?) -> Turn {
        self.state.withValue { state in
            self.lentWindow = nil  // Released under the lock: it is only memory.
            switch state.phase {
            case .notOpen, .closed:
                self.refuse(state)
                return .over(-1)
            case .failed: return .over(-1)
            case .atEnd: return .over(0)
            case .open where buffer.isEmpty: return .over(0)
            case .opening, .open: return self.turn(waiter, needsBytes: true)
            }
        }
    }

    /// Takes the reader if nobody uses it, and if it has something when bytes are needed. Under the lock.
    private func turn(_ waiter: WaitSignal?, needsBytes: Bool) -> Turn {
        if let pass, !pass.isStarted { return .start(pass) }
        if let pass = self.pass, pass.isOpenCompleted, !pass.isBusy, let reader = pass.reader,
            !needsBytes || pass.readiness?.value.isReady ?? true
        {
            pass.isBusy = true
            return .mine(pass, reader)
        }
        if let waiter { self.addWaiter(waiter) }
        return .wait
    }

    /// Gives the reader back and says what the read has come to.
    ///
    /// - Returns: The answer to who read, nil to try again; and whether the reader's state must be looked at.
    func finishReading(
        _ pass: StreamPass, _ reader: any StreamReader, _ result: Result<Int, any Error>
    ) -> (answer: Int?, mustRefresh: Bool) {
        let hasEnded = reader.hasEnded
        return self.change { state, aftermath in
            pass.isBusy = false
            self.wakeWaiters(&aftermath)
            guard self.pass === pass else {
                aftermath.reader = reader
                if state.phase == .closed || state.phase == .failed { return (-1, false) }
                // The offset was set during the read, whose bytes came before.
                if case .success(let count) = result, count > 0 { return (count, false) }
                return (nil, false)
            }
            switch result {
            case .failure(let error):
                self.fail(BlobError(wrapping: error), &state, &aftermath)
                return (-1, false)
            case .success(0):
                guard hasEnded else { return (nil, true) }
                self.end(&state, &aftermath)
                return (0, false)
            case .success(let count):
                state.byteOffset += Int64(count)
                guard pass.readiness == nil, state.byteOffset != state.byteCount else { return (count, true) }
                self.post(.hasBytesAvailable, &aftermath)
                return (count, false)
            }
        }
    }

    /// Lends the bytes that wait in memory until the next call; nil when there are none.
    func lendWindow() -> UnsafeMutableRawBufferPointer? {
        let window = self.withReader { $0.lendWindow() } ?? nil
        self.state.withValue { _ in self.lentWindow = window }
        return window?.bytes
    }

    /// Uses the reader for something else than reading; nil when there is none, or it is still being opened.
    func withReader<Result>(_ body: (any StreamReader) -> Result) -> Result? {
        let waiter = WaitSignal()
        while true {
            let turn = self.state.withValue { state -> Turn? in
                guard state.phase == .open, self.pass?.isOpenCompleted == true else { return nil }
                return self.turn(waiter, needsBytes: false)
            }
            switch turn {
            case .mine(let pass, let reader):
                let result = body(reader)
                self.change { _, aftermath in
                    pass.isBusy = false
                    self.wakeWaiters(&aftermath)
                    if self.pass !== pass { aftermath.reader = reader }
                }
                self.refresh(pass)
                return result
            case .wait: _ = waiter.wait(for: nil)
            default: return nil
            }
        }
    }

    // MARK: The offset

    /// Has reading go on at another offset.
    ///
    /// - Returns: False when that is refused, and then nothing has changed.
    func setOffset(_ byteOffset: Int64) -> Bool {
        guard byteOffset >= 0 else { return false }
        let isRepeatable = self.source.capabilities.contains(.repeatable)
        while true {
            let step = self.change { state, aftermath in
                self.beginSetting(byteOffset, isRepeatable, &state, &aftermath)
            }
            switch step {
            case .over(let isSet): return isSet
            case .start(let pass): self.start(pass)
            case .run(let pass):
                self.start(pass)
                return true
            case .open(let pass, let old): return self.openAndSwap(pass, for: old)
            case .wait(let waiter): _ = waiter.wait(for: nil)
            }
        }
    }

    private enum SettingStep {
        case over(Bool)
        /// The first opening was not begun yet, and is needed first.
        case start(StreamPass)
        /// Asynchronous: the new opening is the current one already.
        case run(StreamPass)
        /// Synchronous: the new opening takes the place of the old one if it succeeds.
        case open(StreamPass, old: StreamPass?)
        case wait(WaitSignal)
    }

    private func beginSetting(
        _ byteOffset: Int64, _ isRepeatable: Bool, _ state: inout BlobStreamState, _ aftermath: inout Aftermath
    ) -> SettingStep {
        switch state.phase {
        case .notOpen:
            state.byteOffset = byteOffset
            return .over(true)
        case .failed, .closed: return .over(false)
        case .opening where self.mode == .synchronous:
            if let pass, !pass.isStarted { return .start(pass) }
            let waiter = WaitSignal()
            self.addWaiter(waiter)
            return .wait(waiter)
        case .opening, .open, .atEnd: break
        }
        if byteOffset == state.byteOffset { return .over(true) }
        if let byteCount = state.byteCount, byteOffset > byteCount { return .over(false) }
        guard isRepeatable else { return .over(false) }
        if self.mode == .synchronous {
            return .open(self.makePass(at: byteOffset), old: self.pass)
        }
        self.moveOffset(to: byteOffset, &state, &aftermath)
        return .run(self.beginPass(at: byteOffset))
    }

    private func openAndSwap(_ pass: StreamPass, for old: StreamPass?) -> Bool {
        guard let reader = try? self.openReader(for: pass) else { return false }
        let info = reader.info
        let newReader = HandedOver(reader)  // Ordered by the lock.
        let isSet = self.change { state, aftermath in
            guard state.phase == .open || state.phase == .atEnd, self.pass === old, self.changeOfLength(info) == nil
            else {
                aftermath.reader = newReader.value
                return false
            }
            self.moveOffset(to: pass.byteOffset, &state, &aftermath)
            self.pass = pass
            pass.isStarted = true
            pass.setReader(newReader.value)
            self.completeOpening(pass, info, &state, &aftermath)
            return true
        }
        if isSet {
            self.watch(pass)
            self.follow(pass)
        }
        return isSet
    }

    private func moveOffset(to byteOffset: Int64, _ state: inout BlobStreamState, _ aftermath: inout Aftermath) {
        self.endPass(&aftermath)
        self.dropEvents(.endEncountered)
        if state.phase == .atEnd { state.phase = .open }
        state.isAtEnd = false
        state.hasBytesAvailable = false
        state.byteOffset = byteOffset
    }
}
