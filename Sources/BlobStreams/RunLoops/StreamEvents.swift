import Foundation

/// The pending events of a stream's delegate, and the run loops that the stream is scheduled on.
///
/// A value guarded by the stream's lock; the results of its methods are acted upon outside of the lock. An event is
/// delivered once, by the first scheduled run loop that reaches it; one thread at a time delivers.
struct StreamEvents {
    private(set) var pending: Stream.Event = []
    private(set) var sources: [RunLoopSource] = []
    /// The thread that calls the delegate, and the number of its nested calls; nil when none does.
    private var delivery: (thread: pthread_t, depth: Int)?
    /// True when a thread was refused a delivery because another thread delivers.
    private var wasDeliveryRefused = false
    /// True once the stream was closed: nothing is scheduled any more.
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
        self.pending.insert(event)
        return self.sources
    }

    /// Drops events that no longer apply.
    mutating func drop(_ events: Stream.Event) { self.pending.subtract(events) }

    /// Takes the next event that still applies, for the run loop of `source`; nil when there is none, or while another
    /// thread delivers, which then signals the others again.
    mutating func beginDelivery(on source: RunLoopSource, _ stillApplies: (Stream.Event) -> Bool) -> Stream.Event? {
        guard self.sources.contains(where: { $0 === source }) else { return nil }
        let thread = pthread_self()
        // On the same thread, the delegate is running its run loop inside of a call.
        guard self.delivery == nil || self.delivery?.thread == thread else {
            self.wasDeliveryRefused = true
            return nil
        }
        for event in Self.order where self.pending.remove(event) != nil && stillApplies(event) {
            self.delivery = (thread, (self.delivery?.depth ?? 0) + 1)
            return event
        }
        return nil
    }

    /// Ends a delivery.
    ///
    /// - Returns: The sources to signal, because their run loops were refused meanwhile.
    mutating func endDelivery() -> [RunLoopSource] {
        self.delivery?.depth -= 1
        guard self.delivery?.depth == 0 else { return [] }
        self.delivery = nil
        defer { self.wasDeliveryRefused = false }
        return self.wasDeliveryRefused && !self.pending.isEmpty ? self.sources : []
    }

    // MARK: Scheduling

    /// Adds a source.
    ///
    /// - Returns: False when the stream is already scheduled there, or closed.
    mutating func add(_ source: RunLoopSource) -> Bool {
        guard !self.isClosed,
            !self.sources.contains(where: { $0.runLoop === source.runLoop && $0.mode == source.mode })
        else { return false }
        self.sources.append(source)
        return true
    }

    /// Removes the source of a run loop and mode.
    ///
    /// - Returns: The source to invalidate, if there is one.
    mutating func remove(_ runLoop: RunLoop, _ mode: RunLoop.Mode) -> RunLoopSource? {
        self.sources.firstIndex { $0.runLoop === runLoop && $0.mode == mode }.map { self.sources.remove(at: $0) }
    }

    /// Removes all events and sources of a stream that was closed.
    ///
    /// - Returns: The sources to invalidate.
    mutating func close() -> [RunLoopSource] {
        defer { (self.pending, self.sources, self.isClosed) = ([], [], true) }
        return self.sources
    }

    // MARK: The delegate

    /// Sets the delegate, which is not retained; nil stands for the stream itself.
    mutating func setDelegate(_ delegate: (any StreamDelegate)?) {
        (self.otherDelegate, self.isOwnDelegate) = (delegate, delegate == nil)
    }

    /// The delegate of `stream`; nil when it was deallocated. Mutating, so that nothing is copied.
    mutating func delegate(of stream: (any StreamDelegate)?) -> (any StreamDelegate)? {
        self.isOwnDelegate ? stream : self.otherDelegate
    }
}
