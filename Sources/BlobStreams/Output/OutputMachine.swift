import Foundation

/// The state machine of a `BlobOutputStream`, without threads: events in, actions out. A value guarded by the
/// stream's lock, together with the state that the stream publishes.
struct OutputMachine {
    /// The end of the bytes: clean when `error` is nil.
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
    /// The first ending; every later step passes the same one to the pipe, whichever thread gets there first.
    private var ending: Ending?
    /// The limit of the current wait for room.
    private var limit: BlobContext.StepLimit?
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

    /// Begins a write; false when it is refused.
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
            // First: it has the reason why the reader closed.
            let roomActions = self.updateRoom(room, readerClosedError(), &state)
            return roomActions + self.fail(error, &state)
        }
    }

    /// Ends the bytes and closes the stream permanently; before opening only when `evenUnopened`. Only the first
    /// ending, with an error or without one, reaches the reader.
    mutating func finish(
        _ error: BlobError?, evenUnopened: Bool, _ state: inout BlobOutputStreamState
    ) -> [Action] {
        self.refusal = nil
        guard state.phase != .notOpen || evenUnopened else { return [] }
        (state.phase, state.hasSpaceAvailable) = (.closed, false)
        return self.end(error) + [.invalidate(self.events.close())]
    }

    mutating func checkLimit(_ state: inout BlobOutputStreamState) -> [Action] {
        guard let limit, let remaining = limit.remaining else { return [] }
        // A wait that began after this check was arranged has a later limit.
        guard remaining == .zero else { return [.checkLimitLater(remaining)] }
        return self.fail(limit.error(idleLimit: self.context.idleLimit), &state)
    }

    /// Updates the state from the room in the pipe.
    mutating func updateRoom(
        _ room: PipeBuffer.Room, _ readerClosedError: @autoclosure () -> BlobError, _ state: inout BlobOutputStreamState
    ) -> [Action] {
        guard state.phase == .open else { return [] }
        state.hasSpaceAvailable = room == .some
        switch room {
        case .some:
            (self.limit, self.limitTimer) = (nil, nil)
            return self.post(.hasSpaceAvailable)
        case .none:
            guard self.limit == nil else { return [] }
            let limit = self.context.stepLimit()
            self.limit = limit
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
        (self.cancellationRegistration, self.limitTimer, self.limit) = (nil, nil, nil)
        let ending = self.ending ?? Ending(error: error)
        self.ending = ending
        return [.finish(ending)]
    }

    private mutating func post(_ event: Stream.Event) -> [Action] {
        let sources = self.events.post(event)
        return sources.isEmpty ? [] : [.signal(sources)]
    }

    /// Records why a write is refused, unless the stream has failed.
    private mutating func refuse(_ state: BlobOutputStreamState) {
        guard state.phase == .notOpen || state.phase == .closed else { return }
        let step = state.phase == .closed ? "closed" : "not open"
        self.refusal = BlobError(.closed, "The stream is \(step).", operation: "write", byteOffset: state.byteOffset)
    }
}
