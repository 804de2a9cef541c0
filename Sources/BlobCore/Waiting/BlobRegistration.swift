/// A token that keeps an observer, a handler, a waker or a timer registered until it is cancelled or released.
public final class BlobRegistration: Sendable {
    private let removal: (@Sendable () -> Void)?

    /// Creates a registration.
    ///
    /// - Parameter removal: A closure that ends the registration; may be called more than once, on several threads at
    ///   once. Nil when there is nothing to end.
    init(removal: (@Sendable () -> Void)?) { self.removal = removal }

    deinit { self.cancel() }

    /// Ends the registration, and drops the calls that wait for an executor. May be called twice, and inside the
    /// handler.
    ///
    /// No further call starts. A call that another thread was just starting may still run: this method does not wait
    /// for it. On the thread, serial queue or actor that runs the handler of an observer, there is no such call.
    public func cancel() { self.removal?() }
}

/// Returns a function that calls `action` the first time that it is called, and releases it then.
func onlyOnce(_ action: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
    let action = Locked<(@Sendable () -> Void)?>(action)
    return { action.take()?() }
}
