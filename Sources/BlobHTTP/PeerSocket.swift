import BlobStreams
import Foundation

/// The socket of a request, which knows what libcurl does not tell: how far the peer's system has come.
struct PeerSocket: Equatable {
    let descriptor: CInt

    init(_ descriptor: CInt) { self.descriptor = descriptor }

    /// Reads what has come, without waiting.
    func receive(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        recv(self.descriptor, buffer.baseAddress, buffer.count, CInt(MSG_DONTWAIT))
    }

    /// Ends our direction and waits for the peer to end its own; true when it resets the connection instead.
    ///
    /// A system resets a connection whose program closed it without having read everything. Bytes that still come are
    /// dropped.
    func isReset(within limit: Duration) -> Bool {
        // What came before says more than the answer to our end.
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

    /// True when the system has an error to report. Asking for the error itself would take it away.
    private var hasFailed: Bool {
        var request = pollfd(fd: self.descriptor, events: 0, revents: 0)
        return poll(&request, 1, 0) > 0 && request.revents & Int16(POLLERR) != 0
    }
}
