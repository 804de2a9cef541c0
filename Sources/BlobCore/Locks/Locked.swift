import BlobPlatform

/// A value guarded by a lock.
///
/// The lock is a `pthread_mutex_t`: the thread sanitizer does not know `Synchronization.Mutex` on Linux, and an
/// `NSLock` takes four allocations there. A `ManagedBuffer` would take one, but the sanitizer treats each use of its
/// memory as one of all of it.
package final class Locked<State>: @unchecked Sendable {  // Safe: the value is touched only with the lock held.
    // A mutex must never move. The lock ensures the exclusivity that Swift would otherwise check at each access. The
    // value is behind the mutex, and not in a generic struct with it, whose metadata each use would look for.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let value: UnsafeMutablePointer<State>

    private static var alignment: Int {
        max(MemoryLayout<pthread_mutex_t>.alignment, MemoryLayout<State>.alignment)
    }

    private static var valueOffset: Int {
        (MemoryLayout<pthread_mutex_t>.size + MemoryLayout<State>.alignment - 1) & -MemoryLayout<State>.alignment
    }

    package init(_ state: State) {
        let memory = UnsafeMutableRawPointer.allocate(
            byteCount: Self.valueOffset + MemoryLayout<State>.size, alignment: Self.alignment)
        self.mutex = memory.bindMemory(to: pthread_mutex_t.self, capacity: 1)
        self.value = (memory + Self.valueOffset).bindMemory(to: State.self, capacity: 1)
        pthread_mutex_init(self.mutex, nil)
        self.value.initialize(to: state)
    }

    deinit {
        pthread_mutex_destroy(self.mutex)
        self.value.deinitialize(count: 1)
        UnsafeMutableRawPointer(self.mutex).deallocate()
    }

    func lock() { pthread_mutex_lock(self.mutex) }
    func unlock() { pthread_mutex_unlock(self.mutex) }

    package func withLock<Result, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        self.lock()
        defer { self.unlock() }
        return try body(&self.value.pointee)
    }

    /// Takes the value and leaves nil, so that one caller uses it outside of the lock.
    package func take<Value>() -> Value? where State == Value? { self.exchange(nil) }

    /// Replaces the value.
    ///
    /// - Returns: The old value, which is released outside of the lock.
    package func exchange(_ new: State) -> State {
        self.withLock { state in
            defer { state = new }
            return state
        }
    }
}

/// A container that hands a value that is not `Sendable` over to the one place that uses it from now on.
///
/// Safe only where the hand-over is ordered (by a lock, or by starting the job that takes it) and the giver stops using
/// it.
package struct HandedOver<Value>: @unchecked Sendable {  // Safe: see above; each use names the order it relies on.
    package let value: Value

    package init(_ value: Value) { self.value = value }
}
