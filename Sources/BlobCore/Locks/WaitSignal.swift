package import BlobPlatform
import Dispatch

/// Wakes one blocked thread: the thread waits through its context, whoever has news signals.
///
/// A signal before the wait is kept; one too many makes a later wait return early, so waiters look again in a loop.
package final class WaitSignal: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)

    package init() {}

    package func signal() { self.semaphore.signal() }

    /// False when `duration` passed without a signal; nil waits for ever. Counts time that the machine is awake.
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
