import Foundation

/// A lock of the system, which its owner destroys.
///
/// A `pthread_mutex_t`: the thread sanitizer does not see `Synchronization.Mutex` on Linux, and an `NSLock` takes four
/// allocations there, which streams with a dozen of them would feel.
struct SystemLock: @unchecked Sendable {  // Safe: this is what a mutex is for.
    // On the heap: a mutex must never move.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>

    init() {
        self.mutex = .allocate(capacity: 1)
        pthread_mutex_init(self.mutex, nil)
    }

    func destroy() {
        pthread_mutex_destroy(self.mutex)
        self.mutex.deallocate()
    }

    func lock() { pthread_mutex_lock(self.mutex) }
    func unlock() { pthread_mutex_unlock(self.mutex) }

    func withLock<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        self.lock()
        defer { self.unlock() }
        return try body()
    }
}

/// A value behind a lock.
package final class Locked<State>: @unchecked Sendable {  // Safe: `state` is touched only with the lock held.
    private let lock = SystemLock()
    private var state: State

    package init(_ state: State) { self.state = state }

    deinit { self.lock.destroy() }

    package func withLock<Result, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        self.lock.lock()
        defer { self.lock.unlock() }
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
