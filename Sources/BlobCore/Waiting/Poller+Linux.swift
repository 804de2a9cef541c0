#if !canImport(Darwin)
internal import CPlatform
import BlobPlatform

/// The readiness of descriptors, as reported by `epoll(7)`.
///
/// Never closed: the only event loop of the process owns it. Safe to use on any thread; only one thread waits.
struct Poller: Sendable {
    private static let wakeTag = UInt64.max
    private static let eventCount = 128

    private let epoll: CInt
    private let wakeDescriptor: CInt

    init() throws(BlobError) {
        self.epoll = epoll_create1(CInt(EPOLL_CLOEXEC))
        guard self.epoll >= 0 else { throw BlobError(systemError: errno, doing: "Could not create an epoll instance") }
        self.wakeDescriptor = eventfd(0, CInt(EFD_CLOEXEC | EFD_NONBLOCK))
        var event = epoll_event(events: EPOLLIN.rawValue, data: epoll_data_t(u64: Self.wakeTag))
        guard self.wakeDescriptor >= 0, epoll_ctl(self.epoll, EPOLL_CTL_ADD, self.wakeDescriptor, &event) == 0 else {
            let error = BlobError(systemError: errno, doing: "Could not create an eventfd")
            if self.wakeDescriptor >= 0 { _ = close(self.wakeDescriptor) }
            _ = close(self.epoll)
            throw error
        }
    }

    /// Reports `tag` once, when `descriptor` is readable, hung up or in error. Replaces the tag of an earlier call.
    ///
    /// - Returns: False if the descriptor cannot be waited for, such as a regular file or `/dev/null`.
    func watch(_ descriptor: CInt, tag: UInt64) throws(BlobError) -> Bool {
        var event = epoll_event(events: EPOLLIN.rawValue | EPOLLONESHOT.rawValue, data: epoll_data_t(u64: tag))
        if epoll_ctl(self.epoll, EPOLL_CTL_ADD, descriptor, &event) == 0 { return true }
        if errno == EEXIST, epoll_ctl(self.epoll, EPOLL_CTL_MOD, descriptor, &event) == 0 { return true }
        guard errno == EPERM else {
            throw BlobError(systemError: errno, doing: "Could not wait for descriptor \(descriptor)")
        }
        return false
    }

    /// Stops watching; a closed descriptor is no longer watched anyway.
    func unwatch(_ descriptor: CInt) { _ = epoll_ctl(self.epoll, EPOLL_CTL_DEL, descriptor, nil) }

    /// Blocks until a descriptor is ready, ``wake()`` is called, `timeout` passes (nil for no timeout) or a signal
    /// arrives.
    ///
    /// - Returns: The tags of the ready descriptors.
    func wait(_ timeout: Duration?) -> [UInt64] {
        withUnsafeTemporaryAllocation(of: epoll_event.self, capacity: Self.eventCount) { events in
            // Rounded up, so that the loop does not spin for the last fraction of a millisecond.
            let milliseconds = timeout.map { CInt(clamping: Int64(($0.timeInterval * 1000).rounded(.up))) } ?? -1
            let count = epoll_wait(self.epoll, events.baseAddress, CInt(events.count), milliseconds)
            let tags = events.prefix(max(Int(count), 0)).map(\.data.u64)
            guard tags.contains(Self.wakeTag) else { return tags }
            var wakeUpCount: UInt64 = 0
            _ = read(self.wakeDescriptor, &wakeUpCount, MemoryLayout.size(ofValue: wakeUpCount))
            return tags.filter { $0 != Self.wakeTag }
        }
    }

    /// Ends the current wait, or the next one.
    func wake() {
        var one: UInt64 = 1
        _ = write(self.wakeDescriptor, &one, MemoryLayout.size(ofValue: one))
    }
}
#endif
