import Foundation

/// The thread-safe engine of a `BlobOutputStream`: its machine decides under its lock, and the engine
/// performs the actions outside the lock.
final class BlobOutputEngine: StreamEngine, @unchecked Sendable {  // Safe: the variable is set before it is shared.
    weak var outputStream: BlobOutputStream?  // Set once, before the stream is shared.
    private let buffer: PipeBuffer
    private let readerState: BlobObservable<BlobStreamState>?
    private let context: BlobContext
    private let machine: LockedMachine<OutputMachine, BlobOutputStreamState>

    /// Creates an engine that writes to `buffer`.
    ///
    /// - Parameter readerState: The state of the reading end, whose error explains why it closed; nil without a reading
    ///   end.
    init(_ buffer: PipeBuffer, readerState: BlobObservable<BlobStreamState>?, _ context: BlobContext) {
        self.buffer = buffer
        self.readerState = readerState
        self.context = context
        self.machine = LockedMachine(
            OutputMachine(context),
            BlobObservable(
                BlobOutputStreamState(), coalescing: { $0.differsOnlyInProgress(from: $1) },
                isLast: { $0.phase == .closed }))
        buffer.onRoom { [weak self] in self?.updateRoom() }
    }

    /// Creates an engine without a reader: every write fails.
    convenience init() {
        let buffer = PipeBuffer(capacity: 1)
        buffer.closeReader()
        self.init(buffer, readerState: nil, BlobContext())
    }

    var state: BlobObservable<BlobOutputStreamState> { self.machine.state }

    var stream: (any Stream & StreamDelegate)? { self.outputStream }

    // MARK: The lock

    /// Passes an event to the machine and performs its actions. Observers are notified last.
    private func update(_ body: (inout OutputMachine, inout BlobOutputStreamState) -> [OutputMachine.Action]) {
        let (actions, hasPending) = self.machine.update(body)
        for action in actions { self.perform(action) }
        if hasPending { self.state.deliver() }
    }

    private func perform(_ action: OutputMachine.Action) {
        switch action {
        case .signal(let sources): for source in sources { source.signal() }
        case .invalidate(let sources): for source in sources { source.invalidate() }
        case .finish(let ending): self.buffer.finish(ending.error)
        case .checkLimitLater(let delay):
            let waker = BlobWaker { [weak self] in BlockingPool.briefJobs.run { [weak self] in self?.checkLimit() } }
            // Under the lock, so that a timer that has already fired cannot replace the timer that its check started.
            self.machine.withLock { machine, _ in machine.limitTimer = self.context.wake(after: delay, waker) }
        }
    }

    private func checkLimit() { self.update { machine, state in machine.checkLimit(&state) } }

    func withEvents<Result>(_ body: (inout StreamEvents, (Stream.Event) -> Bool) -> Result) -> Result {
        self.machine.withLock { machine, state in
            body(&machine.events) { event in
                switch event {
                case .hasSpaceAvailable: state.phase == .open && self.buffer.room == .some
                case .errorOccurred: state.phase == .failed
                default: true
                }
            }
        }
    }

    func didSchedule() {}

    // MARK: Facts

    /// The error of the last call if it was refused, otherwise the error of the stream.
    var error: BlobError? { self.machine.withLock { machine, state in machine.refusal ?? state.error } }

    var hasSpaceAvailable: Bool {
        switch self.state.value.phase {
        case .open: self.buffer.room != .none
        case .failed: true
        case .notOpen, .closed: false
        }
    }

    var status: Stream.Status {
        self.machine.withLock { machine, state in
            switch state.phase {
            case .notOpen: .notOpen
            case .open: machine.writerCount > 0 ? .writing : .open
            case .failed: .error
            case .closed: .closed
            }
        }
    }

    // MARK: Events

    func open() {
        let error = self.contextError
        self.update { machine, state in
            guard let error, state.phase == .notOpen else {
                return machine.open(self.buffer.room, self.readerClosedError, &state)
            }
            state.phase = .open
            return machine.fail(error, &state)
        }
        guard error == nil, self.state.value.phase == .open else { return }
        let registration = self.context.cancellation.onCancel { [weak self] in
            self?.update { machine, state in machine.fail(BlobError(.cancelled, "The job was cancelled."), &state) }
        }
        self.machine.withLock { machine, state in
            if state.phase == .open { machine.cancellationRegistration = registration }
        }
    }

    /// Writes as many bytes as fit, waiting while the pipe is full.
    ///
    /// - Returns: The number of bytes written; -1 after an error.
    func write(_ bytes: UnsafeRawBufferPointer) -> Int {
        guard self.machine.withLock({ machine, state in machine.beginWrite(state) }) else { return -1 }
        let result = Result { () throws(BlobError) in try self.buffer.writeSome(bytes, self.context) }
        self.update { machine, state in machine.endWrite(result, self.buffer.room, self.readerClosedError, &state) }
        return (try? result.get()) ?? -1
    }

    func finish(_ error: BlobError?, includingUnopened: Bool) {
        self.update { machine, state in machine.finish(error, includingUnopened: includingUnopened, &state) }
    }

    private func updateRoom() {
        self.update { machine, state in machine.updateRoom(self.buffer.room, self.readerClosedError, &state) }
    }

    private var readerClosedError: BlobError {
        self.contextError
            ?? BlobError(.closed, "The reading end of the pair is closed.", cause: self.readerState?.value.error)
    }

    private var contextError: BlobError? {
        do { try self.context.check() } catch { return error }
        return nil
    }
}

/// The state machine of a `BlobOutputStream`, without threads: events in, actions out. A value guarded by the
/// stream's lock, together with the state that the stream publishes.
struct OutputMachine {
    /// The end of the bytes: clean if `error` is nil.
    struct Ending: Equatable {
        let error: BlobError?
    }

    enum Action {
        case signal([RunLoopSource])
        case invalidate([RunLoopSource])
        /// Ends the bytes in the pipe.
        case finish(Ending)
        /// Checks the limit of the wait after this delay.
        case checkLimitLater(Duration)
    }

    var events = StreamEvents()
    /// The error of the last call, if the call was refused.
    private(set) var refusal: BlobError?
    private(set) var writerCount = 0
    /// The first ending; every later step passes the same ending to the pipe, regardless of which thread gets there
    /// first.
    private var ending: Ending?
    /// The limit of the current wait for free space.
    private var stepLimit: BlobContext.StepLimit?
    /// The registrations of the cancellation handler, until the bytes end, and of the check of the limit.
    var (cancellationRegistration, limitTimer): (BlobRegistration?, BlobRegistration?)
    private let context: BlobContext

    init(_ context: BlobContext) { self.context = context }

    mutating func open(
        _ room: PipeBuffer.Room, _ readerClosedError: @autoclosure () -> BlobError, _ state: inout BlobOutputStreamState
    ) -> [Action] {
        self.refusal = nil
        guard state.phase == .notOpen else { return [] }
        state.phase = .open
        let opened = room == .readerIsGone ? [] : self.post(.openCompleted)
        return opened + self.updateRoom(room, readerClosedError(), &state)
    }

    /// Begins a write; returns false if it is refused.
    mutating func beginWrite(_ state: BlobOutputStreamState) -> Bool {
        self.refusal = nil
        guard state.phase == .open else {
            self.refuse(state)
            return false
        }
        self.writerCount += 1
        return true
    }

    mutating func endWrite(
        _ result: Result<Int, BlobError>, _ room: PipeBuffer.Room, _ readerClosedError: @autoclosure () -> BlobError,
        _ state: inout BlobOutputStreamState
    ) -> [Action] {
        self.writerCount -= 1
        switch result {
        case .success(let count):
            state.byteOffset += Int64(count)
            return count > 0 ? self.updateRoom(room, readerClosedError(), &state) : []
        case .failure(let error):
            self.refuse(state)
            // First, because it records why the reader closed.
            let roomActions = self.updateRoom(room, readerClosedError(), &state)
            return roomActions + self.fail(error, &state)
        }
    }

    /// Ends the bytes and closes the stream permanently; before opening, only if `includingUnopened`. Only the first
    /// ending, with or without an error, reaches the reader.
    mutating func finish(
        _ error: BlobError?, includingUnopened: Bool, _ state: inout BlobOutputStreamState
    ) -> [Action] {
        self.refusal = nil
        guard state.phase != .notOpen || includingUnopened else { return [] }
        (state.phase, state.hasSpaceAvailable) = (.closed, false)
        return self.end(error) + [.invalidate(self.events.close())]
    }

    mutating func checkLimit(_ state: inout BlobOutputStreamState) -> [Action] {
        guard let limit = self.stepLimit, let remaining = limit.remaining else { return [] }
        // A wait that began after this check was scheduled has a later limit.
        guard remaining == .zero else { return [.checkLimitLater(remaining)] }
        return self.fail(limit.error(idleLimit: self.context.idleLimit), &state)
    }

    /// Updates the state from the free space in the pipe.
    mutating func updateRoom(
        _ room: PipeBuffer.Room, _ readerClosedError: @autoclosure () -> BlobError, _ state: inout BlobOutputStreamState
    ) -> [Action] {
        guard state.phase == .open else { return [] }
        state.hasSpaceAvailable = room == .some
        switch room {
        case .some:
            (self.stepLimit, self.limitTimer) = (nil, nil)
            return self.post(.hasSpaceAvailable)
        case .none:
            guard self.stepLimit == nil else { return [] }
            let limit = self.context.stepLimit()
            self.stepLimit = limit
            return limit.remaining.map { [.checkLimitLater($0)] } ?? []
        case .readerIsGone: return self.fail(readerClosedError(), &state)
        }
    }

    mutating func fail(_ error: BlobError, _ state: inout BlobOutputStreamState) -> [Action] {
        guard state.phase == .open else { return [] }
        (state.phase, state.hasSpaceAvailable) = (.failed, false)
        state.error = error.passing(
            layer: "BlobOutputStream", operation: "write", locator: nil, byteOffset: state.byteOffset)
        self.events.drop(.hasSpaceAvailable)
        return self.post(.errorOccurred) + self.end(error)
    }

    private mutating func end(_ error: BlobError?) -> [Action] {
        (self.cancellationRegistration, self.limitTimer, self.stepLimit) = (nil, nil, nil)
        let ending = self.ending ?? Ending(error: error)
        self.ending = ending
        return [.finish(ending)]
    }

    private mutating func post(_ event: Stream.Event) -> [Action] {
        let sources = self.events.post(event)
        return sources.isEmpty ? [] : [.signal(sources)]
    }

    /// Records the reason why a write is refused, unless the stream has failed.
    private mutating func refuse(_ state: BlobOutputStreamState) {
        guard state.phase == .notOpen || state.phase == .closed else { return }
        let step = state.phase == .closed ? "closed" : "not open"
        self.refusal = BlobError(.closed, "The stream is \(step).", operation: "write", byteOffset: state.byteOffset)
    }
}
