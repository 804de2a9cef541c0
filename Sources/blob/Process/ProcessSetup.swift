#if Command
import BlobPlatform

/// Replaces state that the process may have inherited from its parent with what the commands expect.
enum ProcessSetup {
    static func run() {
        self.fillStandardDescriptors()
        self.setSignals()
    }

    /// Opens the standard descriptors that the parent closed. Otherwise the next file that is opened would get such a
    /// number, and be read or written as standard input, output or error.
    private static func fillStandardDescriptors() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 && errno == EBADF {
            // Opened in the other direction, so that using it is still an error. It gets the lowest free number.
            _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
    }

    private static func setSignals() {
        // A closed standard output ends the process silently, even when the parent ignores or blocks the signal.
        _ = signal(SIGPIPE, SIG_DFL)
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGPIPE)
        pthread_sigmask(SIG_UNBLOCK, &signals, nil)
        // Writing past the file size limit is then an error, after which temporary files are removed.
        _ = signal(SIGXFSZ, SIG_IGN)
    }
}
#endif
