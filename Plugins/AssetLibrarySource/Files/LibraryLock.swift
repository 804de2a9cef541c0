import BlobStreams
import Foundation

/// The lock between those who change files and recovery, across processes: `flock(2)`, gone with its process.
final class LibraryLock {
    /// How long to wait before the lock is tried again: recovery takes milliseconds to seconds.
    private static let interval = Duration.milliseconds(20)

    private let descriptor: CInt

    private init(_ folder: LibraryFolder) throws(BlobError) {
        self.descriptor = open(folder.lockPath, O_RDWR | O_CREAT | O_CLOEXEC, 0o666)
        guard self.descriptor >= 0 else {
            throw BlobError(systemError: errno, doing: "Could not open \(folder.lockPath)")
        }
    }

    /// Held by everybody who adds or removes files; waits while recovery is at work.
    static func shared(_ folder: LibraryFolder, _ context: BlobContext) throws(BlobError) -> LibraryLock {
        let lock = try LibraryLock(folder)
        while try !lock.take(LOCK_SH) { try context.pause(for: Self.interval) }
        return lock
    }

    /// Held by recovery; nil while somebody adds or removes files.
    static func exclusive(_ folder: LibraryFolder) throws(BlobError) -> LibraryLock? {
        let lock = try LibraryLock(folder)
        return try lock.take(LOCK_EX) ? lock : nil
    }

    deinit { close(self.descriptor) }

    private func take(_ kind: CInt) throws(BlobError) -> Bool {
        while flock(self.descriptor, kind | LOCK_NB) != 0 {
            switch errno {
            case EINTR: continue
            case EWOULDBLOCK: return false
            default: throw BlobError(systemError: errno, doing: "Could not lock the library")
            }
        }
        return true
    }
}

extension BlobContext {
    /// Lets time pass, unless the job ends first.
    func pause(for duration: Duration) throws(BlobError) {
        let signal = WaitSignal()
        let registration = self.onCancel { signal.signal() }
        defer { registration.remove() }
        try self.check()
        let rest = self.deadline.map { ContinuousClock.now.duration(to: $0) } ?? duration
        _ = signal.wait(for: max(.zero, min(duration, rest)))
        try self.check()
    }
}
