import Foundation

/// The part common to input and output streams: the delivery of events to a delegate on run loops.
protocol StreamEngine: AnyObject, Sendable {
    /// The stream that the events concern; nil if it was deallocated.
    var stream: (any Stream & StreamDelegate)? { get }

    /// Runs `body` under the lock of the stream. Its second argument returns true for an event that still applies.
    func withEvents<Result>(_ body: (inout StreamEvents, (Stream.Event) -> Bool) -> Result) -> Result

    /// Called after the stream is scheduled; from now on, events are awaited.
    func didSchedule()
}

extension StreamEngine {
    /// The delegate that receives the events: the stream itself unless another is set; nil if the delegate that was set
    /// has been deallocated.
    var delegate: (any StreamDelegate)? {
        get { self.withEvents { events, _ in events.delegate(of: self.stream) } }
        set { self.withEvents { events, _ in events.setDelegate(newValue) } }
    }

    /// Delivers events on `runLoop` in `mode` from now on, including events that are already pending.
    func schedule(in runLoop: RunLoop, _ mode: RunLoop.Mode) {
        let source = RunLoopSource(runLoop, mode) { [weak self] in self?.deliver(on: $0) }
        let (isNew, hasEvents) = self.withEvents { events, _ in (events.add(source), !events.pendingEvents.isEmpty) }
        guard isNew else { return }
        source.attach()
        if hasEvents { source.signal() }
        self.didSchedule()
    }

    /// Stops delivering events on `runLoop` in `mode`.
    func unschedule(from runLoop: RunLoop, _ mode: RunLoop.Mode) {
        self.withEvents { events, _ in events.remove(runLoop, mode) }?.invalidate()
    }

    /// Calls the delegate for the next event; the run loop performs the source again for further events.
    private func deliver(on source: RunLoopSource) {
        let stream = self.stream
        let (event, delegate, sourcesToSignal) = self.withEvents { events, stillApplies in
            let event = events.beginDelivery(on: source, stillApplies)
            return (event, events.delegate(of: stream), events.pendingEvents.isEmpty ? [] : events.sources)
        }
        guard let event else { return }
        // Before the call, because the delegate may run its run loop during it.
        for source in sourcesToSignal { source.signal() }
        if let stream, let delegate { delegate.receive(event, from: stream) }
        for source in self.withEvents({ events, _ in events.endDelivery() }) { source.signal() }
    }
}

/// The machine of a stream and the state that it publishes, under one lock; every event changes both.
struct LockedMachine<Machine, State: Equatable & Sendable>: ~Copyable, @unchecked Sendable {  // Safe: locked.
    let state: BlobObservable<State>
    // Behind a pointer: the lock ensures the exclusivity that Swift would otherwise check at each access.
    private let machine = UnsafeMutablePointer<Machine>.allocate(capacity: 1)

    init(_ machine: Machine, _ state: BlobObservable<State>) {
        self.state = state
        self.machine.initialize(to: machine)
    }

    deinit { self.machine.deinitialize(count: 1).deallocate() }

    /// Runs `body` under the lock, without changing the state that observers see.
    @inline(__always)
    func withLock<Result>(_ body: (inout Machine, State) -> Result) -> Result {
        self.state.withValue { body(&self.machine.pointee, $0) }
    }

    /// Runs `body` under the lock, and reports whether observers must be notified of a changed state.
    @inline(__always)
    func update<Result>(_ body: (inout Machine, inout State) -> Result) -> (Result, hasPending: Bool) {
        self.state.updateWithoutDelivering { body(&self.machine.pointee, &$0) }
    }
}

/// The pending events of a stream's delegate, and the run loops on which the stream is scheduled.
///
/// A value guarded by the stream's lock; the results of its methods are acted upon outside the lock. An event is
/// delivered once, by the first scheduled run loop that reaches it; one thread at a time delivers.
struct StreamEvents {
    private(set) var pendingEvents: Stream.Event = []
    private(set) var sources: [RunLoopSource] = []
    /// The thread that calls the delegate, and the number of its nested calls; nil if no thread does.
    private var delivery: (thread: pthread_t, depth: Int)?
    /// True if a thread was refused a delivery because another thread was delivering.
    private var wasDeliveryRefused = false
    /// True once the stream has been closed: it can no longer be scheduled.
    private var isClosed = false
    private var isOwnDelegate = true
    private weak var otherDelegate: (any StreamDelegate)?

    /// The order of delivery.
    private static let order: [Stream.Event] = [
        .openCompleted, .hasBytesAvailable, .hasSpaceAvailable, .errorOccurred, .endEncountered,
    ]

    // MARK: Events

    /// Adds an event.
    ///
    /// - Returns: The sources to signal.
    mutating func post(_ event: Stream.Event) -> [RunLoopSource] {
        self.pendingEvents.insert(event)
        return self.sources
    }

    /// Removes events that no longer apply.
    mutating func drop(_ events: Stream.Event) { self.pendingEvents.subtract(events) }

    /// Removes and returns the next event that still applies, for the run loop of `source`; nil if no event does, or
    /// while another thread delivers, which then signals the other sources again.
    mutating func beginDelivery(on source: RunLoopSource, _ stillApplies: (Stream.Event) -> Bool) -> Stream.Event? {
        guard self.sources.contains(where: { $0 === source }) else { return nil }
        let thread = pthread_self()
        // On the same thread, the delegate is running its run loop during a call.
        guard self.delivery == nil || self.delivery?.thread == thread else {
            self.wasDeliveryRefused = true
            return nil
        }
        for event in Self.order where self.pendingEvents.remove(event) != nil && stillApplies(event) {
            self.delivery = (thread, (self.delivery?.depth ?? 0) + 1)
            return event
        }
        return nil
    }

    /// Ends a delivery.
    ///
    /// - Returns: The sources to signal, because their run loops were refused a delivery meanwhile.
    mutating func endDelivery() -> [RunLoopSource] {
        self.delivery?.depth -= 1
        guard self.delivery?.depth == 0 else { return [] }
        self.delivery = nil
        defer { self.wasDeliveryRefused = false }
        return self.wasDeliveryRefused && !self.pendingEvents.isEmpty ? self.sources : []
    }

    // MARK: Scheduling

    /// Adds a source.
    ///
    /// - Returns: False if the stream is already scheduled there, or closed.
    mutating func add(_ source: RunLoopSource) -> Bool {
        guard !self.isClosed,
            !self.sources.contains(where: { $0.runLoop === source.runLoop && $0.mode == source.mode })
        else { return false }
        self.sources.append(source)
        return true
    }

    /// Removes the source of a run loop and mode.
    ///
    /// - Returns: The source to invalidate, if any.
    mutating func remove(_ runLoop: RunLoop, _ mode: RunLoop.Mode) -> RunLoopSource? {
        self.sources.firstIndex { $0.runLoop === runLoop && $0.mode == mode }.map { self.sources.remove(at: $0) }
    }

    /// Removes all events and sources of a stream that was closed.
    ///
    /// - Returns: The sources to invalidate.
    mutating func close() -> [RunLoopSource] {
        defer { (self.pendingEvents, self.sources, self.isClosed) = ([], [], true) }
        return self.sources
    }

    // MARK: The delegate

    /// Sets the delegate, which is not retained; nil means the stream itself.
    mutating func setDelegate(_ delegate: (any StreamDelegate)?) {
        (self.otherDelegate, self.isOwnDelegate) = (delegate, delegate == nil)
    }

    /// The delegate of `stream`; nil if it was deallocated. Mutating, so that nothing is copied.
    mutating func delegate(of stream: (any StreamDelegate)?) -> (any StreamDelegate)? {
        self.isOwnDelegate ? stream : self.otherDelegate
    }
}
