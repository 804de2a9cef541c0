import Foundation

extension StreamMachine {
    enum Turn {
        /// The read returns this number of bytes, 0 at the end, or -1.
        case answer(Int)
        /// The caller must start the opening.
        case start(Int)
        /// The read returns this number after ``settle(_:)``; nil when the answer depends on that.
        case settle(Int?)
        /// The calling thread uses the reader from now on; `appended` bytes were taken from the window already.
        case use(Use, appended: Int)
        case wait
    }

    /// Begins a read: answers it from the window, or gives the reader to the calling thread.
    mutating func beginRead(
        into buffer: UnsafeMutableRawBufferPointer, _ waiter: WaitSignal?, _ state: inout BlobStreamState
    ) -> (Turn, [Action]) {
        (self.refusal, self.lent) = (nil, nil)
        switch state.phase {
        case .notOpen, .closed:
            self.refuse(state)
            return (.answer(-1), [])
        case .failed: return (.answer(-1), [])
        case .atEnd: return (.answer(0), [])
        case .open where buffer.isEmpty: return (.answer(0), [])
        case .opening, .open: break
        }
        guard self.pass.isStarted else { return (.start(self.pass.id), []) }
        var count = 0
        if state.phase == .open, let window {
            count = window.move(to: buffer)
            state.byteOffset += Int64(count)
            if !window.isEmpty { return (.answer(count), self.post(.hasBytesAvailable)) }
            self.window = nil
            self.wantsEvent = count > 0
        }
        // With bytes to return, the reader is used only if that makes no caller wait.
        let mayUse = count == 0 || self.pass.neverBlocks || state.byteOffset == state.byteCount
        if mayUse, !self.pass.isBusy, self.ending == nil, count > 0 || !self.pass.isParked || !self.pass.isLimited,
            let use = self.beginUse()
        {
            self.pass.isReading = true
            return (.use(use, appended: count), [])
        }
        if count > 0 { return (.settle(count), []) }
        if !self.pass.isBusy, self.ending != nil { return (.settle(nil), []) }
        if let waiter { self.waiters.append((waiter, true)) }
        return (.wait, [])
    }

    /// Lends the bytes in memory until the next call; nil when there are none, or while a thread uses the reader.
    mutating func lend(_ state: BlobStreamState, _ lend: (Reader) -> BlobLentBytes?) -> UnsafeRawBufferPointer? {
        (self.refusal, self.lent) = (nil, nil)
        guard state.phase == .open, !self.pass.isBusy else { return nil }
        if let window {
            self.lent = BlobLentBytes(window.bytes, ownedBy: window)
        } else if self.pass.isReadable, let reader = self.pass.reader {
            self.lent = lend(reader)
        }
        return self.lent?.bytes
    }

    /// Gives the reader to the calling thread to check whether bytes are available; nil when that is not needed now.
    mutating func beginLook(_ state: BlobStreamState) -> Use? {
        guard self.pass.neverBlocks, !self.pass.isReadable, self.window == nil, self.ending == nil else { return nil }
        // The thread that uses the reader may not be reading, so a check follows its use.
        guard !self.pass.isBusy else {
            self.pass.wasWoken = true
            return nil
        }
        return self.beginUse()
    }

    enum UseTurn {
        case use(Use)
        case wait
        case none
    }

    /// Gives the reader to the calling thread for something other than reading.
    mutating func beginUse(_ waiter: WaitSignal, _ state: BlobStreamState) -> UseTurn {
        guard state.phase == .open, self.pass.isOpenCompleted, let reader = self.pass.reader else { return .none }
        guard !self.pass.isBusy else {
            self.waiters.append((waiter, false))
            return .wait
        }
        self.pass.isBusy = true
        return .use(Use(reader, self.pass))
    }

    /// Takes the reader back.
    ///
    /// - Parameter opening: The info of the reader, if it is open now and was not known to be before.
    /// - Returns: True when ``settle(_:)`` has more to do.
    mutating func finish(
        _ use: Use, _ outcome: Outcome, opening info: BlobInfo?, _ state: inout BlobStreamState
    ) -> (goesOn: Bool, [Action]) {
        var actions = self.wakeWaiters()
        guard self.pass.id == use.passID else {
            return (false, actions + [self.closeAction(of: use.reader), .release(outcome.window)])
        }
        if self.pass.isReading, outcome.appended > 0 { self.wantsEvent = true }
        if self.pass.wasWoken { actions.append(.look) }
        self.pass.takeBack(outcome)
        state.byteOffset += Int64(outcome.appended)
        if let window = outcome.window { self.window = window }
        switch outcome.result {
        case .success(.bytes): break
        case .success(.end): self.ending = .success(())
        case .success(.notYet): break
        case .failure(let error): self.ending = .failure(error)
        }
        let goesOn: Bool
        let more: [Action]
        if let info, !self.pass.isOpenCompleted {
            (goesOn, more) = (true, self.completeOpening(info, &state))
        } else {
            (goesOn, more) = self.settle(&state)
        }
        if !more.isEmpty { actions += more }
        return (goesOn, actions)
    }

    /// Updates the state with the outcome of the last use of the reader, one step at a time, so that observers see
    /// each.
    mutating func settle(_ state: inout BlobStreamState) -> (goesOn: Bool, actions: [Action]) {
        guard !self.pass.isBusy, self.pass.reader != nil else { return (false, []) }
        if self.window == nil, let ending {
            if state.hasBytesAvailable {
                state.hasBytesAvailable = false
                return (true, [])
            }
            switch ending {
            case .success where self.pass.isOpenCompleted: return (false, self.end(&state))
            case .success: return (false, [])
            case .failure(let error): return (false, self.fail(error, &state))
            }
        }
        guard self.pass.isOpenCompleted, state.phase == .open else { return (false, []) }
        let had = state.hasBytesAvailable
        state.hasBytesAvailable = self.window != nil || self.pass.isReadable || !self.pass.neverBlocks
        guard state.hasBytesAvailable, self.wantsEvent || !had else { return (false, []) }
        self.wantsEvent = false
        return (false, self.post(.hasBytesAvailable))
    }

    /// Handles a call of the reader's waker.
    mutating func woken(_ id: Int) -> [Action] {
        guard self.pass.id == id else { return [] }
        self.pass.isParked = false
        guard !self.pass.isBusy else {
            self.pass.wasWoken = true
            return []
        }
        // Threads that wait to read check by themselves.
        let reads = self.waiters.contains { $0.reads }
        return reads ? self.wakeWaiters() : [.look]
    }

    mutating func completeOpening(_ info: BlobInfo, _ state: inout BlobStreamState) -> [Action] {
        if let error = self.changeOfLength(info) { return self.fail(error, &state) }
        (self.pass.isOpenCompleted, self.pass.isRandomAccess) = (true, info.isRandomAccess)
        state.byteCount = info.byteCount
        self.validator = self.validator ?? info.validator
        self.declaredByteCount = self.declaredByteCount ?? info.byteCount
        guard state.phase == .opening else { return [] }  // Otherwise the offset was set.
        state.phase = .open
        state.isOpenCompleted = true
        return self.post(.openCompleted)
    }

    /// The error for content whose length differs from that of the first opening, for sources without a validator.
    func changeOfLength(_ info: BlobInfo) -> BlobError? {
        guard self.validator == nil, let old = self.declaredByteCount, let new = info.byteCount, old != new else {
            return nil
        }
        return BlobError(.changed, "The source had \(old) bytes when it was opened first, and has \(new) now.")
    }
}
