import Foundation

/// A value behind a lock, shared by the copies of this one.
///
/// A `pthread_mutex_t`: the thread sanitizer does not see `Synchronization.Mutex` on Linux, and an `NSLock` takes four
/// allocations there. This takes one, which streams with a dozen of them would feel.
package struct Locked<State>: @unchecked Sendable {  // Safe: the value is touched only with the lock held.
    private final class Storage: ManagedBuffer<State, pthread_mutex_t> {
        deinit { _ = self.withUnsafeMutablePointerToElements { pthread_mutex_destroy($0) } }
    }

    private let storage: ManagedBuffer<State, pthread_mutex_t>

    package init(_ state: State) {
        self.storage = Storage.create(minimumCapacity: 1) { storage in
            _ = storage.withUnsafeMutablePointerToElements { pthread_mutex_init($0, nil) }
            return state
        }
    }

    func lock() { _ = self.storage.withUnsafeMutablePointerToElements { pthread_mutex_lock($0) } }
    func unlock() { _ = self.storage.withUnsafeMutablePointerToElements { pthread_mutex_unlock($0) } }

    package func withLock<Result, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        self.lock()
        defer { self.unlock() }
        return try self.storage.withUnsafeMutablePointerToHeader { state throws(Failure) in try body(&state.pointee) }
    }

    /// Takes the value out, for one caller to use outside of the lock.
    package func take<Value>() -> Value? where State == Value? {
        self.withLock { value in
            defer { value = nil }
            return value
        }
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
