/// The waker of a guarded reader: what its plugin, the cancellation and the limits of the context call, and what calls the
/// consumer's, once for each registration.
final class WakerRelay: Sendable {
    private struct State {
        var target: BlobWaker?
        var isMissing = false
        var registration: BlobRegistration?
        var timer: (registration: BlobRegistration, end: Moment)?
    }

    private let state = Locked(State())

    /// True when the plugin said that nothing is there yet, and has no way to tell when there is.
    var isMissing: Bool { self.state.withLock { $0.isMissing } }

    /// Has `target` called at the next signal.
    func prepare(_ target: BlobWaker, _ context: BlobContext, until end: Moment?) {
        let (isFirst, needsTimer) = self.state.withLock { state in
            state.target = target
            // A timer that is outstanding wakes early, and the next wait sets another.
            let needsTimer = end.map { end in state.timer.map { $0.end > end } ?? true } ?? false
            return (state.registration == nil, needsTimer)
        }
        if isFirst {
            let registration = context.onCancel { [weak self] in self?.signal() }
            self.state.withLock { $0.registration = registration }
        } else if context.cancellation.isCancelled {
            self.signal()  // The cancellation may have come while there was no target.
        }
        guard let end, needsTimer else { return }
        let registration = context.wake(after: end.remaining, BlobWaker { [weak self] in self?.timerFired() })
        _ = self.state.withLock { state in
            defer { state.timer = (registration, end) }
            return state.timer  // Released outside of the lock.
        }
        if Moment.now >= end { self.timerFired() }  // It may have fired before it was kept.
    }

    /// The waker for the plugin.
    func makeWaker() -> BlobWaker { BlobWaker(reporting: { [weak self] in self?.signal(isMissing: $0) }) }

    /// Drops the consumer's waker, and ends the registrations.
    func close() { _ = self.state.exchange(State()) }

    private func timerFired() {
        _ = self.state.withLock { $0.timer.take() }
        self.signal()
    }

    private func signal(isMissing: Bool = false) {
        let target = self.state.withLock { state in
            if isMissing { state.isMissing = true }
            return state.target.take()
        }
        target?.wake()
    }
}
