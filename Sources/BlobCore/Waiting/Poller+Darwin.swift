#if canImport(Darwin)
import BlobPlatform

/// The readiness of descriptors, as reported by `kqueue(2)`.
///
/// Never closed: the only event loop of the process owns it. Safe to use on any thread; only one thread waits.
struct Poller: Sendable {
    private static let eventCount = 128

    private let queue: CInt

    init() throws(BlobError) {
        self.queue = kqueue()
        guard self.queue >= 0 else { throw BlobError(systemError: errno, doing: "Could not create a kqueue") }
        _ = fcntl(self.queue, F_SETFD, FD_CLOEXEC)
        guard self.change(0, EVFILT_USER, EV_ADD | EV_CLEAR) == 0 else {
            let error = BlobError(systemError: errno, doing: "Could not create an event")
            _ = close(self.queue)
            throw error
        }
    }

    /// Reports `tag` once, when `descriptor` is readable, hung up or in error. Replaces the tag of an earlier call.
    ///
    /// - Returns: False if the descriptor cannot be waited for, such as a regular file or `/dev/null`.
    func watch(_ descriptor: CInt, tag: UInt64) throws(BlobError) -> Bool {
        var status = stat()
        if fstat(descriptor, &status) == 0 {
            // At the end of a regular file, the filter waits for the file to grow.
            let type = status.st_mode & S_IFMT
            guard type != S_IFREG, type != S_IFDIR else { return false }
            if self.change(UInt(descriptor), EVFILT_READ, EV_ADD | EV_ONESHOT, tag: tag) == 0 { return true }
            // Some devices have no filter.
            let isDevice = type == S_IFCHR || type == S_IFBLK
            if isDevice, [EINVAL, ENODEV, ENOTSUP, EPERM].contains(errno) { return false }
        }
        throw BlobError(systemError: errno, doing: "Could not wait for descriptor \(descriptor)")
    }

    /// Stops watching; a closed descriptor is no longer watched anyway.
    func unwatch(_ descriptor: CInt) { _ = self.change(UInt(descriptor), EVFILT_READ, EV_DELETE) }

    /// Blocks until a descriptor is ready, ``wake()`` is called, `timeout` passes (nil for no timeout) or a signal
    /// arrives.
    ///
    /// - Returns: The tags of the ready descriptors.
    func wait(_ timeout: Duration?) -> [UInt64] {
        withUnsafeTemporaryAllocation(of: kevent.self, capacity: Self.eventCount) { events in
            let parts = timeout?.components
            var limit = timespec(
                tv_sec: Int(parts?.seconds ?? 0), tv_nsec: Int((parts?.attoseconds ?? 0) / 1_000_000_000))
            let count = withUnsafePointer(to: &limit) { limit in
                kevent(
                    self.queue, nil, 0, events.baseAddress, CInt(events.count), timeout == nil ? nil : limit)
            }
            return events.prefix(max(Int(count), 0)).filter { $0.filter == Int16(EVFILT_READ) }
                .map { UInt64(UInt(bitPattern: $0.udata)) }
        }
    }

    /// Ends the current wait, or the next one.
    func wake() { _ = self.change(0, EVFILT_USER, 0, filterFlags: UInt32(NOTE_TRIGGER)) }

    private func change(
        _ identifier: UInt, _ filter: CInt, _ flags: CInt, filterFlags: UInt32 = 0, tag: UInt64 = 0
    ) -> CInt {
        var event = kevent(
            ident: identifier, filter: Int16(filter), flags: UInt16(flags), fflags: filterFlags, data: 0,
            udata: UnsafeMutableRawPointer(bitPattern: UInt(tag)))
        return kevent(self.queue, &event, 1, nil, 0, nil)
    }
}
#endif
