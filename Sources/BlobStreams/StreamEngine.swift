import Foundation

/// The part that the streams of this framework have in common: events for a delegate on run loops.
protocol StreamEngine: AnyObject, Sendable {
    /// The face that the events are about; nil when it is gone.
    var stream: (any Stream & StreamDelegate)? { get }

    /// Runs `body` under the lock of the stream. The second argument tells whether an event is still true.
    func withEvents<Result>(_ body: (inout StreamEvents, (Stream.Event) -> Bool) -> Result) -> Result

    /// Called when the stream was scheduled: from now on somebody waits for events.
    func wasScheduled()
}

extension StreamEngine {
    /// Who gets the events: the stream itself unless set, nil when the one that was set is gone.
    var delegate: (any StreamDelegate)? {
        get { self.withEvents { events, _ in events.delegate(of: self.stream) } }
        set { self.withEvents { events, _ in events.setDelegate(newValue) } }
    }

    /// Delivers events on `runLoop` in `mode` from now on; those that wait already, too.
    func schedule(in runLoop: RunLoop, _ mode: RunLoop.Mode) {
        let source = RunLoopSource(runLoop, mode) { [weak self] in self?.deliver(on: $0) }
        let (isNew, hasEvents) = self.withEvents { events, _ in (events.add(source), !events.pending.isEmpty) }
        guard isNew else { return }
        source.attach()
        if hasEvents { source.signal() }
        self.wasScheduled()
    }

    /// Delivers no more events there.
    func unschedule(from runLoop: RunLoop, _ mode: RunLoop.Mode) {
        self.withEvents { events, _ in events.remove(runLoop, mode) }?.invalidate()
    }

    /// Calls the delegate for the next event; the run loop comes back for more.
    private func deliver(on source: RunLoopSource) {
        let stream = self.stream
        let (event, delegate, more) = self.withEvents { events, isTrue in
            let event = events.beginDelivery(on: source, isTrue)
            return (event, events.delegate(of: stream), events.pending.isEmpty ? [] : events.sources)
        }
        guard let event else { return }
        // Before the call, in which the delegate may run its run loop.
        for source in more { source.signal() }
        if let stream, let delegate { delegate.receive(event, from: stream) }
        for source in self.withEvents({ events, _ in events.endDelivery() }) { source.signal() }
    }
}
