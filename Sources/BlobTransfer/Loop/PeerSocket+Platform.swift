import BlobPlatform

extension PeerSocket {
    /// True if the system reports whether the peer had already closed a connection when it was reset.
    static let reportsResets: Bool = {
        #if os(Linux)
        true
        #else
        false
        #endif
    }()

    /// The number of bytes written to the socket but not yet acknowledged by the peer's system; 0 if unknown.
    var unacknowledgedByteCount: Int {
        var count: CInt = 0
        #if canImport(Darwin)
        var length = socklen_t(MemoryLayout.size(ofValue: count))
        guard getsockopt(self.descriptor, SOL_SOCKET, SO_NWRITE, &count, &length) == 0 else { return 0 }
        #else
        // The same constant as SIOCOUTQ; see tcp(7).
        guard ioctl(self.descriptor, UInt(TIOCOUTQ), &count) == 0 else { return 0 }
        #endif
        return Int(count)
    }
}
