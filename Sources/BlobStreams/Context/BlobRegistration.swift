/// Keeps a handler, a waker or a timer registered until ``remove()`` or release.
public final class BlobRegistration: Sendable {
    /// A closure alone would be boxed twice.
    private struct State {
        var removal: (@Sendable () -> Void)?
    }

    private let state: Locked<State>

    /// Creates a registration.
    ///
    /// - Parameter removal: Ends it; called once at most. Nil when there is nothing to end.
    init(removal: (@Sendable () -> Void)?) { self.state = Locked(State(removal: removal)) }

    deinit { self.remove() }

    /// Ends the registration; a call that has begun on another thread may still be running. Works twice.
    public func remove() { self.state.withLock { $0.removal.take() }?() }
}
