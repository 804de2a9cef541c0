import Foundation

/// A value behind a lock.
///
/// `NSLock` and not `Synchronization.Mutex`: the thread sanitizer does not see the latter's lock on Linux.
package final class Locked<State>: @unchecked Sendable {  // Safe: `state` is touched only with `lock` held.
    private let lock = NSLock()
    private var state: State

    package init(_ state: State) { self.state = state }

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
