import BlobCore
import BlobPlatform

/// The socket of a request, which shows what libcurl does not report: how much the peer's system has received.
struct PeerSocket: Equatable {
    private static let maximumReceiveCount = 16

    let descriptor: CInt

    init(_ descriptor: CInt) { self.descriptor = descriptor }

    /// Reads the bytes that have arrived, without waiting.
    func receive(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        recv(self.descriptor, buffer.baseAddress, buffer.count, CInt(MSG_DONTWAIT))
    }

    /// Ends sending; false when the connection has no peer any more.
    func shutDown() -> Bool { shutdown(self.descriptor, CInt(SHUT_WR)) == 0 }

    func close() { _ = BlobPlatform.close(self.descriptor) }

    /// Drops bytes that have arrived, and returns whether the peer reset the connection when it closed its side; nil
    /// while that is open.
    ///
    /// A system resets a connection whose program closed it without having read everything. What is sent to one whose
    /// program closed it after that, such as the end of TLS, is answered by a reset, too; Linux tells them apart: that
    /// one is `EPIPE`.
    func takeReset() -> Bool? {
        withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 16) { buffer in
            // A peer that sends without an end must not hold up others.
            for _ in 0..<Self.maximumReceiveCount {
                let count = self.receive(into: buffer)
                if count == 0 { return self.takeError() == ECONNRESET }
                if count < 0, errno != EINTR { return errno == EAGAIN ? nil : errno == ECONNRESET }
            }
            return nil
        }
    }

    /// True when there are bytes to read, or the end.
    var hasInput: Bool {
        var request = pollfd(fd: self.descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&request, 1, 0) > 0
    }

    /// Returns the pending error, and clears it; 0 without one.
    private func takeError() -> CInt {
        var (error, length): (CInt, _) = (0, socklen_t(MemoryLayout<CInt>.size))
        return getsockopt(self.descriptor, SOL_SOCKET, SO_ERROR, &error, &length) == 0 ? error : 0
    }

    /// True when the socket has a pending error. Reading the error itself would clear it.
    var hasFailed: Bool {
        var request = pollfd(fd: self.descriptor, events: 0, revents: 0)
        return poll(&request, 1, 0) > 0 && request.revents & Int16(POLLERR) != 0
    }
}
