#if Command
import BlobPlatform

/// Replaces inherited process state with the state that the commands require.
enum ProcessSetup {
    static func run() {
        self.fillStandardDescriptors()
        self.setSignals()
    }

    /// Opens the standard descriptors that the parent closed.
    ///
    /// Otherwise, the next opened file would take the number of a standard descriptor and serve as standard input,
    /// output or error.
    private static func fillStandardDescriptors() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 && errno == EBADF {
            // Opened in the opposite direction, so that using it remains an error. It gets the lowest free number.
            _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
    }

    private static func setSignals() {
        // A closed standard output ends the process silently, even if the parent ignores or blocks the signal.
        _ = signal(SIGPIPE, SIG_DFL)
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGPIPE)
        pthread_sigmask(SIG_UNBLOCK, &signals, nil)
        // Exceeding the file size limit is then reported as an error, after which temporary files are removed.
        _ = signal(SIGXFSZ, SIG_IGN)
    }
}
#endif
