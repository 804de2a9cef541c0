import Foundation

/// What a ``BlobInputStream`` does, for every thread: asks its machine under the lock of `state`, and acts outside of it.
final class BlobStreamEngine: StreamEngine, @unchecked Sendable {  // Safe: `change` and `ask` have the lock.
    typealias Machine = StreamMachine<BlobGuardedReader>

    let state = BlobObservable(
        BlobStreamState(), coalescing: { $0.differsOnlyInProgress(from: $1) }, isLast: { $0.phase == .closed })
    let source: any BlobInputStreamDataSource
    let mode: BlobStreamMode
    let context: BlobContext
    weak var face: BlobInputStream?  // Set once, before the stream is anybody's.
    private let turn: ReaderTurn?  // In asynchronous mode, of a source that may block.
    private var machine: Machine
    private let registration = Locked<BlobRegistration?>(nil)

    init(_ source: any BlobInputStreamDataSource, _ mode: BlobStreamMode, _ context: BlobContext) {
        self.source = source
        self.mode = mode
        self.context = context
        self.turn = mode == .asynchronous && !source.neverBlocks ? ReaderTurn() : nil
        self.machine = Machine { [cancellation = context.cancellation] in cancellation.makeChild() }
    }

    var stream: (any Stream & StreamDelegate)? { self.face }

    // MARK: The lock

    /// Asks the machine, which changes nothing that observers see.
    private func ask<Result>(_ body: (inout Machine, BlobStreamState) -> Result) -> Result {
        self.state.withValue { body(&self.machine, $0) }
    }

    /// Has the machine handle an event, then acts. Observers are told last: one may take its time, or call the stream.
    ///
    /// So nothing may be half-done then that is for the calling thread to finish and for others to wait for: a thread
    /// that uses the reader tells nobody before it has given it back.
    @discardableResult
    private func change<Result>(
        delivers: Bool = true, _ body: (inout Machine, inout BlobStreamState) -> (Result, [Machine.Action])
    ) -> Result {
        let (result, actions) = self.state.updateWithoutDelivering { body(&self.machine, &$0) }
        for action in actions { self.perform(action) }
        if delivers { self.state.deliver() }
        return result
    }

    private func perform(_ action: Machine.Action) {
        switch action {
        case .wake(let waiters): for waiter in waiters { waiter.signal() }
        case .signal(let sources): for source in sources { source.signal() }
        case .invalidate(let sources): for source in sources { source.invalidate() }
        case .cancel(let cancellation): cancellation.cancel()
        case .close(let reader): reader.close()
        case .look: BlockingPool.brief.run { [weak self] in self?.look() }
        case .release: break
        }
    }

    func withEvents<Result>(_ body: (inout StreamEvents, (Stream.Event) -> Bool) -> Result) -> Result {
        self.ask { machine, state in
            body(&machine.events) { event in
                switch event {
                case .hasBytesAvailable: state.hasBytesAvailable
                case .errorOccurred: state.phase == .failed
                case .endEncountered: state.phase == .atEnd
                default: true
                }
            }
        }
    }

    // MARK: Facts

    /// The error of the last call, if it was turned down, or else that of the stream.
    var error: BlobError? { self.ask { machine, state in machine.refusal ?? state.error } }

    /// Where a copy of the stream begins.
    var firstOffset: Int64 {
        self.ask { machine, state in state.phase == .notOpen ? state.byteOffset : machine.startOffset }
    }

    var status: Stream.Status {
        self.ask { machine, state in
            switch state.phase {
            case .notOpen: .notOpen
            case .opening: .opening
            case .open: machine.pass?.isReading == true ? .reading : .open
            case .atEnd: .atEnd
            case .failed: .error
            case .closed: .closed
            }
        }
    }

    /// The abilities of the source; nil while they are not known, and asking would call the source on this thread.
    private var capabilities: BlobCapabilities? {
        if let turn { turn.capabilities } else { self.source.capabilities }
    }

    /// Whether somebody but a call waits for the next bytes, so that limits hold for it.
    private var isAwaited: Bool {
        self.mode == .asynchronous || self.ask { machine, _ in !machine.events.sources.isEmpty }
    }

    // MARK: Opening and closing

    func open() {
        let phase = self.state.value.phase
        let isRepeatable = phase == .atEnd && self.capabilities?.contains(.repeatable) ?? false
        let id = self.change { machine, state in machine.open(isRepeatable: isRepeatable, &state) }
        if let id { self.start(id) }
    }

    /// Opens the source, unless another call does or the stream went another way meanwhile.
    private func start(_ id: Int) {
        guard let pass = self.ask({ machine, _ in machine.start(id) }) else { return }
        self.watchCancellation()
        let validator = self.ask { machine, _ in machine.validator }
        let result = Result { () throws(BlobError) in
            try self.openReader(at: pass.byteOffset, matching: validator, pass.cancellation)
        }
        let isCurrent = self.change(delivers: false) { machine, state in
            machine.opened(id, result, neverBlocks: (try? result.get().neverBlocks) ?? false, &state)
        }
        if isCurrent, case .success(let reader) = result {
            self.use(reader, id, for: .looking)
        } else {
            self.state.deliver()
        }
    }

    private func openReader(
        at byteOffset: Int64, matching validator: BlobValidator?, _ cancellation: BlobCancellation
    ) throws(BlobError) -> BlobGuardedReader {
        var context = self.context
        context.cancellation = cancellation
        context.mayBlock = self.mode == .synchronous
        context.eventSink = { [weak self, sink = self.context.eventSink] event in
            self?.note(event)
            sink?(event)
        }
        let source = self.turn.map { SerialSource(self.source, $0) } ?? self.source
        return try (self.mode == .asynchronous ? source.withoutBlocking : source)
            .open(at: byteOffset, matching: validator, context: context)
    }

    /// Events come from threads that use the reader, which tell no observer.
    private func note(_ event: BlobEvent) {
        self.state.updateWithoutDelivering { state in
            switch event {
            case .invalidated: state.interruption = .invalidated
            case .recovering: state.interruption = .recovering
            case .recovered: (state.interruption, state.recoveries) = (nil, state.recoveries + 1)
            default: break
            }
        }
        switch event {
        case .invalidated, .recovering, .recovered: BlockingPool.brief.run { [state] in state.deliver() }
        default: break
        }
    }

    /// Has a cancellation end the stream also when nobody reads.
    private func watchCancellation() {
        let isWatched = self.registration.withLock { $0 != nil }
        guard !isWatched else { return }
        let registration = self.context.onCancel { [weak self] in self?.cancel() }
        self.registration.withLock { $0 = registration }
    }

    func cancel() {
        self.change { machine, state in
            ((), machine.fail(BlobError(.cancelled, "The job was cancelled."), &state))
        }
    }

    func close(evenUnopened: Bool = false) {
        self.change { machine, state in ((), machine.close(evenUnopened: evenUnopened, &state)) }
        self.registration.withLock { $0 = nil }
    }

    // MARK: Reading

    /// Reads the next bytes, waiting for them if there are none.
    ///
    /// - Returns: How many; 0 at the end, -1 after an error.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        var waiter: WaitSignal?
        while true {
            let turn = self.change(delivers: false) { machine, state in
                machine.beginRead(into: buffer, waiter, &state)
            }
            switch turn {
            case .answer(let count):
                self.state.deliver()
                return count
            case .settle(let count):
                self.settle()
                if let count { return count }
            case .start(let id): self.start(id)
            case .use(let reader, let pass, let count):
                let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[count...])
                let total = count + self.use(reader, pass.id, for: .reading(rest, mayWait: count == 0))
                if total > 0 { return total }
            case .wait:
                if let waiter { BlockingPool.leave { _ = waiter.wait(for: nil) } } else { waiter = WaitSignal() }
            }
        }
    }

    /// Why a reader is used.
    private enum Purpose {
        /// To see what there is.
        case looking
        /// For something else than reading, which is done.
        case nothing
        /// For the caller's memory; `mayWait` when it has no bytes yet.
        case reading(UnsafeMutableRawBufferPointer, mayWait: Bool)
    }

    /// From here on, reads go straight to the caller's memory; smaller ones take from a window.
    private static let directByteCount = 16 * 1024
    private static let peekByteCount = 4 * 1024

    /// Uses the reader, which this thread is busy with, and gives it back.
    ///
    /// - Returns: How many bytes the caller got.
    @discardableResult
    private func use(_ reader: BlobGuardedReader, _ id: Int, for purpose: Purpose) -> Int {
        var outcome = Machine.Outcome(result: .success(.bytes))
        var windowByteCount = BlobPipe.defaultCapacity
        var mayPeek = reader.neverBlocks
        reader.isWaitLimited = self.isAwaited
        var isReading = false
        switch purpose {
        case .looking: break
        case .nothing: (mayPeek, outcome.isReadable) = (false, nil)
        case .reading(let buffer, let mayWait):
            (isReading, reader.isWaitLimited) = (true, true)
            if buffer.isEmpty || (!mayWait && !reader.neverBlocks) { break }
            if buffer.count >= Self.directByteCount || reader.inner is any BlobLendingReader {
                windowByteCount = Self.peekByteCount
                outcome.result = self.read(reader, into: buffer, &outcome.appended)
            } else {
                self.fill(windowByteCount, reader, &outcome)
                outcome.appended = outcome.window?.move(to: buffer) ?? 0
                if outcome.window?.isEmpty ?? false { outcome.window = nil }
            }
        }
        if case .success(.bytes) = outcome.result, outcome.window == nil {
            if mayPeek, reader.lend() != nil {
                outcome.isReadable = true
            } else if mayPeek || (reader.isOpen && reader.byteOffset == reader.info.byteCount) {
                self.fill(windowByteCount, reader, &outcome)
            }
        }
        if case .success(.notYet) = outcome.result {
            reader.whenReadable(BlobWaker { [weak self] in self?.woken(id) })
        }
        if reader.isOpen { outcome.info = reader.info }
        outcome.isLimited = reader.isWaitLimited
        let appended = outcome.appended
        let goesOn = self.change { machine, state in machine.finish(id, reader, outcome, reads: isReading, &state) }
        if goesOn { self.settle() }
        return appended
    }

    private func settle() { while self.change({ machine, state in machine.settle(&state) }) {} }

    private func fill(_ byteCount: Int, _ reader: BlobGuardedReader, _ outcome: inout Machine.Outcome) {
        let window = Window(byteCount)
        outcome.result = Result { try window.fill(from: reader) }.mapError { BlobError(wrapping: $0) }
        if !window.isEmpty { outcome.window = window }
    }

    private func read(
        _ reader: BlobGuardedReader, into buffer: UnsafeMutableRawBufferPointer, _ appended: inout Int
    ) -> Result<BlobReadResult, BlobError> {
        var output = OutputRawSpan(buffer: buffer, initializedCount: 0)
        do {
            let result = try reader.read(into: &output)
            appended = output.finalize(for: buffer)
            return .success(result)
        } catch {
            _ = output.finalize(for: buffer)
            return .failure(BlobError(wrapping: error))
        }
    }

    private func woken(_ id: Int) { self.change(delivers: false) { machine, _ in ((), machine.woken(id)) } }

    /// Looks whether there is something to read, for those who get events or look at the state.
    func look() {
        guard let (reader, pass) = self.ask({ machine, state in machine.beginLook(state) }) else { return }
        self.use(reader, pass.id, for: .looking)
    }

    /// Limits hold from now on.
    func wasScheduled() { self.look() }

    /// Lends the bytes that wait in memory until the next call; nil when there are none.
    func lendWindow() -> UnsafeRawBufferPointer? {
        // Under the lock: it is only memory, and nobody uses the reader.
        self.ask { machine, state in machine.lend(state) { $0.lend() } }
    }

    /// Uses the reader for its properties; nil when there is none that has any, or it is still being opened.
    func withProperties<Result>(_ body: (any BlobPropertyReader) -> Result) -> Result? {
        let waiter = WaitSignal()
        while true {
            switch self.ask({ machine, state in machine.beginUse(waiter, state) }) {
            case .none: return nil
            case .wait: BlockingPool.leave { _ = waiter.wait(for: nil) }
            case .use(let reader, let pass):
                let result = (reader.inner as? any BlobPropertyReader).map(body)
                self.use(reader, pass.id, for: .nothing)
                return result
            }
        }
    }

    // MARK: The offset

    /// Has reading go on at another offset.
    ///
    /// - Returns: False when that is refused, and then nothing has changed.
    func setOffset(_ byteOffset: Int64) -> Bool {
        guard byteOffset >= 0 else { return false }
        let (capabilities, waiter) = (self.capabilities, WaitSignal())
        while true {
            let setting = self.change(delivers: false) { machine, state in
                machine.beginSetting(byteOffset, capabilities, self.mode, waiter, &state)
            }
            switch setting {
            case .over(let isSet):
                self.state.deliver()
                return isSet
            case .start(let id): self.start(id)
            case .run(let id):
                self.state.deliver()
                self.start(id)
                return true
            case .skip(let reader, let pass, let count):
                reader.skip(count)
                self.use(reader, pass.id, for: .looking)
                return true
            case .open(let oldPassID): return self.openAndSwap(byteOffset, capabilities, for: oldPassID)
            case .wait: BlockingPool.leave { _ = waiter.wait(for: nil) }
            }
        }
    }

    private func openAndSwap(_ byteOffset: Int64, _ capabilities: BlobCapabilities?, for oldPassID: Int?) -> Bool {
        let (validator, old) = self.ask { machine, _ in (machine.validator, machine.pass) }
        let heldOld = capabilities?.contains(.concurrentReaders) == false
        let cancellation = self.context.cancellation.makeChild()
        let reader = try? self.openReader(at: byteOffset, matching: validator, cancellation)
        withExtendedLifetime(old) {}
        let info = reader?.info ?? BlobInfo()
        let id = self.change(delivers: false) { machine, state in
            machine.swap(
                reader, neverBlocks: reader?.neverBlocks ?? false, info: info, at: byteOffset, for: oldPassID,
                heldOld: heldOld, cancellation: cancellation, &state)
        }
        guard let id, let reader else {
            self.state.deliver()
            return false
        }
        self.use(reader, id, for: .looking)
        return true
    }

}
