/// A one-time signal that ends blocked calls.
///
/// Shared by all parts of one job. Safe to use on any thread.
///
/// ```swift
/// let cancellation = BlobCancellation()
/// let context = BlobContext(cancellation: cancellation)
/// let job = Task { try await source.data(upTo: 1 << 20, context: context) }
/// cancellation.cancel()  // The job throws an error with the code `cancelled`.
/// ```
public final class BlobCancellation: Sendable {
    private typealias Handler = @Sendable () -> Void

    private struct State {
        var isCancelled = false
        private var lastKey: UInt64 = 0
        // Keys ascend in the order of registration. Most cancellations have a single handler, which needs no table.
        private var firstHandler: (key: UInt64, handler: Handler)?
        private var otherHandlers: [UInt64: Handler] = [:]

        var keys: [UInt64] { ((self.firstHandler.map { [$0.key] } ?? []) + self.otherHandlers.keys).sorted() }

        mutating func add(_ handler: @escaping Handler) -> UInt64 {
            self.lastKey += 1
            if self.firstHandler == nil {
                self.firstHandler = (self.lastKey, handler)
            } else {
                self.otherHandlers[self.lastKey] = handler
            }
            return self.lastKey
        }

        mutating func remove(_ key: UInt64) -> Handler? {
            guard self.firstHandler?.key == key else { return self.otherHandlers.removeValue(forKey: key) }
            return self.firstHandler.take()?.handler
        }
    }

    /// Separate from this object, so that a parent can retain it without retaining the child.
    private let state: Locked<State>
    private let parent: BlobRegistration?
    private let ancestor: BlobCancellation?

    /// The cancellation of the whole job: the outermost ancestor, or this object if it has no ancestor.
    package var root: BlobCancellation { self.ancestor ?? self }

    /// Creates a cancellation that has not been requested.
    public convenience init() { self.init(Locked(State()), parent: nil, ancestor: nil) }

    private init(_ state: Locked<State>, parent: BlobRegistration?, ancestor: BlobCancellation?) {
        self.state = state
        self.parent = parent
        self.ancestor = ancestor
    }

    /// True once ``cancel()`` has been called on this object or on an ancestor.
    public var isCancelled: Bool { self.state.withLock { $0.isCancelled } }

    /// Requests the cancellation. Only the first call has an effect.
    ///
    /// Runs the handlers on the calling thread, in the order of their registration, before it returns.
    public func cancel() { Self.cancel(self.state) }

    private static func cancel(_ state: Locked<State>) {
        let keys: [UInt64] = state.withLock { state in
            guard !state.isCancelled else { return [] }
            state.isCancelled = true
            return state.keys
        }
        for key in keys {
            // Taken one by one: a handler that an earlier handler or another thread has removed meanwhile must not
            // start.
            state.withLock { $0.remove(key) }?()
        }
    }

    /// Calls `handler` once, when the cancellation is requested; at once if it already was.
    ///
    /// The handler must not block: its purpose is to wake a blocked call.
    ///
    /// - Returns: A registration that keeps the handler registered for as long as it is retained.
    public func onCancel(_ handler: @escaping @Sendable () -> Void) -> BlobRegistration {
        let key: UInt64? = self.state.withLock { state in
            state.isCancelled ? nil : state.add(handler)
        }
        guard let key else {
            handler()
            return BlobRegistration(removal: nil)
        }
        return BlobRegistration { [state] in
            // Released outside the lock: the handler may hold the last reference to an object with a deinit of its own.
            _ = state.withLock { $0.remove(key) }
        }
    }

    /// Returns a cancellation that is requested together with this one, and can also be requested alone.
    package func makeChild() -> BlobCancellation {
        let state = Locked(State())
        return BlobCancellation(state, parent: self.onCancel { Self.cancel(state) }, ancestor: self.root)
    }
}

/// A token that keeps an observer, a handler, a waker or a timer registered until it is cancelled or released.
public final class BlobRegistration: Sendable {
    private let removal: (@Sendable () -> Void)?

    /// Creates a registration.
    ///
    /// - Parameter removal: A closure that ends the registration; may be called more than once, on several threads at
    ///   once. Nil if there is nothing to end.
    init(removal: (@Sendable () -> Void)?) { self.removal = removal }

    deinit { self.cancel() }

    /// Ends the registration, and discards the calls that wait for an executor. May be called twice, and from the
    /// handler itself.
    ///
    /// No further call starts. A call that another thread is just starting may still run; this method does not wait for
    /// it. When called on the thread, serial queue or actor that runs an observer's handler, no such call exists.
    public func cancel() { self.removal?() }
}

/// Returns a function whose first call calls `action` and releases it.
func onlyOnce(_ action: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
    let action = Locked<(@Sendable () -> Void)?>(action)
    return { action.take()?() }
}
