import Foundation

extension PeerSocket {
    /// How many bytes were written to the socket and not yet acknowledged by the peer's system; 0 when nothing is known.
    var unacknowledgedByteCount: Int {
        var count: CInt = 0
        #if canImport(Darwin)
            var length = socklen_t(MemoryLayout.size(ofValue: count))
            guard getsockopt(self.descriptor, SOL_SOCKET, SO_NWRITE, &count, &length) == 0 else { return 0 }
        #else
            // SIOCOUTQ of tcp(7), by its other name.
            guard ioctl(self.descriptor, UInt(TIOCOUTQ), &count) == 0 else { return 0 }
        #endif
        return Int(count)
    }
}
