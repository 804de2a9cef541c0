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

/// A value behind a lock, shared by all copies. Both lie in one piece of memory, where a mutex does not move.
package struct Locked<State>: @unchecked Sendable {  // Safe: the state is touched only with the lock held.
    private final class Memory: ManagedBuffer<pthread_mutex_t, State> {
        deinit {
            self.withUnsafeMutablePointers { mutex, state in
                pthread_mutex_destroy(mutex)
                state.deinitialize(count: 1)
            }
        }
    }

    private let memory: ManagedBuffer<pthread_mutex_t, State>

    package init(_ state: State) {
        self.memory = Memory.create(minimumCapacity: 1) { _ in pthread_mutex_t() }
        self.memory.withUnsafeMutablePointers { mutex, first in
            pthread_mutex_init(mutex, nil)
            first.initialize(to: state)
        }
    }

    package func withLock<Result, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try self.memory.withUnsafeMutablePointers { mutex, state throws(Failure) in
            pthread_mutex_lock(mutex)
            defer { pthread_mutex_unlock(mutex) }
            return try body(&state.pointee)
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
