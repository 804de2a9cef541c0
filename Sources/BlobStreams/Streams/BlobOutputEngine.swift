import Foundation

/// All state of a ``BlobOutputStream``, for every thread. Its lock may be held while those of the input and of the pipe
/// are taken, never the other way round.
final class BlobOutputEngine: StreamEngine, @unchecked Sendable {  // Safe: but for `face`, what changes is in `state`.
    private enum Phase {
        case notOpen, open, failed, closed
    }

    /// How the bytes end.
    private struct Ending {
        let error: BlobError?
    }

    private struct State {
        var phase = Phase.notOpen
        /// The first one; every later step hands the same to the pipe, whichever thread comes there first.
        var ending: Ending?
        /// Why the stream failed.
        var error: BlobError?
        /// Why the last write was turned down, before opening or after closing.
        var refusal: BlobError?
        var byteOffset: Int64 = 0
        var writerCount = 0
        var events = StreamEvents()
        var waitForRoom = WaitLimit()
        var registration: BlobRegistration?

        /// Turns a write down, unless it was an error that did so.
        mutating func refuse() {
            guard self.phase == .notOpen || self.phase == .closed else { return }
            let step = self.phase == .closed ? "closed" : "not open"
            self.refusal = BlobError(.closed, "The stream is \(step).", operation: .write, byteOffset: self.byteOffset)
        }
    }

    weak var face: BlobOutputStream?  // Set once, before the stream is anybody's.
    private let buffer: PipeBuffer
    private let reading: BlobObservable<BlobStreamState>?
    private let observation: BlobObservation?
    private let context: BlobContext
    private let state = Locked(State())

    /// - Parameters:
    ///   - reading: Tells why the reader went, if it knows.
    ///   - observation: Kept as long as there may be writers.
    init(
        _ buffer: PipeBuffer, reading: BlobObservable<BlobStreamState>?, _ observation: BlobObservation?,
        _ context: BlobContext
    ) {
        self.buffer = buffer
        self.reading = reading
        self.observation = observation
        self.context = context
        buffer.onRoom { [weak self] in self?.followPipe() }
    }

    /// Writes to nobody.
    convenience init() {
        let buffer = PipeBuffer(capacity: 1)
        buffer.closeReader()
        self.init(buffer, reading: nil, nil, BlobContext())
    }

    var stream: (any Stream & StreamDelegate)? { self.face }

    func withEvents<Result>(_ body: (inout StreamEvents, (Stream.Event) -> Bool) -> Result) -> Result {
        self.state.withLock { state in
            let phase = state.phase
            return body(&state.events) { event in
                switch event {
                case .hasSpaceAvailable: phase == .open && self.buffer.room == .some
                case .errorOccurred: phase == .failed
                default: true
                }
            }
        }
    }

    var error: BlobError? { self.state.withLock { state in state.error ?? state.refusal } }

    var byteOffset: Int64 { self.state.withLock { $0.byteOffset } }

    var hasSpaceAvailable: Bool {
        switch self.state.withLock({ $0.phase }) {
        case .open: self.buffer.room != .none
        case .failed: true
        case .notOpen, .closed: false
        }
    }

    var status: Stream.Status {
        self.state.withLock { state in
            switch state.phase {
            case .notOpen: .notOpen
            case .open: state.writerCount > 0 ? .writing : .open
            case .failed: .error
            case .closed: .closed
            }
        }
    }

    func open() {
        let isOpen = self.change { state, aftermath in
            guard state.phase == .notOpen else { return false }
            state.phase = .open
            if let error = self.contextError {
                self.fail(error, &state, &aftermath)
                return false
            }
            if self.buffer.room != .readerIsGone { aftermath.sourcesToSignal = state.events.post(.openCompleted) }
            self.follow(&state, &aftermath)
            return true
        }
        guard isOpen else { return }
        let registration = self.context.onCancel { [weak self] in
            self?.fail(BlobError(.cancelled, "The job was cancelled."))
        }
        self.state.withLock { state in
            if state.phase == .open { state.registration = registration }
        }
        withExtendedLifetime(registration) {}
    }

    /// Writes what there is room for, waiting while there is none.
    ///
    /// - Returns: How many bytes; -1 after an error.
    func write(_ bytes: UnsafeRawBufferPointer) -> Int {
        let isOpen = self.state.withLock { state in
            guard state.phase == .open else {
                state.refuse()
                return false
            }
            state.writerCount += 1
            return true
        }
        guard isOpen else { return -1 }
        let result = Result { () throws(BlobError) in try self.buffer.writeSome(bytes, self.context) }
        return self.change { state, aftermath in
            state.writerCount -= 1
            switch result {
            case .success(let count):
                state.byteOffset += Int64(count)
                if count > 0 { self.follow(&state, &aftermath) }
                return count
            case .failure(let error):
                state.refuse()
                self.follow(&state, &aftermath)  // Knows why a reader went.
                self.fail(error, &state, &aftermath)
                return -1
            }
        }
    }

    /// Ends the bytes and everything else, for good; before opening only when `evenUnopened`. Only the first ending,
    /// with an error or without one, reaches the reader.
    func finish(_ error: BlobError?, evenUnopened: Bool) {
        self.change { state, aftermath in
            guard state.phase != .notOpen || evenUnopened else { return }
            state.phase = .closed
            self.end(error, &state, &aftermath)
            aftermath.sourcesToInvalidate = state.events.removeAll()
        }
    }

    func lookAtLimit() -> Duration? {
        self.change { state, aftermath in
            switch state.waitForRoom.look() {
            case .nobodyWaits: break
            case .lookAgain(let delay): return delay
            case .passed(let limit): self.fail(limit.error(idleLimit: self.context.idleLimit), &state, &aftermath)
            }
            return nil
        }
    }

    private func followPipe() { self.change { state, aftermath in self.follow(&state, &aftermath) } }

    private func fail(_ error: BlobError) { self.change { state, aftermath in self.fail(error, &state, &aftermath) } }

    /// Runs `body` under the lock, then does outside of it what it left to do.
    private func change<Result>(_ body: (inout State, inout Aftermath) -> Result) -> Result {
        var aftermath = Aftermath()
        defer { aftermath.attend() }
        return self.state.withLock { body(&$0, &aftermath) }
    }

    // MARK: Under the lock

    /// Tells of what the pipe has come to.
    private func follow(_ state: inout State, _ aftermath: inout Aftermath) {
        guard state.phase == .open else { return }
        switch self.buffer.room {
        case .some:
            state.waitForRoom.end()
            aftermath.sourcesToSignal = state.events.post(.hasSpaceAvailable)
        case .none:
            if let delay = state.waitForRoom.begin(self.context) { self.lookAtLimit(after: delay) }
        case .readerIsGone:
            self.fail(self.reasonOfReader, &state, &aftermath)
        }
    }

    private var reasonOfReader: BlobError {
        self.contextError
            ?? BlobError(.closed, "The reading end of the pair is closed.", cause: self.reading?.value.error)
    }

    private var contextError: BlobError? {
        do {
            try self.context.check()
            return nil
        } catch {
            return error
        }
    }

    private func fail(_ error: BlobError, _ state: inout State, _ aftermath: inout Aftermath) {
        guard state.phase == .open else { return }
        state.phase = .failed
        state.error = error.passing(
            layer: "BlobOutputStream", operation: .write, locator: nil, byteOffset: state.byteOffset)
        state.events.drop(.hasSpaceAvailable)
        aftermath.sourcesToSignal = state.events.post(.errorOccurred)
        self.end(error, &state, &aftermath)
    }

    private func end(_ error: BlobError?, _ state: inout State, _ aftermath: inout Aftermath) {
        state.waitForRoom.end()
        let ending = state.ending ?? Ending(error: error)
        state.ending = ending
        aftermath.pipe = (self.buffer, ending.error)
        aftermath.registration = state.registration
        state.registration = nil
    }
}
