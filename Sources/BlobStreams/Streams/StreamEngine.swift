import Foundation

/// What the streams of this framework have in common: events for a delegate on run loops.
protocol StreamEngine: AnyObject, Sendable {
    /// The face that the events are about; nil when it is gone.
    var stream: (any Stream & StreamDelegate)? { get }

    /// Runs `body` under the lock of the stream. The second argument tells whether an event is still true.
    func withEvents<Result>(_ body: (inout StreamEvents, (Stream.Event) -> Bool) -> Result) -> Result

    /// Fails the stream if it waits and the limit of that has passed.
    ///
    /// - Returns: After how long to look again, if at all.
    func lookAtLimit() -> Duration?
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
    }

    /// Delivers no more events there.
    func unschedule(from runLoop: RunLoop, _ mode: RunLoop.Mode) {
        self.withEvents { events, _ in events.remove(runLoop, mode) }?.invalidate()
    }

    /// Has the engine look at its limit later, as ``WaitLimit/begin(_:)`` says.
    func lookAtLimit(after delay: Duration) {
        DispatchQueue.global().asyncAfter(deadline: .now() + delay.timeInterval) { [weak self] in
            if let next = self?.lookAtLimit() { self?.lookAtLimit(after: next) }
        }
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

/// What is to be done outside of the lock after a stream's state changed.
struct Aftermath {
    var waiters: [WaitSignal] = []
    var sourcesToSignal: [RunLoopSource] = []
    var sourcesToInvalidate: [RunLoopSource] = []
    var pass: StreamPass?
    var observation: BlobObservation?
    var reader: (any BlobReader)?
    var window: LentWindow?  // Only to be released.
    var registration: BlobRegistration?
    var pipe: (buffer: PipeBuffer, error: BlobError?)?

    func attend() {
        for waiter in self.waiters { waiter.signal() }
        for source in self.sourcesToSignal { source.signal() }
        for source in self.sourcesToInvalidate { source.invalidate() }
        self.observation?.cancel()
        self.pass?.registration?.remove()
        self.pass?.context.cancellation.cancel()
        self.reader?.close()
        self.registration?.remove()
        if let pipe { pipe.buffer.finish(pipe.error) }
    }
}
