#if Photos
#if os(Linux)
import BlobCore
import Foundation

/// The events of the files in a folder, reported by `inotify(7)`.
///
/// Network file systems report only changes made on this machine, so callers that wait for events must also poll.
final class FolderEvents: Sendable {
    private let events: Descriptor

    /// The descriptor, which is readable while events are pending.
    var descriptor: CInt { self.events.rawValue }

    /// Returns nil if the limit of watches in the system is reached, or if the folder cannot be watched.
    init?(_ folder: String) {
        guard let events = try? Descriptor(inotify_init1(CInt(IN_NONBLOCK) | CInt(IN_CLOEXEC)), doing: ""),
            inotify_add_watch(events.rawValue, folder, UInt32(IN_MODIFY | IN_CREATE | IN_MOVED_TO)) >= 0
        else { return nil }
        self.events = events
    }

    /// Discards all pending events; does not wait.
    func drain() {
        withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 8) { buffer in
            while case let count = read(self.descriptor, buffer.baseAddress, buffer.count),
                count > 0 || count < 0 && errno == EINTR
            {}
        }
    }
}
#else
/// The events of the files in a folder, which are not available on this platform, where changes are found by polling.
final class FolderEvents: Sendable {
    let descriptor: CInt = -1
    init?(_ folder: String) { nil }
    func drain() {}
}
#endif
#endif
