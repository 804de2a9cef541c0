import BlobCore
import BlobPlatform

/// The lock of a state file: a file beside it, which is there while it is locked, or after a kill.
///
/// The system releases a lock when its process ends, however it ends.
final class UploadStateLock {
    private let path: String
    private let descriptor: CInt

    /// Takes the lock, and makes the folder if it is missing.
    init(path: String, of statePath: String) throws(BlobError) {
        self.path = path
        do {
            try FileManager.default.createDirectory(
                atPath: URL(fileURLWithPath: path).deletingLastPathComponent().path,
                withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw BlobError(wrapping: error)
        }
        while true {
            let descriptor = uninterrupted { open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600) }
            guard descriptor >= 0 else { throw BlobError(systemError: errno, doing: "Could not open \(path)") }
            guard uninterrupted({ flock(descriptor, LOCK_EX | LOCK_NB) }) == 0 else {
                close(descriptor)
                throw BlobError(.unavailable, "Another process makes the upload of the state \(statePath).")
            }
            // The one that had the lock may have removed the file in between.
            guard !Self.isFile(descriptor, at: path) else {
                self.descriptor = descriptor
                return
            }
            close(descriptor)
        }
    }

    deinit { close(self.descriptor) }

    func release() {
        _ = unlink(self.path)
        _ = flock(self.descriptor, LOCK_UN)
    }

    private static func isFile(_ descriptor: CInt, at path: String) -> Bool {
        var (opened, named) = (stat(), stat())
        return fstat(descriptor, &opened) == 0 && lstat(path, &named) == 0 && opened.st_ino == named.st_ino
            && opened.st_dev == named.st_dev
    }
}
