/// A switch that is thrown once, and that blocked calls listen to.
///
/// Shared by all who work on one job. Safe to use from any thread.
public final class BlobCancellation: Sendable {
    private struct State {
        var isCancelled = false
        var nextKey: UInt64 = 0
        var handlers: [UInt64: @Sendable () -> Void] = [:]
    }

    /// Apart from this object, so that a parent can hold on to it without holding on to the child.
    private let state: Locked<State>
    private let parent: BlobCancellationRegistration?

    /// Creates a cancellation that nobody has asked for yet.
    public convenience init() { self.init(Locked(State()), parent: nil) }

    private init(_ state: Locked<State>, parent: BlobCancellationRegistration?) {
        self.state = state
        self.parent = parent
    }

    /// Whether ``cancel()`` was called.
    public var isCancelled: Bool { self.state.withLock { $0.isCancelled } }

    /// Asks all who listen to stop. Only the first call does something.
    ///
    /// Runs the handlers on this thread, in the order of their registration, before it returns.
    public func cancel() { Self.cancel(self.state) }

    private static func cancel(_ state: Locked<State>) {
        let keys: [UInt64] = state.withLock { state in
            guard !state.isCancelled else { return [] }
            state.isCancelled = true
            return state.handlers.keys.sorted()
        }
        for key in keys {
            // Taken one by one: what an earlier handler or another thread has removed meanwhile must not start.
            state.withLock { $0.handlers.removeValue(forKey: key) }?()
        }
    }

    /// Calls `handler` once, when the cancellation comes; at once when it already came.
    ///
    /// The handler must not block: it wakes a call that does.
    ///
    /// - Returns: Keeps the handler registered while it lives.
    public func onCancel(_ handler: @escaping @Sendable () -> Void) -> BlobCancellationRegistration {
        let key: UInt64? = self.state.withLock { state in
            guard !state.isCancelled else { return nil }
            state.nextKey += 1
            state.handlers[state.nextKey] = handler
            return state.nextKey
        }
        guard let key else {
            handler()
            return BlobCancellationRegistration(removal: nil)
        }
        return BlobCancellationRegistration { [state] in
            // Released outside the lock: it may hold the last reference to something with a deinit of its own.
            _ = state.withLock { $0.handlers.removeValue(forKey: key) }
        }
    }

    /// A cancellation that comes with this one, or alone.
    public func makeChild() -> BlobCancellation {
        let state = Locked(State())
        return BlobCancellation(state, parent: self.onCancel { Self.cancel(state) })
    }
}

/// Keeps a handler of ``BlobCancellation/onCancel(_:)`` registered until ``remove()`` or release.
public final class BlobCancellationRegistration: Sendable {
    private let removal: Locked<(@Sendable () -> Void)?>

    init(removal: (@Sendable () -> Void)?) { self.removal = Locked(removal) }

    deinit { self.remove() }

    /// Unregisters the handler; one that has begun on another thread may still be running. Twice is fine.
    public func remove() {
        let removal = self.removal.withLock { removal in
            defer { removal = nil }
            return removal
        }
        removal?()
    }
}
