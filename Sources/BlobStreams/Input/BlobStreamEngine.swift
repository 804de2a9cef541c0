import Foundation

/// The thread-safe engine of a ``BlobInputStream``: its machine decides under its lock, and the engine
/// performs the actions outside the lock.
final class BlobStreamEngine: StreamEngine, @unchecked Sendable {  // Safe: variables are set before it is shared.
    typealias Machine = StreamMachine<BlobReader>

    let source: any BlobInputStreamDataSource
    let mode: BlobStreamMode
    let context: BlobContext
    private let machine = LockedMachine(
        Machine(),
        BlobObservable(
            BlobStreamState(), coalescing: { $0.differsOnlyInProgress(from: $1) }, isLast: { $0.phase == .closed }))
    // Set once, before the stream is shared.
    weak var inputStream: BlobInputStream?
    var onEnded: (@Sendable () -> Void)?
    private let ended = BlobCancellation()  // Requested when no more bytes will be read.
    private let readers: any BlobInputStreamDataSource  // The source, or a layer that serialises its readers.

    init(_ source: any BlobInputStreamDataSource, _ mode: BlobStreamMode, _ context: BlobContext) {
        self.source = source
        self.mode = mode
        self.context = context
        // A source that is not repeatable has one reader.
        let isSerial = source.traits.contains(.repeatable) && !source.traits.contains(.concurrentReaders)
        let readers = isSerial ? SerialSource(source) : source
        self.readers = mode == .asynchronous ? readers.withoutBlocking : readers
    }

    var state: BlobObservable<BlobStreamState> { self.machine.state }

    var stream: (any Stream & StreamDelegate)? { self.inputStream }

    // MARK: The lock

    /// Passes an event to the machine and performs its actions. Observers are notified last: an observer may be slow,
    /// or call the stream.
    ///
    /// At that point, the calling thread must not have work left on which other threads wait: a thread that uses the
    /// reader notifies no observer before it has returned the reader.
    @discardableResult
    private func update<Result>(
        delivers: Bool = true, _ body: (inout Machine, inout BlobStreamState) -> (Result, [Machine.Action])
    ) -> Result {
        let ((result, actions), hasPending) = self.machine.update(body)
        for action in actions { self.perform(action) }
        if delivers, hasPending { self.state.deliver() }
        return result
    }

    private func perform(_ action: Machine.Action) {
        switch action {
        case .ended:
            self.ended.cancel()
            self.onEnded?()
        case .wake(let waiters): for waiter in waiters { waiter.signal() }
        case .signal(let sources): for source in sources { source.signal() }
        case .invalidate(let sources): for source in sources { source.invalidate() }
        case .cancel(let cancellation): cancellation.cancel()
        case .close(let reader): reader.close()
        case .checkForBytes: BlockingPool.briefJobs.run { [weak self] in self?.checkForBytes() }
        case .release: break
        }
    }

    func withEvents<Result>(_ body: (inout StreamEvents, (Stream.Event) -> Bool) -> Result) -> Result {
        self.machine.withLock { machine, state in
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

    /// The error of the last call if it was refused, otherwise the error of the stream.
    var error: BlobError? { self.machine.withLock { machine, state in machine.refusal ?? state.error } }

    /// The offset at which a copy of the stream begins.
    var firstOffset: Int64 {
        self.machine.withLock { machine, state in state.phase == .notOpen ? state.byteOffset : machine.startOffset }
    }

    var status: Stream.Status {
        self.machine.withLock { machine, state in
            switch state.phase {
            case .notOpen: .notOpen
            case .opening: .opening
            case .open: machine.session?.isReading == true ? .reading : .open
            // As in Foundation's streams, an empty stream is open until a read or the event has shown its end.
            case .atEnd: machine.isUnread && machine.events.pendingEvents.contains(.endEncountered) ? .open : .atEnd
            case .failed: .error
            case .closed: .closed
            }
        }
    }

    /// True if something other than a call waits for bytes, so that limits apply to the wait.
    private var isAwaited: Bool {
        self.mode == .asynchronous || self.machine.withLock { machine, _ in !machine.events.sources.isEmpty }
    }

    // MARK: Opening and closing

    func open() {
        let isRepeatable = self.source.traits.contains(.repeatable)
        let id = self.update { machine, state in machine.open(isRepeatable: isRepeatable, &state) }
        if let id { self.start(id) }
    }

    /// Opens the source, unless another call does so or the opening is no longer the current one.
    private func start(_ id: Int) {
        let start = self.machine.withLock { machine, _ in machine.start(id) }
        guard let (byteOffset, validator, cancellation) = start else { return }
        self.watchCancellation()
        let result = Result { () throws(BlobError) in
            try self.makeReader(at: byteOffset, matching: validator, cancellation)
        }
        let neverBlocks = (try? result.get().neverBlocks) ?? false
        let use = self.update(delivers: false) { machine, state in
            machine.opened(id, result, neverBlocks: neverBlocks, &state)
        }
        if let use { self.checkForBytes(with: use) } else { self.state.deliver() }
    }

    private func makeReader(
        at byteOffset: Int64, matching validator: BlobValidator?, _ cancellation: BlobCancellation
    ) throws(BlobError) -> BlobReader {
        var context = self.context
        context.cancellation = cancellation
        context.mayBlock = self.mode == .synchronous
        context.eventSink = { [weak self, sink = self.context.eventSink] event in
            self?.record(event, of: cancellation)
            sink?(event)
        }
        return try self.readers.open(at: byteOffset, matching: validator, context: context)
    }

    /// Records an event in the state. Called by threads that use the reader, which must not notify observers, and by
    /// other threads.
    private func record(_ event: BlobEvent, of session: BlobCancellation) {
        let (isShown, _) = self.machine.update { $0.record(event, of: session, &$1) }
        if isShown { BlockingPool.briefJobs.run { [state] in state.deliver() } }
    }

    /// Makes a cancellation end the stream even while no call is reading.
    private func watchCancellation() {
        guard self.machine.withLock({ machine, _ in !machine.isCancellable }) else { return }
        let registration = self.context.cancellation.onCancel { [weak self] in self?.cancel() }
        self.machine.withLock { machine, _ in machine.keep(registration) }
    }

    func cancel() {
        self.ended.cancel()
        self.update { machine, state in ((), machine.cancel(&state)) }
    }

    func close(includingUnopened: Bool = false) {
        self.update { machine, state in ((), machine.close(includingUnopened: includingUnopened, &state)) }
    }

    // MARK: Reading

    /// Reads the next bytes, waiting until bytes are available.
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
                if let waiter { BlockingPool.runOutside { _ = waiter.wait(for: nil) } } else { waiter = WaitSignal() }
            }
        }
    }

    /// The minimum size in bytes of a read that goes directly to the caller's memory; smaller reads take bytes from a
    /// window.
    private static let directByteCount = 16 * 1024
    private static let peekByteCount = 512

    /// Reads, then returns the reader to the machine.
    ///
    /// - Parameter offset: The number of bytes that are already in `buffer`.
    /// - Returns: The number of bytes added.
    private func read(_ use: Machine.Use, into buffer: UnsafeMutableRawBufferPointer, from offset: Int) -> Int {
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

    /// Checks whether bytes are available, then returns the reader to the machine.
    private func checkForBytes(with use: Machine.Use) {
        var outcome = Machine.Outcome()
        use.reader.isLimited = self.isAwaited
        self.finish(use, &outcome, peeking: use.neverBlocks ? BlobPipe.defaultCapacity : nil)
    }

    /// Returns the reader to the machine.
    ///
    /// - Parameter byteCount: The maximum number of bytes to read to find out whether any are available, if nothing
    ///   else reveals it; nil if reading would block.
    private func finish(_ use: Machine.Use, _ outcome: inout Machine.Outcome, peeking byteCount: Int?) {
        let reader = use.reader
        if case .success(.bytes) = outcome.result, outcome.window == nil {
            if byteCount != nil, reader.lend() != nil {
                outcome.isReadable = true
            } else if byteCount != nil || reader.isAtDeclaredEnd {
                self.fill(byteCount ?? 1, reader, &outcome)
            }
        }
        if case .success(.notYet) = outcome.result {
            reader.whenReadable(BlobWaker { [weak self, id = use.sessionID] in self?.readerDidWake(id) })
        }
        outcome.isLimited = reader.isLimited
        self.finish(use, outcome)
    }

    private func finish(_ use: Machine.Use, _ outcome: Machine.Outcome) {
        let info = !use.isOpenCompleted && use.reader.isOpen ? use.reader.info : nil
        let hasMore = self.update { machine, state in machine.finish(use, outcome, opening: info, &state) }
        if hasMore { self.publishOutcome() }
    }

    private func publishOutcome() { while self.update({ machine, state in machine.publishOutcome(&state) }) {} }

    private func fill(_ byteCount: Int, _ reader: BlobReader, _ outcome: inout Machine.Outcome) {
        let window = Window(byteCount)
        outcome.result = Result { try window.fill { try reader.read(into: &$0) } }.mapError { BlobError(wrapping: $0) }
        window.trim()
        if !window.isEmpty { outcome.window = window }
    }

    private func read(
        _ reader: BlobReader, into buffer: UnsafeMutableRawBufferPointer, _ outcome: inout Machine.Outcome
    ) {
        var output = OutputRawSpan(buffer: buffer, initializedCount: 0)
        outcome.result = Result { try reader.read(into: &output) }.mapError { BlobError(wrapping: $0) }
        outcome.appended = output.finalize(for: buffer)
    }

    private func readerDidWake(_ id: Int) {
        self.update(delivers: false) { machine, _ in ((), machine.readerDidWake(id)) }
    }

    /// Checks whether bytes are available, for delegates that wait for events and for observers of the state.
    private func checkForBytes() {
        let use = self.machine.withLock { machine, state in machine.beginCheckForBytes(state) }
        if let use { self.checkForBytes(with: use) }
    }

    /// Checks for bytes with limits, which apply from now on.
    func didSchedule() { self.checkForBytes() }

    /// Lends the bytes in memory until the next call; nil if no bytes are in memory.
    func lendWindow() -> UnsafeRawBufferPointer? {
        // Under the lock: lending only accesses memory, and no thread is using the reader.
        self.machine.withLock { machine, state in machine.lend(state) { $0.lend() } }
    }

    // MARK: The offset

    /// Sets the offset at which reading begins or continues.
    ///
    /// - Returns: False if the offset is refused; the stream is then unchanged.
    func setOffset(_ byteOffset: Int64) -> Bool {
        guard byteOffset >= 0 else { return false }
        let (traits, waiter) = (self.source.traits, WaitSignal())
        while true {
            let step = self.update(delivers: false) { machine, state in
                machine.beginSettingOffset(byteOffset, traits, self.mode, waiter, &state)
            }
            switch step {
            case .done(let isSet):
                self.state.deliver()
                return isSet
            case .start(let id): self.start(id)
            case .restart(let id):
                self.state.deliver()
                self.start(id)
                return self.mode == .asynchronous || self.state.value.phase != .failed
            case .skip(let use, let count):
                use.reader.skip(count)
                self.checkForBytes(with: use)
                return true
            case .replace(let sessionID): return self.openAndReplace(byteOffset, sessionID)
            case .wait:
                // A cancellation ends the stream, which wakes all waiters.
                let limit = self.context.stepLimit().remaining
                guard BlockingPool.runOutside({ waiter.wait(for: limit) }) else { return false }
            }
        }
    }

    private func openAndReplace(_ byteOffset: Int64, _ oldSessionID: Int?) -> Bool {
        let validator = self.machine.withLock { machine, _ in machine.validator }
        let cancellation = self.ended.makeChild()
        let reader = try? self.makeReader(at: byteOffset, matching: validator, cancellation)
        let use = reader.flatMap { reader in
            let info = reader.info
            return self.update(delivers: false) { machine, state in
                machine.replaceReader(
                    with: reader, neverBlocks: reader.neverBlocks, info: info, at: byteOffset, for: oldSessionID,
                    cancellation: cancellation, &state)
            }
        }
        if let use { self.checkForBytes(with: use) } else { reader?.close() }
        self.state.deliver()
        return use != nil
    }
}
