#if Photos
#if os(Linux)
import BlobCore
import Foundation

/// The events of the files in a folder, by `inotify(7)`. Owns the descriptor.
///
/// Network file systems report only the changes of this machine: whoever waits for events must also poll.
final class FolderEvents: Sendable {
    /// Readable while events wait.
    let descriptor: CInt

    /// Returns nil when the system has no more of them, or the folder cannot be watched.
    init?(_ folder: String) {
        let descriptor = inotify_init1(CInt(IN_NONBLOCK) | CInt(IN_CLOEXEC))
        guard descriptor >= 0 else { return nil }
        guard inotify_add_watch(descriptor, folder, UInt32(IN_MODIFY | IN_CREATE | IN_MOVED_TO)) >= 0 else {
            close(descriptor)
            return nil
        }
        self.descriptor = descriptor
    }

    deinit { close(self.descriptor) }

    /// Takes all waiting events; never waits.
    func drain() {
        withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 8) { buffer in
            while case let count = read(self.descriptor, buffer.baseAddress, buffer.count),
                count > 0 || count < 0 && errno == EINTR
            {}
        }
    }
}
#else
/// The events of the files in a folder, which on this platform are not available: changes are found by polling.
final class FolderEvents: Sendable {
    let descriptor: CInt = -1
    init?(_ folder: String) { nil }
    func drain() {}
}
#endif
#endif
