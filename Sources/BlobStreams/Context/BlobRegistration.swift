/// Keeps a handler, a waker or a timer registered until ``remove()`` or release.
public final class BlobRegistration: Sendable {
    private let removal: Locked<(@Sendable () -> Void)?>

    /// Creates a registration.
    ///
    /// - Parameter removal: Ends it; called once at most. Nil when there is nothing to end.
    init(removal: (@Sendable () -> Void)?) { self.removal = Locked(removal) }

    deinit { self.remove() }

    /// Ends the registration; a call that has begun on another thread may still be running. Works twice.
    public func remove() {
        let removal = self.removal.withLock { removal in
            defer { removal = nil }
            return removal
        }
        removal?()
    }
}
