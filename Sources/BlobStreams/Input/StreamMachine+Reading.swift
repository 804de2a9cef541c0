import Foundation

extension StreamMachine {
    /// The next step of a read.
    enum ReadStep {
        /// The read returns this number of bytes, 0 at the end, or -1.
        case done(Int)
        /// The caller must start the opening.
        case start(Int)
        /// The read returns this number after ``publishOutcome(_:)``; nil when its result depends on that.
        case publishOutcome(Int?)
        /// The calling thread uses the reader from now on; `appended` bytes were taken from the window already.
        case use(Use, appended: Int)
        case wait
    }

    /// Begins a read: completes it from the window, or gives the reader to the calling thread.
    mutating func beginRead(
        into buffer: UnsafeMutableRawBufferPointer, _ waiter: WaitSignal?, _ state: inout BlobStreamState
    ) -> (ReadStep, [Action]) {
        (self.refusal, self.lent, self.isUnread) = (nil, nil, false)
        switch state.phase {
        case .notOpen, .closed:
            self.refuse(state)
            return (.done(-1), [])
        case .failed: return (.done(-1), [])
        case .atEnd: return (.done(0), [])
        case .open where buffer.isEmpty: return (.done(0), [])
        case .opening, .open: break
        }
        guard self.session.isStarted else { return (.start(self.session.id), []) }
        var count = 0
        if state.phase == .open, let window {
            count = window.move(to: buffer)
            state.byteOffset += Int64(count)
            if !window.isEmpty { return (.done(count), self.post(.hasBytesAvailable)) }
            self.window = nil
            self.wantsEvent = count > 0
        }
        // With bytes to return, the reader is used only if that makes no caller wait.
        let mayUse = count == 0 || self.session.neverBlocks || state.byteOffset == state.byteCount
        if mayUse, !self.session.isBusy, self.ending == nil,
            count > 0 || !self.session.isParked || !self.session.isLimited, let use = self.beginUse()
        {
            self.session.isReading = true
            return (.use(use, appended: count), [])
        }
        if count > 0 { return (.publishOutcome(count), []) }
        if !self.session.isBusy, self.ending != nil { return (.publishOutcome(nil), []) }
        if let waiter { self.waiters.append((waiter, true)) }
        return (.wait, [])
    }

    /// Lends the bytes in memory until the next call; nil when there are none, or while a thread uses the reader.
    mutating func lend(_ state: BlobStreamState, _ lend: (Reader) -> BlobBytes?) -> UnsafeRawBufferPointer? {
        (self.refusal, self.lent) = (nil, nil)
        guard state.phase == .open, !self.session.isBusy else { return nil }
        if let window {
            self.lent = BlobBytes(window.bytes, ownedBy: window)
        } else if self.session.isReadable, let reader = self.session.reader {
            self.lent = lend(reader)
        }
        return self.lent?.bytes
    }

    /// Gives the reader to the calling thread to check whether bytes are available; nil when that is not needed now.
    mutating func beginCheckForBytes(_ state: BlobStreamState) -> Use? {
        guard self.session.neverBlocks, !self.session.isReadable, self.window == nil, self.ending == nil else {
            return nil
        }
        // The thread that uses the reader may not be reading, so a check follows its use.
        guard !self.session.isBusy else {
            self.session.wasWoken = true
            return nil
        }
        return self.beginUse()
    }

    /// Takes the reader back.
    ///
    /// - Parameter opening: The info of the reader, if it is open now and was not known to be before.
    /// - Returns: True when ``publishOutcome(_:)`` has more to do.
    mutating func finish(
        _ use: Use, _ outcome: Outcome, opening info: BlobInfo?, _ state: inout BlobStreamState
    ) -> (hasMore: Bool, [Action]) {
        var actions = self.wakeWaiters()
        guard self.session.id == use.sessionID else {
            return (false, actions + [self.beginClosing(use.reader), .release(outcome.window)])
        }
        if self.session.isReading, outcome.appended > 0 { self.wantsEvent = true }
        if self.session.wasWoken { actions.append(.checkForBytes) }
        self.session.endUse(outcome)
        state.byteOffset += Int64(outcome.appended)
        if let window = outcome.window { self.window = window }
        switch outcome.result {
        case .success(.bytes): break
        case .success(.end): self.ending = .success(())
        case .success(.notYet): break
        case .failure(let error): self.ending = .failure(error)
        }
        let hasMore: Bool
        let more: [Action]
        if let info, !self.session.isOpenCompleted {
            (hasMore, more) = (true, self.completeOpening(info, &state))
        } else {
            (hasMore, more) = self.publishOutcome(&state)
        }
        if !more.isEmpty { actions += more }
        return (hasMore, actions)
    }

    /// Updates the state with the outcome of the last use of the reader, one step at a time, so that observers see
    /// each.
    mutating func publishOutcome(_ state: inout BlobStreamState) -> (hasMore: Bool, actions: [Action]) {
        guard !self.session.isBusy, self.session.reader != nil else { return (false, []) }
        if self.window == nil, let ending {
            if state.hasBytesAvailable {
                state.hasBytesAvailable = false
                return (true, [])
            }
            switch ending {
            case .success where self.session.isOpenCompleted: return (false, self.end(&state))
            case .success: return (false, [])
            case .failure(let error): return (false, self.fail(error, &state))
            }
        }
        guard self.session.isOpenCompleted, state.phase == .open else { return (false, []) }
        let hadBytes = state.hasBytesAvailable
        state.hasBytesAvailable = self.window != nil || self.session.isReadable || !self.session.neverBlocks
        guard state.hasBytesAvailable, self.wantsEvent || !hadBytes else { return (false, []) }
        self.wantsEvent = false
        return (false, self.post(.hasBytesAvailable))
    }

    /// Handles a call of the reader's waker.
    mutating func woken(_ id: Int) -> [Action] {
        guard self.session.id == id else { return [] }
        self.session.isParked = false
        guard !self.session.isBusy else {
            self.session.wasWoken = true
            return []
        }
        // Threads that wait to read check by themselves.
        let hasWaitingRead = self.waiters.contains { $0.isReading }
        return hasWaitingRead ? self.wakeWaiters() : [.checkForBytes]
    }

    mutating func completeOpening(_ info: BlobInfo, _ state: inout BlobStreamState) -> [Action] {
        if let error = self.lengthChangeError(info) { return self.fail(error, &state) }
        (self.session.isOpenCompleted, self.session.isRandomAccess) = (true, info.isRandomAccess)
        state.byteCount = info.byteCount
        self.validator = self.validator ?? info.validator
        self.declaredByteCount = self.declaredByteCount ?? info.byteCount
        guard state.phase == .opening else { return [] }  // Otherwise the offset was set.
        state.phase = .open
        state.isOpenCompleted = true
        return self.post(.openCompleted)
    }

    /// The error for content whose length differs from that of the first opening, for sources without a validator.
    func lengthChangeError(_ info: BlobInfo) -> BlobError? {
        guard self.validator == nil, let old = self.declaredByteCount, let new = info.byteCount, old != new else {
            return nil
        }
        return BlobError(.changed, "The source had \(old) bytes when it was opened first, and has \(new) now.")
    }
}
