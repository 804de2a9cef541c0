import BlobCore
import BlobPlatform

/// The signals that end a process: a program cleans up when the first of them arrives.
package struct EndingSignals: Sendable {
    private let numbers: [CInt]

    /// - Parameter isHandled: Returns false for a signal of SIGINT, SIGTERM and SIGHUP that is left alone.
    package init(where isHandled: (_ number: CInt) -> Bool = { _ in true }) {
        self.numbers = [SIGINT, SIGTERM, SIGHUP].filter(isHandled)
    }

    private var set: sigset_t {
        var set = sigset_t()
        sigemptyset(&set)
        for number in self.numbers { sigaddset(&set, number) }
        return set
    }

    /// Keeps the signals from this thread, and from those that it starts from now on.
    package func block() {
        var set = self.set
        pthread_sigmask(SIG_BLOCK, &set, nil)
    }

    /// Ends what ``block()`` began, for this thread.
    package func unblock() {
        var set = self.set
        pthread_sigmask(SIG_UNBLOCK, &set, nil)
    }

    /// Calls `handle` with the first signal that arrives, on a thread of its own; all others have to block the signals.
    ///
    /// Where the system starts no thread, a signal ends the process at once.
    package func handleFirst(_ handle: @escaping @Sendable (_ number: CInt) -> Void) {
        let isStarted = startThread(named: "signals") {
            var (set, number) = (self.set, CInt(0))
            if sigwait(&set, &number) == 0 { handle(number) }
        }
        if !isStarted { self.unblock() }
    }

    /// True when one of the signals, which are blocked, has been sent.
    package var isPending: Bool {
        var pending = sigset_t()
        sigpending(&pending)
        return self.numbers.contains { sigismember(&pending, $0) == 1 }
    }
}
