import Foundation

/// A value behind a lock.
///
/// A `pthread_mutex_t`: the thread sanitizer does not see `Synchronization.Mutex` on Linux, and an `NSLock` takes four
/// allocations there, which streams with a dozen of them would feel.
package final class Locked<State>: @unchecked Sendable {  // Safe: `state` is touched only with the mutex held.
    // On the heap: a mutex must never move.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private var state: State

    package init(_ state: State) {
        self.state = state
        self.mutex = .allocate(capacity: 1)
        pthread_mutex_init(self.mutex, nil)
    }

    deinit {
        pthread_mutex_destroy(self.mutex)
        self.mutex.deallocate()
    }

    package func withLock<Result, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        pthread_mutex_lock(self.mutex)
        defer { pthread_mutex_unlock(self.mutex) }
        return try body(&self.state)
    }
}

extension Locked<Bool> {
    /// True for the first caller only.
    package func takeOnce() -> Bool {
        self.withLock { isTaken in
            defer { isTaken = true }
            return !isTaken
        }
    }
}

/// Carries a value that is not `Sendable` to the one place that will use it from now on.
///
/// Safe only where the hand-over is ordered (by a lock, or by starting the job that takes it) and the giver lets go.
package struct HandedOver<Value>: @unchecked Sendable {  // Safe: see above; each use names the order it relies on.
    package let value: Value

    package init(_ value: Value) { self.value = value }
}
