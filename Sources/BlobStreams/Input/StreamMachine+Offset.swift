import Foundation

extension StreamMachine {
    // MARK: Ending

    mutating func fail(_ error: BlobError, _ state: inout BlobStreamState) -> [Action] {
        guard state.phase != .closed, state.phase != .failed else { return [] }
        state.phase = .failed
        state.error = error.passing(
            layer: "BlobInputStream", operation: state.isOpenCompleted ? "read" : "open", locator: nil,
            byteOffset: state.byteOffset)
        (state.hasBytesAvailable, state.isRecovering) = (false, false)
        return self.endPass() + self.post(.errorOccurred) + [.ended]
    }

    mutating func end(_ state: inout BlobStreamState) -> [Action] {
        state.phase = .atEnd
        state.isAtEnd = true
        state.hasBytesAvailable = false
        state.byteCount = state.byteOffset
        return self.endPass() + self.post(.endEncountered)
    }

    /// Closes the stream permanently. Before opening it does nothing, unless `evenUnopened`.
    mutating func close(evenUnopened: Bool, _ state: inout BlobStreamState) -> [Action] {
        (self.refusal, self.lent) = (nil, nil)
        guard state.phase != .notOpen || evenUnopened else { return [] }
        (state.phase, self.watching) = (.closed, nil)
        state.hasBytesAvailable = false
        return self.endPass() + [.invalidate(self.events.removeAll()), .ended]
    }

    /// Releases the reader and wakes the threads that wait for it.
    mutating func endPass() -> [Action] {
        var actions = self.wakeWaiters()
        self.events.drop(.hasBytesAvailable)
        actions.append(.release(self.window))
        (self.window, self.ending) = (nil, nil)
        if let cancellation = self.pass.cancellation { actions.append(.cancel(cancellation)) }
        // A thread that is using the reader closes it itself.
        if !self.pass.isBusy, let reader = self.pass.reader { actions.append(self.closeAction(of: reader)) }
        self.pass = Pass()
        return actions
    }

    // MARK: The offset

    /// The next step in setting the offset.
    enum Setting {
        case over(Bool)
        /// The caller must start the first opening before.
        case start(Int)
        /// The stream reads from the new offset once the caller has started this opening.
        case run(Int)
        /// The calling thread uses the reader to skip bytes.
        case skip(Use, Int64)
        /// In synchronous mode: a new opening replaces the old one if it succeeds.
        case open(old: Pass)
        case wait
    }

    mutating func beginSetting(
        _ byteOffset: Int64, _ traits: BlobTraits, _ mode: BlobStreamMode, _ waiter: WaitSignal,
        _ state: inout BlobStreamState
    ) -> (Setting, [Action]) {
        self.refusal = nil
        switch state.phase {
        case .notOpen:
            state.byteOffset = byteOffset
            return (.over(true), [])
        case .failed, .closed: return (.over(false), [])
        case .opening where mode == .synchronous:
            if !self.pass.isStarted { return (.start(self.pass.id), []) }
            self.waiters.append((waiter, false))
            return (.wait, [])
        case .opening, .open, .atEnd: break
        }
        if byteOffset == state.byteOffset { return (.over(true), []) }
        if let byteCount = state.byteCount, byteOffset > byteCount { return (.over(false), []) }
        guard traits.contains(.repeatable) else { return (.over(false), []) }
        if self.pass.isOpenCompleted, byteOffset > state.byteOffset,
            !self.pass.isRandomAccess || byteOffset - state.byteOffset <= self.window?.count ?? 0
        {
            guard !self.pass.isBusy else {
                self.waiters.append((waiter, false))
                return (.wait, [])
            }
            let count = byteOffset - state.byteOffset
            let inWindow = Int(min(count, Int64(self.window?.count ?? 0)))
            self.window?.drop(inWindow)
            if self.window?.isEmpty ?? false { self.window = nil }
            state.byteOffset = byteOffset
            guard count > inWindow || self.window == nil else { return (.over(true), []) }
            return (self.beginUse().map { .skip($0, count - Int64(inWindow)) } ?? .over(true), [])
        }
        guard mode == .synchronous else {
            let actions = self.moveOffset(to: byteOffset, &state)
            return (.run(self.beginPass(at: byteOffset)), actions)
        }
        // Otherwise a reader in use and one that is being opened would be used at the same time.
        if !traits.contains(.concurrentReaders) {
            guard !self.pass.isBusy, !self.isOccupied else {
                self.waiters.append((waiter, false))
                return (.wait, [])
            }
            self.pass.isBusy = self.pass.reader != nil
            self.occupants.append(pthread_self())
        }
        return (.open(old: self.pass), [])
    }

    /// Replaces the old opening with a new one, unless the old one is no longer current or the length changed.
    mutating func swap(
        _ reader: Reader, neverBlocks: Bool, info: BlobInfo, at byteOffset: Int64, for oldPassID: Int,
        heldOld: Bool, cancellation: BlobCancellation, _ state: inout BlobStreamState
    ) -> (Use?, [Action]) {
        guard state.phase == .open || state.phase == .atEnd, self.pass.id == oldPassID,
            self.changeOfLength(info) == nil
        else { return (nil, []) }
        if heldOld { self.pass.isBusy = false }
        var actions = (heldOld ? self.released() : []) + self.moveOffset(to: byteOffset, &state)
        self.passCount += 1
        self.pass = Pass(
            id: self.passCount, byteOffset: byteOffset, cancellation: cancellation, reader: reader,
            neverBlocks: neverBlocks, isStarted: true)
        actions += self.completeOpening(info, &state)
        return (self.beginUse(), actions)
    }

    /// Continues with the old opening after the new one failed and its reader was closed.
    mutating func keepPass(_ passID: Int, heldOld: Bool) -> [Action] {
        let actions = heldOld ? self.released() : self.wakeWaiters()
        guard heldOld, self.pass.id == passID, self.pass.reader != nil else { return actions }
        defer { (self.pass.isBusy, self.pass.wasWoken) = (false, false) }
        return self.pass.wasWoken ? actions + [.look] : actions
    }

    mutating func moveOffset(to byteOffset: Int64, _ state: inout BlobStreamState) -> [Action] {
        let actions = self.endPass()
        self.events.drop(.endEncountered)
        if state.phase == .atEnd { state.phase = .open }
        state.isAtEnd = false
        state.hasBytesAvailable = false
        state.byteOffset = byteOffset
        return actions
    }
}
