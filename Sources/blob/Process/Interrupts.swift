import BlobPlatform
import BlobStreamsStandard

/// The handling of interrupts: the job is cancelled, and cleans up before the process ends.
enum Interrupts {
    /// The time in seconds for the job to clean up: the second of C12. Only a write to a full pipe takes longer.
    private static let patience: UInt32 = 1

    private static let cleanupLimit = Locked(patience)
    private static let received = Locked<Int32?>(nil)
    private static let temporaryPath = Locked<String?>(nil)

    private static let isReported = Locked(false)

    /// Returns true once: for the first of two threads to report how the job ended.
    static func claimReport() -> Bool { !self.isReported.exchange(true) }

    /// The exit status after an interrupt, as a shell reports it; nil when there was none.
    static var exitStatus: Int32? { self.received.withLock { $0.map { 128 + $0 } } }

    /// Sets a file to remove if the job cannot; nil for none.
    static func setTemporaryPath(_ path: String?) { self.temporaryPath.withLock { $0 = path } }

    /// Allows a job that cleans up at a server more time, in seconds. A second signal ends it within a second.
    static func setCleanupLimit(_ seconds: UInt32) { self.cleanupLimit.withLock { $0 = seconds } }

    /// The signals that are handled: those that the process does not ignore.
    private static var signals: sigset_t {
        var signals = sigset_t()
        sigemptyset(&signals)
        for signal in [SIGINT, SIGTERM, SIGHUP] where !self.isIgnored(signal) { sigaddset(&signals, signal) }
        return signals
    }

    /// Calls `body`, whose threads will never receive the signals.
    static func withSignalsBlocked(_ body: () -> Void) {
        var (signals, old) = (self.signals, sigset_t())
        pthread_sigmask(SIG_BLOCK, &signals, &old)
        body()
        pthread_sigmask(SIG_SETMASK, &old, nil)
    }

    /// Makes a context that is cancelled by the first SIGINT, SIGTERM or SIGHUP that the process does not ignore.
    static func makeContext(idleLimit: Duration? = nil) -> BlobContext {
        let context = BlobContext(idleLimit: idleLimit)
        var signals = self.signals
        // Blocked before there are other threads that could receive them, so that only the one below does.
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        let waited = signals
        let isStarted = startThread(named: "interrupts") {
            var waited = waited
            var signal: CInt = 0
            guard sigwait(&waited, &signal) == 0 else { return }
            let number = signal
            self.received.withLock { $0 = number }
            context.cancellation.cancel()
            var seconds: UInt32 = 0
            repeat {
                sleep(self.patience)
                seconds += self.patience
            } while seconds < self.cleanupLimit.withLock { $0 } && !self.isPending(waited)
            self.temporaryPath.withLock { $0.map { _ = unlink($0) } }
            if self.claimReport() {
                report(BlobError(.cancelled, "The job was cancelled."))
            } else {
                sleep(self.patience)  // The job has just ended by itself.
            }
            _exit(128 + number)
        }
        // Without a thread that cleans up, a signal ends the process at once.
        if !isStarted { pthread_sigmask(SIG_UNBLOCK, &signals, nil) }
        return context
    }

    /// Returns true when one of the signals, which are blocked, has been sent.
    private static func isPending(_ signals: sigset_t) -> Bool {
        var (pending, signals) = (sigset_t(), signals)
        sigpending(&pending)
        return [SIGINT, SIGTERM, SIGHUP].contains {
            sigismember(&pending, $0) == 1 && sigismember(&signals, $0) == 1
        }
    }

    private static func isIgnored(_ number: Int32) -> Bool {
        var action = sigaction()
        sigaction(number, nil, &action)
        return action.isIgnoring
    }
}
