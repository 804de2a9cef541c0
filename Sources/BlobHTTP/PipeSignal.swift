import Foundation

/// Blocks SIGPIPE on the current thread, where a TLS connection that the peer has closed would raise it.
///
/// Use it on the thread that created it.
struct PipeSignal {
    private let old: sigset_t

    init() {
        var old = sigset_t()
        var blocked = Self.set
        pthread_sigmask(SIG_BLOCK, &blocked, &old)
        self.old = old
    }

    private static var set: sigset_t {
        var set = sigset_t()
        sigemptyset(&set)
        sigaddset(&set, SIGPIPE)
        return set
    }

    /// Runs `body` with the original signal mask, for the user's handler of the answer.
    func withoutBlocking<Value>(_ body: () throws -> Value) rethrows -> Value {
        self.restore()
        var blocked = Self.set
        defer { pthread_sigmask(SIG_BLOCK, &blocked, nil) }
        return try body()
    }

    func end() { self.restore() }

    private func restore() {
        var (old, waiting) = (self.old, sigset_t())
        sigpending(&waiting)
        if sigismember(&waiting, SIGPIPE) == 1, sigismember(&old, SIGPIPE) == 0 {
            var (set, number) = (Self.set, CInt(0))
            sigwait(&set, &number)
        }
        pthread_sigmask(SIG_SETMASK, &old, nil)
    }
}
