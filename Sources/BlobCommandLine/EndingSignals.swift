import BlobCore
import BlobPlatform

/// The signals that end a process. The first signal allows a program to clean up.
package struct EndingSignals: Sendable {
    private let signalNumbers: [CInt]

    /// - Parameter isHandled: Returns false for each of SIGINT, SIGTERM and SIGHUP that should not be handled.
    package init(where isHandled: (_ number: CInt) -> Bool = { _ in true }) {
        self.signalNumbers = [SIGINT, SIGTERM, SIGHUP].filter(isHandled)
    }

    private var signalSet: sigset_t {
        var set = sigset_t()
        sigemptyset(&set)
        for number in self.signalNumbers { sigaddset(&set, number) }
        return set
    }

    /// Blocks the signals on this thread, and on all threads that it starts from now on.
    package func block() {
        var set = self.signalSet
        pthread_sigmask(SIG_BLOCK, &set, nil)
    }

    /// Unblocks the signals on this thread.
    package func unblock() {
        var set = self.signalSet
        pthread_sigmask(SIG_UNBLOCK, &set, nil)
    }

    /// Calls `handle` with the first signal that arrives, on a thread of its own. All other threads must block the
    /// signals.
    ///
    /// If the system cannot start a thread, a signal ends the process at once.
    package func handleFirst(_ handle: @escaping @Sendable (_ number: CInt) -> Void) {
        let isStarted = startThread(named: "signals") {
            var (set, number) = (self.signalSet, CInt(0))
            if sigwait(&set, &number) == 0 { handle(number) }
        }
        if !isStarted { self.unblock() }
    }

    /// True if one of the blocked signals is pending.
    package var isPending: Bool {
        var pending = sigset_t()
        sigpending(&pending)
        return self.signalNumbers.contains { sigismember(&pending, $0) == 1 }
    }
}
