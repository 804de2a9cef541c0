import Foundation

/// The decisions of a ``BlobInputStream``, without its threads: events in, actions out.
///
/// A value for the stream's lock, together with the ``BlobStreamState`` that the stream publishes: every event changes
/// both, and what it returns is to be done after the lock was let go. The reader is used by one thread at a time, the one
/// that an event made busy with it.
struct StreamMachine<Reader: AnyObject> {
    /// One opening of the source, and the reader that it gave.
    struct Pass {
        /// 0 while there is none.
        var id = 0
        var byteOffset: Int64 = 0
        var cancellation: BlobCancellation?
        var reader: Reader?
        var neverBlocks = false
        var isStarted = false
        var isOpenCompleted = false
        /// Known once the opening is completed.
        var isRandomAccess = false
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

        /// A thread makes the reader.
        var isOpening: Bool { self.isStarted && self.reader == nil }

        /// Makes the calling thread busy with the reader.
        mutating func give() {
            self.isBusy = true
            self.isReadable = false
            self.isParked = false
        }

        mutating func takeBack(_ outcome: Outcome) {
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
        /// Nothing will be read any more.
        case ended
        case signal([RunLoopSource])
        case invalidate([RunLoopSource])
        case cancel(BlobCancellation)
        case close(Reader)
        /// Try to read, on a thread that does not wait.
        case look
        case release(Window?)
    }

    /// The use of the reader by the calling thread, which ``finish(_:_:_:_:)`` ends.
    struct Use {
        let passID: Int
        let reader: Reader
        /// The reader never blocks.
        let neverBlocks: Bool
        let isOpenCompleted: Bool
        private let isReadable: Bool
        private let isLimited: Bool

        init(_ reader: Reader, _ pass: Pass) {
            (self.passID, self.reader) = (pass.id, reader)
            (self.neverBlocks, self.isOpenCompleted) = (pass.neverBlocks, pass.isOpenCompleted)
            (self.isReadable, self.isLimited) = (pass.isReadable, pass.isLimited)
        }

        /// That of a use which read nothing.
        var unchanged: Outcome { Outcome(isReadable: self.isReadable, isLimited: self.isLimited) }
    }

    /// Where a use of the reader has led to.
    struct Outcome {
        /// How many bytes the caller of a read got.
        var appended = 0
        /// Bytes for later calls.
        var window: Window?
        /// The reader has bytes in memory.
        var isReadable = false
        /// A limit holds for a wait that begins now.
        var isLimited = false
        /// The result of the last read.
        var result = Result<BlobReadResult, BlobError>.success(.bytes)
    }

    var pass = Pass()
    var window: Window?
    var startOffset: Int64 = 0
    var validator: BlobValidator?
    var refusal: BlobError?
    var events = StreamEvents()
    /// Kept until the next call of the stream, which may come after the reader is gone.
    var lent: BlobLentBytes?
    var declaredByteCount: Int64?
    /// The outcome of the reading that shows once the window is empty.
    var ending: Result<Void, BlobError>?
    var passCount = 0
    /// The threads that open or close a reader, or replace one.
    var occupants: [pthread_t] = []
    var isOccupied: Bool { self.occupants.contains { $0 != pthread_self() } }
    /// A read brought bytes since the last event told of some.
    var wantsEvent = false
    var waiters: [(signal: WaitSignal, reads: Bool)] = []
    /// Of the job's cancellation, until the stream is closed.
    var watching: BlobRegistration?

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
        self.pass = Pass(id: self.passCount, byteOffset: byteOffset, cancellation: BlobCancellation())
        return self.passCount
    }

    /// Gives the opening to the calling thread, unless another has it or the stream went another way.
    mutating func start(
        _ id: Int
    ) -> (byteOffset: Int64, validator: BlobValidator?, cancellation: BlobCancellation)? {
        guard self.pass.id == id, !self.pass.isStarted, let cancellation = self.pass.cancellation else { return nil }
        self.pass.isStarted = true
        return (self.pass.byteOffset, self.validator, cancellation)
    }

    /// Takes over what an opening gave.
    ///
    /// - Returns: The reader, if the opening still is the current one: the calling thread is to look.
    mutating func opened(
        _ id: Int, _ result: Result<Reader, BlobError>, neverBlocks: Bool, _ state: inout BlobStreamState
    ) -> (Use?, [Action]) {
        let isCurrent = self.pass.id == id
        switch result {
        case .success(let reader):
            guard isCurrent else { return (nil, [self.letGo(of: reader)]) }
            self.pass.reader = reader
            self.pass.neverBlocks = neverBlocks
            return (self.beginUse(), [])
        case .failure(let error): return (nil, isCurrent ? self.fail(error, &state) : [])
        }
    }

    // MARK: Those who open and close

    /// Begins to open a reader, until ``released()``.
    ///
    /// - Parameter mayOverlap: Whether the source serves several readers at once.
    /// - Returns: False while another thread opens or closes one, the end of which `waiter` is told.
    mutating func beginOpening(_ waiter: WaitSignal, mayOverlap: Bool, _ state: BlobStreamState) -> Bool {
        let isWanted = state.phase != .failed && state.phase != .closed
        if isWanted, !mayOverlap, self.isOccupied {
            self.waiters.append((waiter, false))
            return false
        }
        self.occupants.append(pthread_self())
        return true
    }

    /// Has a reader closed by the calling thread, until ``released()``.
    mutating func letGo(of reader: Reader) -> Action {
        self.occupants.append(pthread_self())
        return .close(reader)
    }

    mutating func released() -> [Action] {
        if let index = self.occupants.firstIndex(of: pthread_self()) { self.occupants.remove(at: index) }
        return self.wakeWaiters()
    }

    // MARK: Those who wait

    mutating func post(_ event: Stream.Event) -> [Action] {
        let sources = self.events.post(event)
        return sources.isEmpty ? [] : [.signal(sources)]
    }

    /// Makes the calling thread busy with the reader, if there is one.
    mutating func beginUse() -> Use? {
        guard let reader = self.pass.reader else { return nil }
        self.pass.give()
        return Use(reader, self.pass)
    }

    mutating func wakeWaiters() -> [Action] {
        guard !self.waiters.isEmpty else { return [] }
        defer { self.waiters = [] }
        return [.wake(self.waiters.map(\.signal))]
    }

    mutating func refuse(_ state: BlobStreamState) {
        let step = state.phase == .closed ? "closed" : "not open"
        self.refusal = BlobError(.closed, "The stream is \(step).", operation: .read, byteOffset: state.byteOffset)
    }
}
