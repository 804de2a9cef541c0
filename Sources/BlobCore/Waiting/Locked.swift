package import BlobPlatform
import Dispatch

/// A value guarded by a lock.
///
/// The lock is a `pthread_mutex_t`: the thread sanitizer does not recognise `Synchronization.Mutex` on Linux, and an
/// `NSLock` requires four allocations there. A `ManagedBuffer` would require one, but the sanitizer treats each use of
/// its memory as a use of all of it.
package final class Locked<State>: @unchecked Sendable {  // Safe: the value is touched only with the lock held.
    // A mutex must never move. The lock ensures the exclusivity that Swift would otherwise check at each access. The
    // value follows the mutex in one allocation; with a generic struct of both, each use would look up its metadata.
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

    /// Removes and returns the value, so that a single caller uses it outside the lock.
    package func take<Value>() -> Value? where State == Value? { self.exchange(nil) }

    /// Replaces the value.
    ///
    /// - Returns: The old value, which is released outside the lock.
    package func exchange(_ new: State) -> State {
        self.withLock { state in
            defer { state = new }
            return state
        }
    }
}

/// A container that hands over a value that is not `Sendable` to the only code that uses it from now on.
///
/// Safe only if the hand-over is ordered (by a lock, or by starting the job that takes it) and the previous owner no
/// longer uses the value.
package struct UnsafeTransfer<Value>: @unchecked Sendable {  // Safe: see above; each use names the order it relies on.
    package let value: Value

    package init(_ value: Value) { self.value = value }
}

/// A semaphore that wakes one blocked thread; threads wait on it through their context.
///
/// A signal that precedes the wait is remembered; a spurious signal makes a later wait return early, so waiters check
/// their condition in a loop.
package final class WaitSignal: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)

    package init() {}

    package func signal() { self.semaphore.signal() }

    /// Waits for a signal; returns false if `duration` passes first. Nil waits indefinitely. Time during which the
    /// machine sleeps is not counted.
    package func wait(for duration: Duration?) -> Bool {
        guard let duration else {
            self.semaphore.wait()
            return true
        }
        return self.semaphore.wait(timeout: .now() + duration.timeInterval) == .success
    }
}

extension Duration {
    package var timeInterval: TimeInterval {
        TimeInterval(self.components.seconds) + TimeInterval(self.components.attoseconds) * 1e-18
    }
}

/// A gate that resumes one suspended task when it is first opened, even if it opens before the task enters.
package final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var continuation: CheckedContinuation<Void, Never>?
    }

    private let state = Locked(State())

    package init() {}

    /// Resumes `continuation` when the gate is open; at once if it already is.
    package func enter(_ continuation: CheckedContinuation<Void, Never>) {
        let isOpen = self.state.withLock { state in
            if !state.isOpen { state.continuation = continuation }
            return state.isOpen
        }
        if isOpen { continuation.resume() }
    }

    /// Opens the gate. A second call has no effect.
    package func open() {
        let continuation = self.state.withLock { state in
            state.isOpen = true
            return state.continuation.take()
        }
        continuation?.resume()
    }
}
