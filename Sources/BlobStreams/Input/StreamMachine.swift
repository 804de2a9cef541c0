import Foundation

/// The state machine of a ``BlobInputStream``, without threads: events in, actions out.
///
/// A value guarded by the stream's lock, together with the ``BlobStreamState`` that the stream publishes: every event
/// changes both, and the actions that it returns are performed after the lock is released. One thread at a time uses
/// the reader: the thread to which an event handed it.
struct StreamMachine<Reader: AnyObject> {
    /// One opening of the source, and the reader that it produces.
    struct Session {
        enum Step {
            /// No thread has started to open the reader.
            case requested(byteOffset: Int64)
            /// A thread is opening the reader.
            case opening
            /// No thread is using the reader. It may have bytes in memory, to be read or lent.
            case idle(isReadable: Bool)
            /// A thread is using the reader, for a read or to check for bytes. The waker may have been called
            /// meanwhile.
            case inUse(isReading: Bool, wasWoken: Bool)
            /// The reader had nothing to read, and will call the stream's waker. A limit may apply to the wait.
            case parked(isLimited: Bool)
        }

        let id: Int
        let cancellation: BlobCancellation
        // Changed in place, to avoid reference counting.
        fileprivate(set) var step: Step
        /// Nil until the reader is open.
        fileprivate var reader: Reader?
        fileprivate(set) var neverBlocks = false
        /// Nil until the opening is completed.
        fileprivate(set) var isRandomAccess: Bool?

        fileprivate var isOpenCompleted: Bool { self.isRandomAccess != nil }

        /// True while a thread uses the reader.
        var isInUse: Bool { if case .inUse = self.step { true } else { false } }

        /// True while a thread uses the reader for a read.
        var isReading: Bool { if case .inUse(isReading: true, _) = self.step { true } else { false } }

        /// True if there is a reader that no thread is using.
        fileprivate var isUnused: Bool {
            switch self.step {
            case .idle, .parked: true
            case .requested, .opening, .inUse: false
            }
        }

        fileprivate var isRequested: Bool { if case .requested = self.step { true } else { false } }
        fileprivate var isReadable: Bool { if case .idle(isReadable: true) = self.step { true } else { false } }

        /// Hands the reader to the calling thread.
        fileprivate mutating func use(isReading: Bool) -> Use? {
            guard self.isUnused, let reader = self.reader else { return nil }
            self.step = .inUse(isReading: isReading, wasWoken: false)
            return Use(
                sessionID: self.id, reader: reader, neverBlocks: self.neverBlocks,
                isOpenCompleted: self.isOpenCompleted)
        }

        /// Records a call of the waker, or a need to check for bytes, while a thread is using the reader.
        fileprivate mutating func wake() {
            if case .inUse(let isReading, _) = self.step { self.step = .inUse(isReading: isReading, wasWoken: true) }
        }
    }

    enum Action {
        case wake([WaitSignal])
        /// Reports that no more bytes will be read.
        case ended
        case signal([RunLoopSource])
        case invalidate([RunLoopSource])
        case cancel(BlobCancellation)
        case close(Reader)
        /// Checks whether bytes are available, on a thread that does not wait.
        case checkForBytes
        case release(Window?)
    }

    /// The use of the reader by the calling thread, which ``finish(_:_:opening:_:)`` ends.
    struct Use {
        let sessionID: Int
        let reader: Reader
        /// True if the reader never blocks.
        let neverBlocks: Bool
        let isOpenCompleted: Bool
    }

    /// The outcome of a use of the reader.
    struct Outcome {
        /// The number of bytes that the caller of a read received.
        var appended = 0
        /// The bytes for later calls.
        var window: Window?
        /// True if the reader has bytes in memory.
        var isReadable = false
        /// True if a limit applies to a wait that begins now.
        var isLimited = false
        /// The result of the last read.
        var result = Result<BlobReadResult, BlobError>.success(.bytes)
    }

    /// The current session; nil before opening, at the end, after an error and once closed, which the published state
    /// distinguishes.
    private(set) var session: Session?
    private var window: Window?
    private(set) var startOffset: Int64 = 0
    private(set) var validator: BlobValidator?
    /// The error of the last call, if the call was refused.
    private(set) var refusal: BlobError?
    var events = StreamEvents()
    /// The lent bytes, retained until the next call of the stream, which may come after the reader has been released.
    private var lentBytes: BlobBytes?
    private var declaredByteCount: Int64?
    /// The end of the bytes, or an error, which is published once the window is empty.
    private var ending: Result<Void, BlobError>?
    private var sessionCount = 0
    /// True if a read returned bytes, or the offset was set, since the last event for available bytes.
    private var wantsEvent = false
    /// True once the job has been cancelled; remembered for a stream at its end, which a cancellation does not change.
    private var isCancelled = false
    /// True while no read has begun since the stream was opened or its offset was set.
    private(set) var isUnread = true
    /// The signals of waiting threads; `isReading` is true for a thread that waits to read.
    private var waiters: [(signal: WaitSignal, isReading: Bool)] = []
    /// The registration of the cancellation handler, until the stream is closed.
    private var cancellationRegistration: BlobRegistration?

    // MARK: Opening

    /// Opens the stream; at its end, opens it again at its first offset.
    ///
    /// - Parameter isRepeatable: True if the source can be opened again.
    /// - Returns: The opening to start; nil if no opening is needed.
    mutating func open(isRepeatable: Bool, _ state: inout BlobStreamState) -> (sessionID: Int?, [Action]) {
        self.refusal = nil
        switch state.phase {
        case .notOpen: self.startOffset = state.byteOffset
        case .atEnd where self.isCancelled: return (nil, self.fail(Self.cancellationError, &state))
        case .atEnd where isRepeatable:
            (state.byteOffset, self.isUnread) = (self.startOffset, true)
            self.events.drop(.endEncountered)
        case .atEnd:
            let message = "The stream is at its end, and its source cannot be read again."
            return (nil, self.fail(BlobError(.unsupported, message), &state))
        case .open where state.byteOffset != self.startOffset:
            // The caller expects the start; continuing from here would lose bytes silently.
            let message = "The stream is open and has already been read; read an unopened copy of it instead."
            return (nil, self.fail(BlobError(.unsupported, message), &state))
        case .open, .opening, .failed, .closed: return (nil, [])
        }
        state.phase = .opening
        (state.isOpenCompleted, state.isAtEnd) = (false, false)
        return (self.beginSession(at: state.byteOffset), [])
    }

    /// Makes a new opening the current one.
    private mutating func beginSession(at byteOffset: Int64) -> Int {
        self.sessionCount += 1
        self.session = Session(
            id: self.sessionCount, cancellation: BlobCancellation(), step: .requested(byteOffset: byteOffset))
        return self.sessionCount
    }

    /// Assigns the opening to the calling thread, unless another thread has taken it or it is no longer the current
    /// one.
    mutating func start(
        _ id: Int
    ) -> (byteOffset: Int64, validator: BlobValidator?, cancellation: BlobCancellation)? {
        guard let session, session.id == id, case .requested(let byteOffset) = session.step else { return nil }
        self.session?.step = .opening
        return (byteOffset, self.validator, session.cancellation)
    }

    /// Accepts the result of an opening.
    ///
    /// - Returns: The reader, if the opening is still the current one: the calling thread must check for bytes.
    mutating func opened(
        _ id: Int, _ result: Result<Reader, BlobError>, neverBlocks: Bool, _ state: inout BlobStreamState
    ) -> (Use?, [Action]) {
        let isCurrent = self.session?.id == id
        switch result {
        case .success(let reader):
            guard isCurrent else { return (nil, [.close(reader)]) }
            self.session?.step = .idle(isReadable: false)
            self.session?.reader = reader
            self.session?.neverBlocks = neverBlocks
            return (self.session?.use(isReading: false), [])
        case .failure(let error): return (nil, isCurrent ? self.fail(error, &state) : [])
        }
    }

    private mutating func completeOpening(_ info: BlobInfo, _ state: inout BlobStreamState) -> [Action] {
        if let error = self.lengthChangeError(info) { return self.fail(error, &state) }
        self.session?.isRandomAccess = info.isRandomAccess
        state.byteCount = info.byteCount
        self.validator = self.validator ?? info.validator
        self.declaredByteCount = self.declaredByteCount ?? info.byteCount
        guard state.phase == .opening else { return [] }  // Otherwise the offset was set.
        state.phase = .open
        state.isOpenCompleted = true
        return self.post(.openCompleted)
    }

    /// The error if the length differs from the first opening's, for sources without a validator.
    private func lengthChangeError(_ info: BlobInfo) -> BlobError? {
        guard self.validator == nil, let old = self.declaredByteCount, let new = info.byteCount, old != new else {
            return nil
        }
        return BlobError(.changed, "The source had \(old) bytes when it was first opened, but has \(new) now.")
    }

    // MARK: Events, uses and waiters

    /// Stores the registration of the cancellation handler, unless one is already stored.
    mutating func keep(_ registration: BlobRegistration) {
        self.cancellationRegistration = self.cancellationRegistration ?? registration
    }

    var isCancellable: Bool { self.cancellationRegistration != nil }

    /// Records an event of a reader, unless its opening is over.
    ///
    /// - Returns: True if the event is part of the state.
    func record(_ event: BlobEvent, of session: BlobCancellation, _ state: inout BlobStreamState) -> Bool {
        guard self.session?.cancellation === session else { return false }
        switch event.kind {
        case .invalidated: state.interruption = .invalidated
        case .recovering: state.interruption = .recovering
        case .recovered: (state.interruption, state.recoveryCount) = (nil, state.recoveryCount + 1)
        default: return false
        }
        return true
    }

    private mutating func post(_ event: Stream.Event) -> [Action] {
        let sources = self.events.post(event)
        return sources.isEmpty ? [] : [.signal(sources)]
    }

    private mutating func wakeWaiters() -> [Action] {
        guard !self.waiters.isEmpty else { return [] }
        defer { self.waiters = [] }
        return [.wake(self.waiters.map(\.signal))]
    }

    private mutating func refuse(_ state: BlobStreamState) {
        let step = state.phase == .closed ? "closed" : "not open"
        self.refusal = BlobError(.closed, "The stream is \(step).", operation: "read", byteOffset: state.byteOffset)
    }

    // MARK: Reading

    /// The next step of a read.
    enum ReadStep {
        /// The read returns this number of bytes, 0 at the end, or -1.
        case done(Int)
        /// The caller must start the opening.
        case start(Int)
        /// The read returns this number after ``publishOutcome(_:)``; nil if its result depends on that call.
        case publishOutcome(Int?)
        /// The calling thread uses the reader from now on; `appended` bytes were already taken from the window.
        case use(Use, appended: Int)
        case wait
    }

    /// Begins a read: completes it from the window, or hands the reader to the calling thread.
    mutating func beginRead(
        into buffer: UnsafeMutableRawBufferPointer, _ waiter: WaitSignal?, _ state: inout BlobStreamState
    ) -> (ReadStep, [Action]) {
        (self.refusal, self.lentBytes, self.isUnread) = (nil, nil, false)
        switch state.phase {
        case .notOpen, .closed:
            self.refuse(state)
            return (.done(-1), [])
        case .failed: return (.done(-1), [])
        case .atEnd: return (.done(0), [])
        case .open where buffer.isEmpty: return (.done(0), [])
        case .opening, .open: break
        }
        var count = 0
        if state.phase == .open, let window {
            count = window.move(to: buffer)
            state.byteOffset += Int64(count)
            if !window.isEmpty { return (.done(count), self.post(.hasBytesAvailable)) }
            self.window = nil
            self.wantsEvent = count > 0
        }
        if self.session?.isRequested == true, let id = self.session?.id { return (.start(id), []) }
        // With bytes to return, the reader is used only if no caller has to wait for it.
        let mayUse = count == 0 || self.session?.neverBlocks == true || state.byteOffset == state.byteCount
        if mayUse, self.ending == nil, count > 0 || !self.mustWaitForWaker,
            let use = self.session?.use(isReading: true)
        {
            return (.use(use, appended: count), [])
        }
        if count > 0 { return (.publishOutcome(count), []) }
        if self.session?.isInUse == false, self.ending != nil { return (.publishOutcome(nil), []) }
        if let waiter { self.waiters.append((waiter, true)) }
        return (.wait, [])
    }

    private var mustWaitForWaker: Bool {
        if case .parked(isLimited: true) = self.session?.step { true } else { false }
    }

    /// Lends the bytes in memory until the next call; nil if no bytes are in memory, or while a thread uses the reader.
    mutating func lend(_ state: BlobStreamState, _ lend: (Reader) -> BlobBytes?) -> UnsafeRawBufferPointer? {
        (self.refusal, self.lentBytes) = (nil, nil)
        guard state.phase == .open, self.session?.isInUse == false else { return nil }
        if let window {
            self.lentBytes = BlobBytes(window.bytes, ownedBy: window)
        } else if self.session?.isReadable == true {
            self.lentBytes = self.session?.reader.flatMap(lend)
        }
        return self.lentBytes?.bytes
    }

    /// Hands the reader to the calling thread to check whether bytes are available; nil if no check is needed now.
    mutating func beginCheckForBytes(_ state: BlobStreamState) -> Use? {
        guard self.session?.neverBlocks == true, self.session?.isReadable == false, self.window == nil,
            self.ending == nil
        else { return nil }
        // The thread that uses the reader may not be reading, so a check follows its use.
        self.session?.wake()
        return self.session?.use(isReading: false)
    }

    /// Ends a use of the reader.
    ///
    /// - Parameter opening: The info of the reader, if it is open now and was not known to be before.
    /// - Returns: True if ``publishOutcome(_:)`` has more to do.
    mutating func finish(
        _ use: Use, _ outcome: Outcome, opening info: BlobInfo?, _ state: inout BlobStreamState
    ) -> (hasMore: Bool, [Action]) {
        var actions = self.wakeWaiters()
        guard self.session?.id == use.sessionID, case .inUse(let isReading, let wasWoken) = self.session?.step else {
            return (false, actions + [.close(use.reader), .release(outcome.window)])
        }
        if isReading, outcome.appended > 0 { self.wantsEvent = true }
        if wasWoken { actions.append(.checkForBytes) }
        var step = Session.Step.idle(isReadable: outcome.isReadable)
        switch outcome.result {
        case .success(.bytes): break
        case .success(.end): self.ending = .success(())
        case .success(.notYet): if !wasWoken { step = .parked(isLimited: outcome.isLimited) }
        case .failure(let error): self.ending = .failure(error)
        }
        self.session?.step = step
        state.byteOffset += Int64(outcome.appended)
        if let window = outcome.window { self.window = window }
        let hasMore: Bool
        let more: [Action]
        if let info, self.session?.isOpenCompleted == false {
            (hasMore, more) = (true, self.completeOpening(info, &state))
        } else {
            (hasMore, more) = self.publishOutcome(&state)
        }
        if !more.isEmpty { actions += more }
        return (hasMore, actions)
    }

    /// Updates the state with the outcome of the last use of the reader, one step at a time, so that observers receive
    /// each step.
    mutating func publishOutcome(_ state: inout BlobStreamState) -> (hasMore: Bool, actions: [Action]) {
        guard self.session?.isUnused == true else { return (false, []) }
        let isOpenCompleted = self.session?.isOpenCompleted == true
        if self.window == nil, let ending {
            if state.hasBytesAvailable {
                state.hasBytesAvailable = false
                return (true, [])
            }
            switch ending {
            case .success where isOpenCompleted: return (false, self.end(&state))
            case .success: return (false, [])
            case .failure(let error): return (false, self.fail(error, &state))
            }
        }
        guard isOpenCompleted, state.phase == .open else { return (false, []) }
        let hadBytes = state.hasBytesAvailable
        state.hasBytesAvailable =
            self.window != nil || self.session?.isReadable == true || self.session?.neverBlocks == false
        guard state.hasBytesAvailable, self.wantsEvent || !hadBytes else { return (false, []) }
        self.wantsEvent = false
        return (false, self.post(.hasBytesAvailable))
    }

    /// Handles a call of the reader's waker.
    mutating func readerDidWake(_ id: Int) -> [Action] {
        guard self.session?.id == id else { return [] }
        guard self.session?.isInUse == false else {
            self.session?.wake()
            return []
        }
        if case .parked = self.session?.step { self.session?.step = .idle(isReadable: false) }
        // Threads that wait to read check for themselves.
        let hasWaitingRead = self.waiters.contains { $0.isReading }
        return hasWaitingRead ? self.wakeWaiters() : [.checkForBytes]
    }

    // MARK: Ending

    mutating func fail(_ error: BlobError, _ state: inout BlobStreamState) -> [Action] {
        guard state.phase != .closed, state.phase != .failed else { return [] }
        state.phase = .failed
        state.error = error.passing(
            layer: "BlobInputStream", operation: state.isOpenCompleted ? "read" : "open", locator: nil,
            byteOffset: state.byteOffset)
        state.hasBytesAvailable = false
        return [.ended] + self.endSession(&state) + self.post(.errorOccurred)
    }

    /// Cancels the job: fails the stream, unless it is at its end; it then remains there and cannot be opened again.
    mutating func cancel(_ state: inout BlobStreamState) -> [Action] {
        self.isCancelled = true
        return state.phase == .atEnd ? [] : self.fail(Self.cancellationError, &state)
    }

    private static var cancellationError: BlobError { BlobError(.cancelled, "The job was cancelled.") }

    private mutating func end(_ state: inout BlobStreamState) -> [Action] {
        state.phase = .atEnd
        state.isAtEnd = true
        state.hasBytesAvailable = false
        state.byteCount = state.byteOffset
        return self.endSession(&state) + self.post(.endEncountered)
    }

    /// Closes the stream permanently. Before opening, does nothing unless `includingUnopened`.
    mutating func close(includingUnopened: Bool, _ state: inout BlobStreamState) -> [Action] {
        (self.refusal, self.lentBytes) = (nil, nil)
        guard state.phase != .notOpen || includingUnopened else { return [] }
        (state.phase, self.cancellationRegistration) = (.closed, nil)
        state.hasBytesAvailable = false
        return [.ended] + self.endSession(&state) + [.invalidate(self.events.close())]
    }

    /// Ends the current opening: releases its reader and wakes the threads that wait for it.
    private mutating func endSession(_ state: inout BlobStreamState) -> [Action] {
        var actions = self.wakeWaiters()
        state.interruption = nil
        self.events.drop(.hasBytesAvailable)
        actions.append(.release(self.window))
        (self.window, self.ending) = (nil, nil)
        if let session {
            actions.append(.cancel(session.cancellation))
            // A thread that opens or uses the reader closes it itself.
            if session.isUnused, let reader = session.reader { actions.append(.close(reader)) }
        }
        self.session = nil
        return actions
    }

    // MARK: The offset

    /// The next step in setting the offset.
    enum OffsetStep {
        /// The offset was set; false if it was refused.
        case done(Bool)
        /// The caller must start this opening, then try again.
        case start(Int)
        /// The stream reads from the new offset once the caller has started this opening.
        case restart(Int)
        /// The calling thread uses the reader to skip bytes.
        case skip(Use, Int64)
        /// In synchronous mode: the caller opens another reader, which replaces this session's if it succeeds. A
        /// stream at its end has no session.
        case replace(Int?)
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
            if let session, session.isRequested { return (.start(session.id), []) }
            self.waiters.append((waiter, false))
            return (.wait, [])
        case .opening, .open, .atEnd: break
        }
        if byteOffset == state.byteOffset { return (.done(true), self.repostBytesAvailable(state)) }
        guard !self.isCancelled else { return (.done(false), []) }
        if let byteCount = state.byteCount, byteOffset > byteCount { return (.done(false), []) }
        guard traits.contains(.repeatable) else { return (.done(false), []) }
        if let isRandomAccess = self.session?.isRandomAccess, byteOffset > state.byteOffset,
            !isRandomAccess || byteOffset - state.byteOffset <= self.window?.count ?? 0
        {
            guard self.session?.isInUse == false else {
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
            let use = self.session?.use(isReading: false)
            return (use.map { .skip($0, count - Int64(inWindow)) } ?? .done(true), [])
        }
        guard mode == .synchronous else {
            let actions = self.moveOffset(to: byteOffset, &state)
            return (.restart(self.beginSession(at: byteOffset)), actions)
        }
        return (.replace(self.session?.id), [])
    }

    /// Repeats the event for available bytes: a delegate may set the offset instead of reading.
    private mutating func repostBytesAvailable(_ state: BlobStreamState) -> [Action] {
        state.hasBytesAvailable ? self.post(.hasBytesAvailable) : []
    }

    /// Replaces the old opening with a new one, unless the old one is no longer current or the length changed.
    mutating func replaceReader(
        with reader: Reader, neverBlocks: Bool, info: BlobInfo, at byteOffset: Int64, for oldSessionID: Int?,
        cancellation: BlobCancellation, _ state: inout BlobStreamState
    ) -> (Use?, [Action]) {
        guard state.phase == .open || state.phase == .atEnd, self.session?.id == oldSessionID,
            self.lengthChangeError(info) == nil
        else { return (nil, []) }
        var actions = self.moveOffset(to: byteOffset, &state)
        self.sessionCount += 1
        self.session = Session(
            id: self.sessionCount, cancellation: cancellation, step: .idle(isReadable: false), reader: reader,
            neverBlocks: neverBlocks)
        actions += self.completeOpening(info, &state)
        return (self.session?.use(isReading: false), actions)
    }

    private mutating func moveOffset(to byteOffset: Int64, _ state: inout BlobStreamState) -> [Action] {
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
