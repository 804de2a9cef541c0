import BlobCore
import Foundation

/// The socket of a request, which shows what libcurl does not report: how much the peer's system has received.
struct PeerSocket: Equatable {
    let descriptor: CInt

    init(_ descriptor: CInt) { self.descriptor = descriptor }

    /// Reads the bytes that have arrived, without waiting.
    func receive(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        recv(self.descriptor, buffer.baseAddress, buffer.count, CInt(MSG_DONTWAIT))
    }

    /// Shuts down sending, and waits for the peer to close its side; true when it resets the connection instead.
    ///
    /// A system resets a connection whose program closed it without having read everything. Bytes that still arrive are
    /// dropped.
    func isReset(within limit: Duration) -> Bool {
        // A reset before the shutdown is more conclusive than the reaction to it.
        if self.hasFailed { return true }
        guard shutdown(self.descriptor, CInt(SHUT_WR)) == 0 else { return self.hasFailed }
        let end = ContinuousClock.now + limit
        return withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 16) { buffer in
            while case let rest = end - .now, rest > .zero {
                var request = pollfd(fd: self.descriptor, events: Int16(POLLIN), revents: 0)
                guard poll(&request, 1, CInt((rest.timeInterval * 1000).rounded(.up))) > 0 else { continue }
                let count = self.receive(into: buffer)
                if count == 0 { return self.hasFailed }
                if count < 0, errno != EINTR, errno != EAGAIN { return errno == ECONNRESET || errno == EPIPE }
            }
            return false
        }
    }

    /// True when there are bytes to read, or the end.
    var hasInput: Bool {
        var request = pollfd(fd: self.descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&request, 1, 0) > 0
    }

    /// True when the socket has a pending error. Reading the error itself would clear it.
    var hasFailed: Bool {
        var request = pollfd(fd: self.descriptor, events: 0, revents: 0)
        return poll(&request, 1, 0) > 0 && request.revents & Int16(POLLERR) != 0
    }
}
