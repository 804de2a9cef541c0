import BlobCore
import Foundation

/// The lock between recovery and other changes of files, across processes: `flock(2)`, which the end of a process
/// releases.
final class LibraryLock {
    /// The time between attempts to take the lock; recovery takes milliseconds to seconds.
    private static let interval = Duration.milliseconds(20)

    private let descriptor: CInt

    private init(_ folder: LibraryFolder) throws(BlobError) {
        self.descriptor = uninterrupted { open(folder.lockPath, O_RDWR | O_CREAT | O_CLOEXEC, 0o666) }
        guard self.descriptor >= 0 else {
            throw BlobError(systemError: errno, doing: "Could not open \(folder.lockPath)")
        }
    }

    /// Takes the lock for adding or removing files; waits while recovery is running.
    static func shared(_ folder: LibraryFolder, _ context: BlobContext) throws(BlobError) -> LibraryLock {
        let lock = try LibraryLock(folder)
        while try !lock.take(LOCK_SH) { try context.pause(for: Self.interval) }
        return lock
    }

    /// Takes the lock for recovery; returns nil while files are added or removed.
    static func exclusive(_ folder: LibraryFolder) throws(BlobError) -> LibraryLock? {
        let lock = try LibraryLock(folder)
        return try lock.take(LOCK_EX) ? lock : nil
    }

    deinit {
        // A process that was started meanwhile has a copy of the descriptor until it runs its program, and the lock
        // with it.
        _ = flock(self.descriptor, LOCK_UN)
        close(self.descriptor)
    }

    private func take(_ kind: CInt) throws(BlobError) -> Bool {
        if uninterrupted({ flock(self.descriptor, kind | LOCK_NB) }) == 0 { return true }
        guard errno == EWOULDBLOCK else { throw BlobError(systemError: errno, doing: "Could not lock the library") }
        return false
    }
}
