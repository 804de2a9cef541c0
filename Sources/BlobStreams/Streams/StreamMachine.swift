import Foundation

/// The decisions of a ``BlobInputStream``, without its threads: events in, actions out.
///
/// A value for the stream's lock, together with the ``BlobStreamState`` that the stream publishes: every event changes
/// both, and what it returns is to be done after the lock was let go. The reader is used by one thread at a time, the one
/// that an event made busy with it.
struct StreamMachine<Reader: AnyObject> {
    /// One opening of the source, and the reader that it gave.
    struct Pass {
        let id: Int
        let byteOffset: Int64
        let cancellation: BlobCancellation
        var reader: Reader?
        var neverBlocks = false
        var isStarted = false
        var isOpenCompleted = false
        /// A thread uses the reader.
        var isBusy = false
        /// It does so for a read.
        var isReading = false
        /// The reader said that there is nothing, and will wake the stream.
        var isParked = false
        /// A limit holds for the wait that it is parked for.
        var isLimited = false
        /// The reader has bytes in memory, to be read or lent.
        var isReadable = false
        /// The waker came while a thread used the reader.
        var wasWoken = false
    }

    enum Action {
        case wake([WaitSignal])
        case signal([RunLoopSource])
        case invalidate([RunLoopSource])
        case cancel(BlobCancellation)
        case close(Reader)
        /// Try to read, on a thread that does not wait.
        case look
        case release(Window?)
    }

    /// The use that was made of a reader: a read into the caller's memory, one into a window, or both.
    struct Outcome {
        var appended = 0
        var window: Window?
        /// The reader has bytes in memory; nil when that is as before.
        var isReadable: Bool? = false
        /// A limit holds for a wait that begins now.
        var isLimited = false
        /// The result of the last read.
        var result: Result<BlobReadResult, BlobError>
        /// The facts that the reader knows, once it is open.
        var info: BlobInfo?
    }

    private(set) var pass: Pass?
    private(set) var window: Window?
    private(set) var startOffset: Int64 = 0
    private(set) var validator: BlobValidator?
    private(set) var refusal: BlobError?
    var events = StreamEvents()
    /// Kept until the next call of the stream, which may come after the reader is gone.
    private var lent: BlobLentBytes?
    private var declaredByteCount: Int64?
    /// The outcome of the reading that shows once the window is empty.
    private var ending: Result<Void, BlobError>?
    private var passCount = 0
    /// A read brought bytes since the last event told of some.
    private var wantsEvent = false
    private var waiters: [(signal: WaitSignal, reads: Bool)] = []

    // MARK: Opening

    /// Opens the stream; at its end, opens it again from where it began.
    ///
    /// - Parameter isRepeatable: Whether the source can be opened again.
    /// - Returns: The opening to start, if there is one.
    mutating func open(isRepeatable: Bool, _ state: inout BlobStreamState) -> (passID: Int?, [Action]) {
        self.refusal = nil
        switch state.phase {
        case .notOpen: self.startOffset = state.byteOffset
        case .atEnd where isRepeatable:
            state.byteOffset = self.startOffset
            self.events.drop(.endEncountered)
        case .atEnd:
            let message = "The stream is at its end, and its source cannot be read again."
            return (nil, self.fail(BlobError(.unsupported, message), &state))
        case .open where state.byteOffset != self.startOffset:
            // Whoever opens expects the start; going on from here would lose bytes silently.
            let message = "The stream was opened again in the middle; read an unopened copy of it instead."
            return (nil, self.fail(BlobError(.unsupported, message), &state))
        case .open, .opening, .failed, .closed: return (nil, [])
        }
        state.phase = .opening
        (state.isOpenCompleted, state.isAtEnd) = (false, false)
        return (self.beginPass(at: state.byteOffset), [])
    }

    /// Makes a new opening the current one.
    mutating func beginPass(at byteOffset: Int64) -> Int {
        self.passCount += 1
        self.pass = Pass(id: self.passCount, byteOffset: byteOffset, cancellation: self.makeCancellation())
        return self.passCount
    }

    let makeCancellation: @Sendable () -> BlobCancellation

    init(makeCancellation: @escaping @Sendable () -> BlobCancellation) { self.makeCancellation = makeCancellation }

    /// Gives the opening to the calling thread, unless another has it or the stream went another way.
    mutating func start(_ id: Int) -> Pass? {
        guard self.pass?.id == id, self.pass?.isStarted == false else { return nil }
        self.pass?.isStarted = true
        return self.pass
    }

    /// Takes over what an opening gave.
    ///
    /// - Returns: Whether it still is the current one: the calling thread is busy with the reader then.
    mutating func opened(
        _ id: Int, _ result: Result<Reader, BlobError>, neverBlocks: Bool, _ state: inout BlobStreamState
    ) -> (isCurrent: Bool, [Action]) {
        let isCurrent = self.pass?.id == id
        switch result {
        case .success(let reader):
            guard isCurrent else { return (false, [.close(reader)]) }
            self.pass?.reader = reader
            self.pass?.neverBlocks = neverBlocks
            self.pass?.isBusy = true
            return (true, [])
        case .failure(let error): return (false, isCurrent ? self.fail(error, &state) : [])
        }
    }

    // MARK: Reading

    enum Turn {
        /// So many bytes, the end, or -1.
        case answer(Int)
        /// The opening is to be started.
        case start(Int)
        /// The same, once what the state has come to is shown; nil when the answer depends on that.
        case settle(Int?)
        /// The calling thread uses the reader from now on; it has this many bytes from the window already.
        case use(Reader, Pass, appended: Int)
        case wait
    }

    /// Begins a read: answers it out of the window, or gives the reader to the calling thread.
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
        guard let pass else { return (.answer(-1), []) }
        guard pass.isStarted else { return (.start(pass.id), []) }
        var count = 0
        if state.phase == .open, let window {
            count = window.move(to: buffer)
            state.byteOffset += Int64(count)
            if !window.isEmpty { return (.answer(count), self.post(.hasBytesAvailable)) }
            self.window = nil
            self.wantsEvent = count > 0
        }
        // With bytes in hand the reader is used only if that makes nobody wait.
        let mayUse = count == 0 || pass.neverBlocks || state.byteOffset == state.byteCount
        if mayUse, !pass.isBusy, self.ending == nil, let reader = pass.reader,
            count > 0 || !pass.isParked || !pass.isLimited
        {
            self.makeBusy()
            self.pass?.isReading = true
            return (.use(reader, pass, appended: count), [])
        }
        if count > 0 { return (.settle(count), []) }
        if !pass.isBusy, self.ending != nil { return (.settle(nil), []) }
        if let waiter { self.waiters.append((waiter, true)) }
        return (.wait, [])
    }

    /// Lends the bytes that wait, until the next call; nil when there are none, or a thread is just reading.
    mutating func lend(_ state: BlobStreamState, _ lend: (Reader) -> BlobLentBytes?) -> UnsafeRawBufferPointer? {
        (self.refusal, self.lent) = (nil, nil)
        guard state.phase == .open, let pass, !pass.isBusy else { return nil }
        if let window {
            self.lent = BlobLentBytes(window.bytes, ownedBy: window)
        } else if pass.isReadable, let reader = pass.reader {
            self.lent = lend(reader)
        }
        return self.lent?.bytes
    }

    /// Gives the reader to the calling thread for a look whether there is something; nil when there is no need.
    mutating func beginLook(_ state: BlobStreamState) -> (Reader, Pass)? {
        guard let pass, let reader = pass.reader, pass.neverBlocks, !pass.isBusy, !pass.isReadable, self.window == nil,
            self.ending == nil
        else { return nil }
        self.makeBusy()
        return (reader, pass)
    }

    /// Gives the reader to the calling thread for something else than reading.
    enum UseTurn {
        case use(Reader, Pass)
        case wait
        case none
    }

    mutating func beginUse(_ waiter: WaitSignal, _ state: BlobStreamState) -> UseTurn {
        guard state.phase == .open, let pass, pass.isOpenCompleted, let reader = pass.reader else { return .none }
        guard !pass.isBusy else {
            self.waiters.append((waiter, false))
            return .wait
        }
        self.pass?.isBusy = true
        return .use(reader, pass)
    }

    /// Takes the reader back.
    ///
    /// - Parameter reads: False after a look: nobody gets an answer.
    /// - Returns: Whether ``settle(_:)`` has more to do, and the answer of a read that moved the offset away.
    mutating func finish(
        _ id: Int, _ reader: Reader, _ outcome: Outcome, reads: Bool, _ state: inout BlobStreamState
    ) -> (goesOn: Bool, actions: [Action]) {
        var actions = self.wakeWaiters()
        guard self.pass?.id == id else { return (false, actions + [.close(reader), .release(outcome.window)]) }
        let wasWoken = self.pass?.wasWoken ?? false
        self.pass?.isBusy = false
        self.pass?.isReading = false
        self.pass?.wasWoken = false
        state.byteOffset += Int64(outcome.appended)
        if let window = outcome.window { self.window = window }
        if let isReadable = outcome.isReadable { self.pass?.isReadable = isReadable }
        self.pass?.isLimited = outcome.isLimited
        if reads, outcome.appended > 0 { self.wantsEvent = true }
        switch outcome.result {
        case .success(.bytes): break
        case .success(.end): self.ending = .success(())
        case .success(.notYet):
            self.pass?.isParked = !wasWoken
        case .failure(let error): self.ending = .failure(error)
        }
        // Whoever came to look while the reader was used for something else found it busy.
        if wasWoken || (outcome.isReadable == nil && self.pass?.isParked == false) { actions.append(.look) }
        if let info = outcome.info, self.pass?.isOpenCompleted == false {
            actions += self.completeOpening(info, &state)
            return (true, actions)
        }
        let (goesOn, more) = self.settle(&state)
        return (goesOn, actions + more)
    }

    /// Has the state show what the last use of the reader came to, one step at a time: observers see each.
    mutating func settle(_ state: inout BlobStreamState) -> (goesOn: Bool, actions: [Action]) {
        guard let pass, !pass.isBusy else { return (false, []) }
        if self.window == nil, let ending {
            if state.hasBytesAvailable {
                state.hasBytesAvailable = false
                return (true, [])
            }
            switch ending {
            case .success where pass.isOpenCompleted: return (false, self.end(&state))
            case .success: return (false, [])
            case .failure(let error): return (false, self.fail(error, &state))
            }
        }
        guard pass.isOpenCompleted, state.phase == .open else { return (false, []) }
        let had = state.hasBytesAvailable
        state.hasBytesAvailable = self.window != nil || pass.isReadable || !pass.neverBlocks
        guard state.hasBytesAvailable, self.wantsEvent || !had else { return (false, []) }
        self.wantsEvent = false
        return (false, self.post(.hasBytesAvailable))
    }

    /// The reader has news.
    mutating func woken(_ id: Int) -> [Action] {
        guard self.pass?.id == id else { return [] }
        self.pass?.isParked = false
        guard self.pass?.isBusy == false else {
            self.pass?.wasWoken = true
            return []
        }
        // Those who wait to read look themselves.
        let reads = self.waiters.contains { $0.reads }
        return reads ? self.wakeWaiters() : [.look]
    }

    private mutating func completeOpening(_ info: BlobInfo, _ state: inout BlobStreamState) -> [Action] {
        if let error = self.changeOfLength(info) { return self.fail(error, &state) }
        self.pass?.isOpenCompleted = true
        state.byteCount = info.byteCount
        self.validator = self.validator ?? info.validator
        self.declaredByteCount = self.declaredByteCount ?? info.byteCount
        guard state.phase == .opening else { return [] }  // Otherwise the offset was set.
        state.phase = .open
        state.isOpenCompleted = true
        return self.post(.openCompleted)
    }

    /// The error of content that was opened again and has another length, for sources that have no validator.
    func changeOfLength(_ info: BlobInfo) -> BlobError? {
        guard self.validator == nil, let old = self.declaredByteCount, let new = info.byteCount, old != new else {
            return nil
        }
        return BlobError(.changed, "The source had \(old) bytes when it was opened first, and has \(new) now.")
    }

    // MARK: Ending

    mutating func fail(_ error: BlobError, _ state: inout BlobStreamState) -> [Action] {
        guard state.phase != .closed, state.phase != .failed else { return [] }
        state.phase = .failed
        state.error = error.passing(
            layer: "BlobInputStream", operation: state.isOpenCompleted ? .read : .open, locator: nil,
            byteOffset: state.byteOffset)
        (state.hasBytesAvailable, state.interruption) = (false, nil)
        return self.endPass() + self.post(.errorOccurred)
    }

    private mutating func end(_ state: inout BlobStreamState) -> [Action] {
        state.phase = .atEnd
        state.isAtEnd = true
        state.hasBytesAvailable = false
        state.byteCount = state.byteOffset
        return self.endPass() + self.post(.endEncountered)
    }

    /// Ends everything, for good. Before opening it does nothing, unless `evenUnopened`.
    mutating func close(evenUnopened: Bool, _ state: inout BlobStreamState) -> [Action] {
        (self.refusal, self.lent) = (nil, nil)
        guard state.phase != .notOpen || evenUnopened else { return [] }
        state.phase = .closed
        state.hasBytesAvailable = false
        return self.endPass() + [.invalidate(self.events.removeAll())]
    }

    /// Lets go of the reader and of whoever waits for it.
    private mutating func endPass() -> [Action] {
        var actions = self.wakeWaiters()
        self.events.drop(.hasBytesAvailable)
        actions.append(.release(self.window))
        (self.window, self.ending) = (nil, nil)
        guard let pass else { return actions }
        self.pass = nil
        actions.append(.cancel(pass.cancellation))
        // Whoever is busy with the reader closes it.
        if !pass.isBusy, let reader = pass.reader { actions.append(.close(reader)) }
        return actions
    }

    // MARK: The offset

    /// The steps of setting the offset.
    enum Setting {
        case over(Bool)
        /// The first opening is needed before, and is to be started.
        case start(Int)
        /// The stream reads from the new offset on, once this opening is started.
        case run(Int)
        /// The calling thread uses the reader to pass over bytes.
        case skip(Reader, Pass, Int64)
        /// Synchronous: a new opening takes the place of the old one if it succeeds.
        case open(oldPassID: Int?)
        case wait
    }

    mutating func beginSetting(
        _ byteOffset: Int64, _ capabilities: BlobCapabilities?, _ mode: BlobStreamMode, _ waiter: WaitSignal,
        _ state: inout BlobStreamState
    ) -> (Setting, [Action]) {
        self.refusal = nil
        switch state.phase {
        case .notOpen:
            state.byteOffset = byteOffset
            return (.over(true), [])
        case .failed, .closed: return (.over(false), [])
        case .opening where mode == .synchronous:
            if let pass, !pass.isStarted { return (.start(pass.id), []) }
            self.waiters.append((waiter, false))
            return (.wait, [])
        case .opening, .open, .atEnd: break
        }
        if byteOffset == state.byteOffset { return (.over(true), []) }
        if let byteCount = state.byteCount, byteOffset > byteCount { return (.over(false), []) }
        guard capabilities?.contains(.repeatable) ?? true else { return (.over(false), []) }
        if let pass, pass.isOpenCompleted, let reader = pass.reader, byteOffset > state.byteOffset, let capabilities,
            !capabilities.contains(.randomAccess) || byteOffset - state.byteOffset <= self.window?.count ?? 0
        {
            guard !pass.isBusy else {
                self.waiters.append((waiter, false))
                return (.wait, [])
            }
            let count = byteOffset - state.byteOffset
            let inWindow = Int(min(count, Int64(self.window?.count ?? 0)))
            self.window?.drop(inWindow)
            if self.window?.isEmpty ?? false { self.window = nil }
            state.byteOffset = byteOffset
            guard count > inWindow || self.window == nil else { return (.over(true), []) }
            self.makeBusy()
            return (.skip(reader, pass, count - Int64(inWindow)), [])
        }
        guard mode == .synchronous else {
            let actions = self.moveOffset(to: byteOffset, &state)
            return (.run(self.beginPass(at: byteOffset)), actions)
        }
        // Without this, a reader that is being read and one that is being opened would be used at once.
        if let pass, capabilities?.contains(.concurrentReaders) == false {
            guard !pass.isBusy else {
                self.waiters.append((waiter, false))
                return (.wait, [])
            }
            self.pass?.isBusy = true
        }
        return (.open(oldPassID: self.pass?.id), [])
    }

    /// Puts a new opening in the place of the old one, unless the stream went another way meanwhile.
    mutating func swap(
        _ reader: Reader?, neverBlocks: Bool, info: BlobInfo, at byteOffset: Int64, for oldPassID: Int?,
        heldOld: Bool, cancellation: BlobCancellation, _ state: inout BlobStreamState
    ) -> (passID: Int?, [Action]) {
        if heldOld, self.pass?.id == oldPassID { self.pass?.isBusy = false }
        guard let reader else { return (nil, self.wakeWaiters()) }
        guard state.phase == .open || state.phase == .atEnd, self.pass?.id == oldPassID,
            self.changeOfLength(info) == nil
        else { return (nil, [.close(reader)] + self.wakeWaiters()) }
        var actions = self.moveOffset(to: byteOffset, &state)
        self.passCount += 1
        self.pass = Pass(
            id: self.passCount, byteOffset: byteOffset, cancellation: cancellation, reader: reader,
            neverBlocks: neverBlocks, isStarted: true, isBusy: true)
        actions += self.completeOpening(info, &state)
        return (self.passCount, actions)
    }

    private mutating func moveOffset(to byteOffset: Int64, _ state: inout BlobStreamState) -> [Action] {
        let actions = self.endPass()
        self.events.drop(.endEncountered)
        if state.phase == .atEnd { state.phase = .open }
        state.isAtEnd = false
        state.hasBytesAvailable = false
        state.byteOffset = byteOffset
        return actions
    }

    // MARK: Those who wait

    mutating func post(_ event: Stream.Event) -> [Action] {
        let sources = self.events.post(event)
        return sources.isEmpty ? [] : [.signal(sources)]
    }

    private mutating func makeBusy() {
        self.pass?.isBusy = true
        self.pass?.isReadable = false
        self.pass?.isParked = false
    }

    private mutating func wakeWaiters() -> [Action] {
        guard !self.waiters.isEmpty else { return [] }
        defer { self.waiters = [] }
        return [.wake(self.waiters.map(\.signal))]
    }

    private mutating func refuse(_ state: BlobStreamState) {
        let step = state.phase == .closed ? "closed" : "not open"
        self.refusal = BlobError(.closed, "The stream is \(step).", operation: .read, byteOffset: state.byteOffset)
    }
}
