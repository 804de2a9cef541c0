import Foundation

/// The state machine of a ``BlobInputStream``, without threads: events in, actions out.
///
/// A value guarded by the stream's lock, together with the ``BlobStreamState`` that the stream publishes: every event
/// changes both, and the actions that it returns are performed after the lock was released. The reader is used by one
/// thread at a time, the one to which an event gave it.
struct StreamMachine<Reader: AnyObject> {
    /// One opening of the source, and the use of the reader that it produces.
    struct Session {
        /// The number of the opening; 0 when there is none.
        var id = 0
        var byteOffset: Int64 = 0
        var cancellation: BlobCancellation?
        var reader: Reader?
        var neverBlocks = false
        var isStarted = false
        var isOpenCompleted = false
        /// Known once the opening is completed.
        var isRandomAccess = false
        /// True while a thread uses the reader.
        var isBusy = false
        /// True while a thread uses the reader for a read.
        var isReading = false
        /// True when the reader had nothing to read and will call the stream's waker.
        var isParked = false
        /// True when a limit applies to the wait of a parked reader.
        var isLimited = false
        /// True when the reader has bytes in memory, to be read or lent.
        var isReadable = false
        /// True when the waker was called while a thread used the reader.
        var wasWoken = false

        /// True while a thread opens the reader.
        var isOpening: Bool { self.isStarted && self.reader == nil }

        /// Gives the reader to the calling thread.
        mutating func beginUse() {
            self.isBusy = true
            self.isReadable = false
            self.isParked = false
        }

        /// Takes the reader back from the thread that used it.
        mutating func endUse(_ outcome: Outcome) {
            if case .success(.notYet) = outcome.result { self.isParked = !self.wasWoken }
            self.isBusy = false
            self.isReading = false
            self.wasWoken = false
            self.isReadable = outcome.isReadable
            self.isLimited = outcome.isLimited
        }
    }

    enum Action {
        case wake([WaitSignal])
        /// Nothing more will be read.
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
        /// True when the reader never blocks.
        let neverBlocks: Bool
        let isOpenCompleted: Bool
        private let isReadable: Bool
        private let isLimited: Bool

        init(_ reader: Reader, _ session: Session) {
            (self.sessionID, self.reader) = (session.id, reader)
            (self.neverBlocks, self.isOpenCompleted) = (session.neverBlocks, session.isOpenCompleted)
            (self.isReadable, self.isLimited) = (session.isReadable, session.isLimited)
        }

        /// The outcome of a use that read nothing.
        var unchanged: Outcome { Outcome(isReadable: self.isReadable, isLimited: self.isLimited) }
    }

    /// The outcome of a use of the reader.
    struct Outcome {
        /// The number of bytes that the caller of a read received.
        var appended = 0
        /// The bytes for later calls.
        var window: Window?
        /// True when the reader has bytes in memory.
        var isReadable = false
        /// True when a limit applies to a wait that begins now.
        var isLimited = false
        /// The result of the last read.
        var result = Result<BlobReadResult, BlobError>.success(.bytes)
    }

    var session = Session()
    var window: Window?
    var startOffset: Int64 = 0
    var validator: BlobValidator?
    /// The error of the last call, if the call was refused.
    var refusal: BlobError?
    var events = StreamEvents()
    /// The lent bytes, kept until the next call of the stream, which may come after the reader was released.
    var lent: BlobBytes?
    var declaredByteCount: Int64?
    /// The end of the bytes or an error, which is published once the window is empty.
    var ending: Result<Void, BlobError>?
    var sessionCount = 0
    /// The threads that open, close or replace a reader; a thread can be listed more than once.
    var threadsChangingReaders: [pthread_t] = []
    var isOtherThreadChangingReaders: Bool { self.threadsChangingReaders.contains { $0 != pthread_self() } }
    /// True when a read returned bytes, or the offset was set, since the last event for available bytes.
    var wantsEvent = false
    /// True once the job was cancelled; kept for a stream at its end, which a cancellation does not change.
    var isCancelled = false
    /// True while no read was begun since the stream was opened or its offset was set.
    var isUnread = true
    /// The signals of waiting threads; `isReading` is true for a thread that waits to read.
    var waiters: [(signal: WaitSignal, isReading: Bool)] = []
    /// The registration of the cancellation handler, until the stream is closed.
    var cancellationRegistration: BlobRegistration?

    // MARK: Opening

    /// Opens the stream; at its end, opens it again at its first offset.
    ///
    /// - Parameter isRepeatable: True when the source can be opened again.
    /// - Returns: The opening to start; nil when there is none.
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
            let message = "The stream was opened again in the middle; read an unopened copy of it instead."
            return (nil, self.fail(BlobError(.unsupported, message), &state))
        case .open, .opening, .failed, .closed: return (nil, [])
        }
        state.phase = .opening
        (state.isOpenCompleted, state.isAtEnd) = (false, false)
        return (self.beginSession(at: state.byteOffset), [])
    }

    /// Makes a new opening the current one.
    mutating func beginSession(at byteOffset: Int64) -> Int {
        self.sessionCount += 1
        self.session = Session(id: self.sessionCount, byteOffset: byteOffset, cancellation: BlobCancellation())
        return self.sessionCount
    }

    /// Gives the opening to the calling thread, unless another thread has it or it is no longer the current one.
    mutating func start(
        _ id: Int
    ) -> (byteOffset: Int64, validator: BlobValidator?, cancellation: BlobCancellation)? {
        guard self.session.id == id, !self.session.isStarted, let cancellation = self.session.cancellation else {
            return nil
        }
        self.session.isStarted = true
        return (self.session.byteOffset, self.validator, cancellation)
    }

    /// Takes over the result of an opening.
    ///
    /// - Returns: The reader, if the opening is still the current one: the calling thread must check for bytes.
    mutating func opened(
        _ id: Int, _ result: Result<Reader, BlobError>, neverBlocks: Bool, _ state: inout BlobStreamState
    ) -> (Use?, [Action]) {
        let isCurrent = self.session.id == id
        switch result {
        case .success(let reader):
            guard isCurrent else { return (nil, [self.beginClosing(reader)]) }
            self.session.reader = reader
            self.session.neverBlocks = neverBlocks
            return (self.beginUse(), [])
        case .failure(let error): return (nil, isCurrent ? self.fail(error, &state) : [])
        }
    }

    // MARK: Opening and closing readers

    /// Registers the calling thread as one that opens a reader, until ``endReaderChange()``.
    ///
    /// - Parameter mayOverlap: True when the source supports several readers at once.
    /// - Returns: False while another thread opens or closes a reader; `waiter` is signalled when it is done.
    mutating func beginReaderChange(_ waiter: WaitSignal, mayOverlap: Bool, _ state: BlobStreamState) -> Bool {
        let isWanted = state.phase != .failed && state.phase != .closed
        if isWanted, !mayOverlap, self.isOtherThreadChangingReaders {
            self.waiters.append((waiter, false))
            return false
        }
        self.threadsChangingReaders.append(pthread_self())
        return true
    }

    /// Registers the calling thread as one that closes a reader, until ``endReaderChange()``.
    mutating func beginClosing(_ reader: Reader) -> Action {
        self.threadsChangingReaders.append(pthread_self())
        return .close(reader)
    }

    /// Ends a registration of the calling thread as one that opens, closes or replaces a reader.
    mutating func endReaderChange() -> [Action] {
        if let index = self.threadsChangingReaders.firstIndex(of: pthread_self()) {
            self.threadsChangingReaders.remove(at: index)
        }
        return self.wakeWaiters()
    }

    // MARK: Events, uses and waiters

    /// Records an event of a reader, unless it is one of an opening that is over.
    ///
    /// - Returns: True when the event is part of the state.
    func record(_ event: BlobEvent, of session: BlobCancellation, _ state: inout BlobStreamState) -> Bool {
        guard self.session.cancellation === session else { return false }
        switch event.kind {
        case .invalidated: state.interruption = .invalidated
        case .recovering: state.interruption = .recovering
        case .recovered: (state.interruption, state.recoveries) = (nil, state.recoveries + 1)
        default: return false
        }
        return true
    }

    mutating func post(_ event: Stream.Event) -> [Action] {
        let sources = self.events.post(event)
        return sources.isEmpty ? [] : [.signal(sources)]
    }

    /// Gives the reader to the calling thread, if there is one.
    mutating func beginUse() -> Use? {
        guard let reader = self.session.reader else { return nil }
        self.session.beginUse()
        return Use(reader, self.session)
    }

    mutating func wakeWaiters() -> [Action] {
        guard !self.waiters.isEmpty else { return [] }
        defer { self.waiters = [] }
        return [.wake(self.waiters.map(\.signal))]
    }

    mutating func refuse(_ state: BlobStreamState) {
        let step = state.phase == .closed ? "closed" : "not open"
        self.refusal = BlobError(.closed, "The stream is \(step).", operation: "read", byteOffset: state.byteOffset)
    }
}
