/// The relay from a plugin's waker to the consumer's: the plugin, the cancellation and the limits of the context signal
/// it, and it calls the consumer's waker once for each registration.
final class WakerRelay: Sendable {
    private struct State {
        var target: BlobWaker?
        var isMissing = false
        var registration: BlobRegistration?
        var timer: (registration: BlobRegistration, end: Moment)?
    }

    private let state = Locked(State())

    /// True when the plugin returned `notYet` but cannot call a waker.
    var isMissing: Bool { self.state.withLock { $0.isMissing } }

    /// True while a consumer's waker is there that no signal has called.
    var hasTarget: Bool { self.state.withLock { $0.target != nil } }

    /// Makes the next signal call `target`.
    func prepare(_ target: BlobWaker, _ context: BlobContext, until end: Moment?) {
        let (isFirst, needsTimer) = self.state.withLock { state in
            state.target = target
            // A pending timer that is earlier wakes early, and the next wait sets another one.
            let needsTimer = end.map { end in state.timer.map { $0.end > end } ?? true } ?? false
            return (state.registration == nil, needsTimer)
        }
        if isFirst {
            let registration = context.cancellation.onCancel { [weak self] in self?.signal() }
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
        if Moment.now >= end { self.timerFired() }  // It may have fired before it was stored.
    }

    /// Returns the waker for the plugin.
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
