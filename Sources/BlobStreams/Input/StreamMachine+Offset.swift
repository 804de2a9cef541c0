import Foundation

extension StreamMachine {
    // MARK: Ending

    mutating func fail(_ error: BlobError, _ state: inout BlobStreamState) -> [Action] {
        guard state.phase != .closed, state.phase != .failed else { return [] }
        state.phase = .failed
        state.error = error.passing(
            layer: "BlobInputStream", operation: state.isOpenCompleted ? "read" : "open", locator: nil,
            byteOffset: state.byteOffset)
        state.hasBytesAvailable = false
        return self.endSession(&state) + self.post(.errorOccurred) + [.ended]
    }

    /// Cancels the job: fails the stream, unless it is at its end, which stays; it can then not be opened again.
    mutating func cancel(_ state: inout BlobStreamState) -> [Action] {
        self.isCancelled = true
        return state.phase == .atEnd ? [] : self.fail(Self.cancellationError, &state)
    }

    static var cancellationError: BlobError { BlobError(.cancelled, "The job was cancelled.") }

    mutating func end(_ state: inout BlobStreamState) -> [Action] {
        state.phase = .atEnd
        state.isAtEnd = true
        state.hasBytesAvailable = false
        state.byteCount = state.byteOffset
        return self.endSession(&state) + self.post(.endEncountered)
    }

    /// Closes the stream permanently. Before opening it does nothing, unless `evenUnopened`.
    mutating func close(evenUnopened: Bool, _ state: inout BlobStreamState) -> [Action] {
        (self.refusal, self.lent) = (nil, nil)
        guard state.phase != .notOpen || evenUnopened else { return [] }
        (state.phase, self.cancellationRegistration) = (.closed, nil)
        state.hasBytesAvailable = false
        return self.endSession(&state) + [.invalidate(self.events.close()), .ended]
    }

    /// Ends the current opening: releases its reader and wakes the threads that wait for it.
    mutating func endSession(_ state: inout BlobStreamState) -> [Action] {
        var actions = self.wakeWaiters()
        state.interruption = nil
        self.events.drop(.hasBytesAvailable)
        actions.append(.release(self.window))
        (self.window, self.ending) = (nil, nil)
        if let cancellation = self.session.cancellation { actions.append(.cancel(cancellation)) }
        // A thread that is using the reader closes it itself.
        if !self.session.isBusy, let reader = self.session.reader { actions.append(self.beginClosing(reader)) }
        self.session = Session()
        return actions
    }

    // MARK: The offset

    /// The next step in setting the offset.
    enum OffsetStep {
        /// The offset was set; false when it was refused.
        case done(Bool)
        /// The caller must start this opening, then try again.
        case start(Int)
        /// The stream reads from the new offset once the caller has started this opening.
        case restart(Int)
        /// The calling thread uses the reader to skip bytes.
        case skip(Use, Int64)
        /// In synchronous mode: a new opening replaces the old one if it succeeds.
        case replace(old: Session)
        case wait
    }

    mutating func beginSettingOffset(
        _ byteOffset: Int64, _ traits: BlobTraits, _ mode: BlobStreamMode, _ waiter: WaitSignal,
        _ state: inout BlobStreamState
    ) -> (OffsetStep, [Action]) {
        self.refusal = nil
        switch state.phase {
        case .notOpen:
            state.byteOffset = byteOffset
            return (.done(true), [])
        case .failed, .closed: return (.done(false), [])
        case .opening where mode == .synchronous:
            if !self.session.isStarted { return (.start(self.session.id), []) }
            self.waiters.append((waiter, false))
            return (.wait, [])
        case .opening, .open, .atEnd: break
        }
        if byteOffset == state.byteOffset { return (.done(true), self.repostBytesAvailable(state)) }
        guard !self.isCancelled else { return (.done(false), []) }
        if let byteCount = state.byteCount, byteOffset > byteCount { return (.done(false), []) }
        guard traits.contains(.repeatable) else { return (.done(false), []) }
        if self.session.isOpenCompleted, byteOffset > state.byteOffset,
            !self.session.isRandomAccess || byteOffset - state.byteOffset <= self.window?.count ?? 0
        {
            guard !self.session.isBusy else {
                self.waiters.append((waiter, false))
                return (.wait, [])
            }
            let count = byteOffset - state.byteOffset
            let inWindow = Int(min(count, Int64(self.window?.count ?? 0)))
            self.window?.drop(inWindow)
            self.isUnread = true
            if self.window?.isEmpty ?? false { self.window = nil }
            state.byteOffset = byteOffset
            guard count > inWindow || self.window == nil else { return (.done(true), self.repostBytesAvailable(state)) }
            self.wantsEvent = true
            return (self.beginUse().map { .skip($0, count - Int64(inWindow)) } ?? .done(true), [])
        }
        guard mode == .synchronous else {
            let actions = self.moveOffset(to: byteOffset, &state)
            return (.restart(self.beginSession(at: byteOffset)), actions)
        }
        // Otherwise a reader in use and one that is being opened would be used at the same time.
        if !traits.contains(.concurrentReaders) {
            guard !self.session.isBusy, !self.isOtherThreadChangingReaders else {
                self.waiters.append((waiter, false))
                return (.wait, [])
            }
            self.session.isBusy = self.session.reader != nil
            self.threadsChangingReaders.append(pthread_self())
        }
        return (.replace(old: self.session), [])
    }

    /// Repeats the event for available bytes: a delegate may set the offset in place of reading.
    private mutating func repostBytesAvailable(_ state: BlobStreamState) -> [Action] {
        state.hasBytesAvailable ? self.post(.hasBytesAvailable) : []
    }

    /// Replaces the old opening with a new one, unless the old one is no longer current or the length changed.
    ///
    /// - Parameter isOldReaderReserved: True when ``beginSettingOffset(_:_:_:_:_:)`` reserved the old reader for the
    ///   calling thread, because the source supports only one reader at a time.
    mutating func replaceReader(
        with reader: Reader, neverBlocks: Bool, info: BlobInfo, at byteOffset: Int64, for oldSessionID: Int,
        isOldReaderReserved: Bool, cancellation: BlobCancellation, _ state: inout BlobStreamState
    ) -> (Use?, [Action]) {
        guard state.phase == .open || state.phase == .atEnd, self.session.id == oldSessionID,
            self.lengthChangeError(info) == nil
        else { return (nil, []) }
        if isOldReaderReserved { self.session.isBusy = false }
        var actions = (isOldReaderReserved ? self.endReaderChange() : []) + self.moveOffset(to: byteOffset, &state)
        self.sessionCount += 1
        self.session = Session(
            id: self.sessionCount, byteOffset: byteOffset, cancellation: cancellation, reader: reader,
            neverBlocks: neverBlocks, isStarted: true)
        actions += self.completeOpening(info, &state)
        return (self.beginUse(), actions)
    }

    /// Continues with the old opening after the new one failed and its reader was closed.
    mutating func keepSession(_ sessionID: Int, isOldReaderReserved: Bool) -> [Action] {
        let actions = isOldReaderReserved ? self.endReaderChange() : self.wakeWaiters()
        guard isOldReaderReserved, self.session.id == sessionID, self.session.reader != nil else { return actions }
        defer { (self.session.isBusy, self.session.wasWoken) = (false, false) }
        return self.session.wasWoken ? actions + [.checkForBytes] : actions
    }

    mutating func moveOffset(to byteOffset: Int64, _ state: inout BlobStreamState) -> [Action] {
        let actions = self.endSession(&state)
        self.events.drop(.endEncountered)
        self.isUnread = true
        if state.phase == .atEnd { state.phase = .open }
        state.isAtEnd = false
        state.hasBytesAvailable = false
        state.byteOffset = byteOffset
        return actions
    }
}
