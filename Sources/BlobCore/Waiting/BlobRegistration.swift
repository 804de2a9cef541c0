/// A token that keeps a handler, a waker or a timer registered until ``remove()`` or release.
public final class BlobRegistration: Sendable {
    private let removal: (@Sendable () -> Void)?

    /// Creates a registration.
    ///
    /// - Parameter removal: A closure that ends the registration; may be called more than once, on several threads at
    ///   once. Nil when there is nothing to end.
    init(removal: (@Sendable () -> Void)?) { self.removal = removal }

    deinit { self.remove() }

    /// Ends the registration; a call that has begun on another thread may still be running. May be called twice.
    public func remove() { self.removal?() }
}
