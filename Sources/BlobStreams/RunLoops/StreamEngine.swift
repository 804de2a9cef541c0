import Foundation

/// The part common to input and output streams: the delivery of events to a delegate on run loops.
protocol StreamEngine: AnyObject, Sendable {
    /// The stream that the events are about; nil when it was deallocated.
    var stream: (any Stream & StreamDelegate)? { get }

    /// Runs `body` under the lock of the stream. Its second argument returns true for an event that still applies.
    func withEvents<Result>(_ body: (inout StreamEvents, (Stream.Event) -> Bool) -> Result) -> Result

    /// Called after the stream was scheduled: from now on events are awaited.
    func wasScheduled()
}

extension StreamEngine {
    /// The delegate that receives the events: the stream itself unless set, nil when the one that was set is
    /// deallocated.
    var delegate: (any StreamDelegate)? {
        get { self.withEvents { events, _ in events.delegate(of: self.stream) } }
        set { self.withEvents { events, _ in events.setDelegate(newValue) } }
    }

    /// Delivers events on `runLoop` in `mode` from now on, including those that are already pending.
    func schedule(in runLoop: RunLoop, _ mode: RunLoop.Mode) {
        let source = RunLoopSource(runLoop, mode) { [weak self] in self?.deliver(on: $0) }
        let (isNew, hasEvents) = self.withEvents { events, _ in (events.add(source), !events.pending.isEmpty) }
        guard isNew else { return }
        source.attach()
        if hasEvents { source.signal() }
        self.wasScheduled()
    }

    /// Stops delivering events on `runLoop` in `mode`.
    func unschedule(from runLoop: RunLoop, _ mode: RunLoop.Mode) {
        self.withEvents { events, _ in events.remove(runLoop, mode) }?.invalidate()
    }

    /// Calls the delegate for the next event; the run loop performs the source again for more.
    private func deliver(on source: RunLoopSource) {
        let stream = self.stream
        let (event, delegate, sourcesToSignal) = self.withEvents { events, stillApplies in
            let event = events.beginDelivery(on: source, stillApplies)
            return (event, events.delegate(of: stream), events.pending.isEmpty ? [] : events.sources)
        }
        guard let event else { return }
        // Before the call, because the delegate may run its run loop in it.
        for source in sourcesToSignal { source.signal() }
        if let stream, let delegate { delegate.receive(event, from: stream) }
        for source in self.withEvents({ events, _ in events.endDelivery() }) { source.signal() }
    }
}
