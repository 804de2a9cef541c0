import Foundation

/// The thread-safe engine of a ``BlobInputStream``: its machine decides under the lock of `state`, and the engine
/// performs the actions outside of it.
final class BlobStreamEngine: StreamEngine, @unchecked Sendable {  // Safe: `update` and `withMachine` hold the lock.
    typealias Machine = StreamMachine<BlobReader>

    let state = BlobObservable(
        BlobStreamState(), coalescing: { $0.differsOnlyInProgress(from: $1) }, isLast: { $0.phase == .closed })
    let source: any BlobInputStreamDataSource
    let mode: BlobStreamMode
    let context: BlobContext
    // Set once, before the stream is shared.
    weak var inputStream: BlobInputStream?
    var onEnded: (@Sendable () -> Void)?
    private let readerLock: ReaderLock?  // In asynchronous mode, for a source that may block.
    // Behind a pointer: the lock ensures the exclusivity that Swift would otherwise check at each access.
    private let machine = UnsafeMutablePointer<Machine>.allocate(capacity: 1)

    init(_ source: any BlobInputStreamDataSource, _ mode: BlobStreamMode, _ context: BlobContext) {
        self.source = source
        self.mode = mode
        self.context = context
        self.readerLock = mode == .asynchronous && !source.traits.contains(.neverBlocks) ? ReaderLock() : nil
        self.machine.initialize(to: Machine())
    }

    deinit { self.machine.deinitialize(count: 1).deallocate() }

    var stream: (any Stream & StreamDelegate)? { self.inputStream }

    // MARK: The lock

    /// Runs `body` on the machine under the lock, without changing the state that observers see.
    func withMachine<Result>(_ body: (inout Machine, BlobStreamState) -> Result) -> Result {
        self.state.withValue { body(&self.machine.pointee, $0) }
    }

    /// Passes an event to the machine and performs its actions. Observers are notified last: one may be slow, or call
    /// the stream.
    ///
    /// At that point the calling thread must not have work left that other threads wait for: a thread that uses the
    /// reader notifies no observer before it has given the reader back.
    @discardableResult
    func update<Result>(
        delivers: Bool = true, _ body: (inout Machine, inout BlobStreamState) -> (Result, [Machine.Action])
    ) -> Result {
        let ((result, actions), hasPending) = self.state.updateWithoutDelivering { body(&self.machine.pointee, &$0) }
        for action in actions { self.perform(action) }
        if delivers, hasPending { self.state.deliver() }
        return result
    }

    func perform(_ action: Machine.Action) {
        switch action {
        case .ended: self.onEnded?()
        case .wake(let waiters): for waiter in waiters { waiter.signal() }
        case .signal(let sources): for source in sources { source.signal() }
        case .invalidate(let sources): for source in sources { source.invalidate() }
        case .cancel(let cancellation): cancellation.cancel()
        case .close(let reader):
            reader.close()
            self.update(delivers: false) { machine, _ in ((), machine.endReaderChange()) }
        case .checkForBytes: BlockingPool.brief.run { [weak self] in self?.checkForBytes() }
        case .release: break
        }
    }

    func withEvents<Result>(_ body: (inout StreamEvents, (Stream.Event) -> Bool) -> Result) -> Result {
        self.withMachine { machine, state in
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
    var error: BlobError? { self.withMachine { machine, state in machine.refusal ?? state.error } }

    /// The offset at which a copy of the stream begins.
    var firstOffset: Int64 {
        self.withMachine { machine, state in state.phase == .notOpen ? state.byteOffset : machine.startOffset }
    }

    var status: Stream.Status {
        self.withMachine { machine, state in
            switch state.phase {
            case .notOpen: .notOpen
            case .opening: .opening
            case .open: machine.session.isReading ? .reading : .open
            // As in Foundation's streams, an empty one is open until a read or the event has shown its end.
            case .atEnd: machine.isUnread && machine.events.pending.contains(.endEncountered) ? .open : .atEnd
            case .failed: .error
            case .closed: .closed
            }
        }
    }

    /// True when bytes are awaited other than by a call, so that limits apply to the wait.
    var isAwaited: Bool {
        self.mode == .asynchronous || self.withMachine { machine, _ in !machine.events.sources.isEmpty }
    }

    // MARK: Opening and closing

    func open() {
        let isRepeatable = self.source.traits.contains(.repeatable)
        let id = self.update { machine, state in machine.open(isRepeatable: isRepeatable, &state) }
        if let id { self.start(id) }
    }

    /// Opens the source, unless another call does or the opening is no longer the current one.
    func start(_ id: Int) {
        let start = self.withMachine { machine, _ in machine.start(id) }
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

    func makeReader(
        at byteOffset: Int64, matching validator: BlobValidator?, _ cancellation: BlobCancellation
    ) throws(BlobError) -> BlobReader {
        var context = self.context
        context.cancellation = cancellation
        context.mayBlock = self.mode == .synchronous
        context.eventSink = { [weak self, sink = self.context.eventSink] event in
            self?.record(event, of: cancellation)
            sink?(event)
        }
        try self.beginReaderChange(context)
        defer { self.update(delivers: false) { machine, _ in ((), machine.endReaderChange()) } }
        let source = self.readerLock.map { SerialSource(self.source, $0) } ?? self.source
        return try (self.mode == .asynchronous ? source.withoutBlocking : source)
            .open(at: byteOffset, matching: validator, context: context)
    }

    /// Makes an opening wait for another thread that opens or closes a reader, if the source supports only one at a
    /// time.
    private func beginReaderChange(_ context: BlobContext) throws(BlobError) {
        let waiter = WaitSignal()
        let mayOverlap = self.readerLock != nil || self.source.traits.contains(.concurrentReaders)
        func begin() -> Void? {
            self.withMachine { machine, state in
                machine.beginReaderChange(waiter, mayOverlap: mayOverlap, state) ? () : nil
            }
        }
        if begin() != nil { return }
        try BlockingPool.leave { () throws(BlobError) in try context.wait(on: waiter) { begin() } }
    }

    /// Records an event in the state. Called by threads that use the reader, which must not notify observers, and by
    /// others.
    private func record(_ event: BlobEvent, of session: BlobCancellation) {
        let (isShown, _) = self.state.updateWithoutDelivering { state in
            self.machine.pointee.record(event, of: session, &state)
        }
        if isShown { BlockingPool.brief.run { [state] in state.deliver() } }
    }

    /// Makes a cancellation end the stream also while no call reads.
    func watchCancellation() {
        guard self.withMachine({ machine, _ in machine.cancellationRegistration == nil }) else { return }
        let registration = self.context.cancellation.onCancel { [weak self] in self?.cancel() }
        self.withMachine { machine, _ in machine.cancellationRegistration = registration }
    }

    func cancel() {
        self.update { machine, state in ((), machine.cancel(&state)) }
    }

    func close(evenUnopened: Bool = false) {
        self.update { machine, state in ((), machine.close(evenUnopened: evenUnopened, &state)) }
    }
}
