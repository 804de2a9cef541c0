package import BlobPlatform
import Dispatch

/// A semaphore that wakes one blocked thread; threads wait on it through their context.
///
/// A signal before the wait is kept; a surplus signal makes a later wait return early, so waiters check again in a
/// loop.
package final class WaitSignal: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)

    package init() {}

    package func signal() { self.semaphore.signal() }

    /// Returns false when `duration` passed without a signal; nil waits for ever. Counts time that the machine is
    /// awake.
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
