#if Command
import BlobCommandLine
import BlobPlatform
import BlobStreamsStandard

/// Handles interrupts by cancelling the job, which cleans up before the process ends.
enum Interrupts {
    /// The time in seconds that the job has to clean up, as contract C12 requires. Only a write to a full pipe takes
    /// longer.
    private static let cleanupTime: UInt32 = 1

    private static let cleanupLimit = Locked(cleanupTime)
    private static let receivedSignal = Locked<Int32?>(nil)
    private static let temporaryPath = Locked<String?>(nil)

    private static let isReported = Locked(false)

    /// Returns true to the first caller only, which then reports how the job ended.
    static func claimReport() -> Bool { !self.isReported.exchange(true) }

    /// The exit status after an interrupt, as a shell reports it; nil if there was no interrupt.
    static var exitStatus: Int32? { self.receivedSignal.withLock { $0.map { 128 + $0 } } }

    /// Sets a file to remove if the job cannot remove it; nil for no file.
    static func setTemporaryPath(_ path: String?) { self.temporaryPath.withLock { $0 = path } }

    /// Allows a job more time, in seconds, to clean up on a server. A second signal still ends the job within a second.
    static func setCleanupLimit(_ seconds: UInt32) { self.cleanupLimit.withLock { $0 = seconds } }

    /// The signals that the process does not ignore.
    private static let signals = EndingSignals { number in
        var action = sigaction()
        sigaction(number, nil, &action)
        return !action.isIgnoring
    }

    /// Calls `body` with the signals blocked in all threads that it starts.
    static func withSignalsBlocked(_ body: () -> Void) {
        self.signals.block()
        body()
        self.signals.unblock()
    }

    /// Creates a context that is cancelled by the first SIGINT, SIGTERM or SIGHUP that the process does not ignore.
    static func makeContext(idleLimit: Duration? = nil) -> BlobContext {
        let context = BlobContext(idleLimit: idleLimit)
        // Blocked before the process starts other threads, so that only the thread started here receives the signals.
        self.signals.block()
        self.signals.handleFirst { number in
            self.receivedSignal.withLock { $0 = number }
            context.cancellation.cancel()
            var seconds: UInt32 = 0
            repeat {
                sleep(self.cleanupTime)
                seconds += self.cleanupTime
            } while seconds < self.cleanupLimit.withLock { $0 } && !self.signals.isPending
            self.temporaryPath.withLock { $0.map { _ = unlink($0) } }
            if self.claimReport() {
                report(BlobError(.cancelled, "The job was cancelled."))
            } else {
                sleep(self.cleanupTime)  // The job has just ended on its own.
            }
            _exit(128 + number)
        }
        return context
    }
}
#endif
