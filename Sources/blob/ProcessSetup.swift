import Foundation

/// What the process may have inherited from its parent, made as the commands expect it.
enum ProcessSetup {
    static func run() {
        self.fillStandardDescriptors()
        self.setSignals()
    }

    /// The number of a standard descriptor that the parent closed would be given to the next file that is opened, which
    /// would then be read or written as if it were standard input, output or error.
    private static func fillStandardDescriptors() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 && errno == EBADF {
            // Open in the other direction, so that using it is still an error. It gets the lowest number that is free.
            _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
    }

    private static func setSignals() {
        // A closed standard output ends the process silently, also when the parent ignores or blocks the signal.
        _ = signal(SIGPIPE, SIG_DFL)
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGPIPE)
        pthread_sigmask(SIG_UNBLOCK, &signals, nil)
        // Writing past the limit of the size of files is then an error, after which temporary files are removed.
        _ = signal(SIGXFSZ, SIG_IGN)
    }
}
