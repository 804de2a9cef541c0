import BlobCore
import BlobPlatform
import CCurl

/// The socket of a request. It shows how much data the peer's system has received, which libcurl does not report.
struct PeerSocket: Equatable {
    private static let maximumReceiveCount = 16

    let descriptor: CInt

    init(_ descriptor: CInt) { self.descriptor = descriptor }

    /// Reads the bytes that have arrived, without waiting.
    func receive(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        recv(self.descriptor, buffer.baseAddress, buffer.count, CInt(MSG_DONTWAIT))
    }

    /// Shuts down sending; returns false if the connection no longer has a peer.
    func shutDown() -> Bool { shutdown(self.descriptor, CInt(SHUT_WR)) == 0 }

    func close() { _ = BlobPlatform.close(self.descriptor) }

    /// Discards bytes that have arrived. Returns whether the peer reset the connection when it closed its side; nil
    /// while the peer's side is open.
    ///
    /// A system resets a connection if its program closed it with unread data. Data that arrives after the program
    /// closed the connection, such as the closing message of TLS, also causes a reset. Linux reports the latter as
    /// `EPIPE`.
    func takeReset() -> Bool? {
        withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 16) { buffer in
            // A peer that sends endlessly must not delay other connections.
            for _ in 0..<Self.maximumReceiveCount {
                let count = self.receive(into: buffer)
                if count == 0 { return self.takeError() == ECONNRESET }
                if count < 0, errno != EINTR { return errno == EAGAIN ? nil : errno == ECONNRESET }
            }
            return nil
        }
    }

    /// True if bytes or the end can be read.
    var hasInput: Bool {
        var request = pollfd(fd: self.descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&request, 1, 0) > 0
    }

    /// Returns and clears the pending error; 0 if no error is pending.
    private func takeError() -> CInt {
        var (error, length): (CInt, _) = (0, socklen_t(MemoryLayout<CInt>.size))
        return getsockopt(self.descriptor, SOL_SOCKET, SO_ERROR, &error, &length) == 0 ? error : 0
    }

    /// True if the socket has a pending error. Reading the error itself would clear it.
    var hasFailed: Bool {
        var request = pollfd(fd: self.descriptor, events: 0, revents: 0)
        return poll(&request, 1, 0) > 0 && request.revents & Int16(POLLERR) != 0
    }
}

/// A transfer that uses the socket of its request.
protocol SocketUser: AnyObject {
    /// Called before libcurl closes the socket. Returns false to keep the socket open and close it later.
    func willClose(_ descriptor: CInt) -> Bool
}

/// The sockets of a loop's connections, which libcurl does not report while a request is in progress.
final class OpenSockets {
    /// The sockets whose ports are unknown, because they were not connected when last checked.
    private var descriptors: Set<CInt> = []
    private var connected: [Ports: Set<CInt>] = [:]
    private var users: [CInt: any SocketUser] = [:]

    /// Registers the socket callbacks of a request. The sockets may outlive the request.
    func observe(_ handle: CurlHandle) {
        let this = Unmanaged.passUnretained(self).toOpaque()
        handle.set(CURLOPT_SOCKOPTDATA, this)
        handle.set(CURLOPT_CLOSESOCKETDATA, this)
        handle.setSocketObserver { data, descriptor, _ in
            sockets(data)?.descriptors.insert(descriptor)
            return CInt(CURL_SOCKOPT_OK)
        }
        handle.setCloser { data, descriptor in
            let sockets = sockets(data)
            sockets?.forget(descriptor)
            return sockets?.users.removeValue(forKey: descriptor)?.willClose(descriptor) == false
                ? 0 : close(descriptor)
        }
    }

    /// Assigns the socket with the two ports to a transfer until it is closed or released; returns nil unless exactly
    /// one socket has these ports.
    func claim(localPort: CInt, remotePort: CInt, for user: any SocketUser) -> CInt? {
        for descriptor in self.descriptors {
            guard let ports = Ports(of: descriptor) else { continue }
            self.descriptors.remove(descriptor)
            self.connected[ports, default: []].insert(descriptor)
        }
        let found = self.connected[Ports(local: localPort, remote: remotePort)] ?? []
        guard let descriptor = found.first, found.count == 1 else { return nil }
        self.users[descriptor] = user
        return descriptor
    }

    private func forget(_ descriptor: CInt) {
        guard self.descriptors.remove(descriptor) == nil else { return }
        for (ports, descriptors) in self.connected where descriptors.contains(descriptor) {
            self.connected[ports] = descriptors.count == 1 ? nil : descriptors.subtracting([descriptor])
        }
    }

    func release(_ descriptor: CInt) { self.users[descriptor] = nil }
}

private func sockets(_ data: UnsafeMutableRawPointer?) -> OpenSockets? {
    data.map { Unmanaged<OpenSockets>.fromOpaque($0).takeUnretainedValue() }
}

private struct Ports: Hashable {
    let local: CInt
    let remote: CInt

    init(local: CInt, remote: CInt) { (self.local, self.remote) = (local, remote) }

    /// Reads the ports of a socket; fails before the socket is connected.
    init?(of descriptor: CInt) {
        guard let local = port(of: descriptor, getsockname), let remote = port(of: descriptor, getpeername) else {
            return nil
        }
        self.init(local: local, remote: remote)
    }
}

private func port(
    of descriptor: CInt, _ name: (CInt, UnsafeMutablePointer<sockaddr>?, UnsafeMutablePointer<socklen_t>?) -> CInt
) -> CInt? {
    var (address, length) = (sockaddr_storage(), socklen_t(MemoryLayout<sockaddr_storage>.size))
    let result = withUnsafeMutableBytes(of: &address) { bytes in
        name(descriptor, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), &length)
    }
    guard result == 0 else { return nil }
    return withUnsafeBytes(of: &address) { bytes in
        // In both address families, the port directly follows the family.
        let offset = MemoryLayout<sockaddr_in>.offset(of: \.sin_port) ?? 0
        return CInt(UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt16.self)))
    }
}

/// The sockets of successful uploads whose peers have not yet closed their side.
struct ClosingSockets {
    private struct Closing {
        let socket: PeerSocket
        let deadline: CompactInstant
        let done: (_ isReset: Bool) -> Void
    }

    private var closings: [Closing] = []

    var isEmpty: Bool { self.closings.isEmpty }

    /// The earliest end of a wait; nil if there are no sockets.
    var deadline: CompactInstant? { self.closings.map(\.deadline).min() }

    /// The sockets with the events to wait for, in libcurl's format.
    var pollDescriptors: [curl_waitfd] {
        self.closings.map { curl_waitfd(fd: $0.socket.descriptor, events: Int16(CURL_WAIT_POLLIN), revents: 0) }
    }

    /// Shuts down sending, and waits up to `limit` for the peer to close its side or reset the connection.
    ///
    /// - Parameter done: Called once, after the socket is closed.
    mutating func close(_ socket: PeerSocket, within limit: Duration, done: @escaping (_ isReset: Bool) -> Void) {
        let closing = Closing(socket: socket, deadline: CompactInstant(.now + limit), done: done)
        // A reset before the shutdown cannot be a reaction to it.
        if let isReset = socket.takeReset() { return Self.end(closing, isReset: isReset) }
        guard socket.shutDown() else { return Self.end(closing, isReset: socket.takeReset() ?? false) }
        self.closings.append(closing)
    }

    /// Ends the waits that are complete.
    mutating func check() {
        guard !self.closings.isEmpty else { return }
        let now = CompactInstant.now
        self.closings.removeAll { closing in
            let isReset = closing.socket.takeReset() ?? (now >= closing.deadline ? false : nil)
            if let isReset { Self.end(closing, isReset: isReset) }
            return isReset != nil
        }
    }

    /// Closes all sockets without waiting, reporting no resets.
    mutating func endAll() {
        for closing in self.closings { Self.end(closing, isReset: false) }
        self.closings = []
    }

    private static func end(_ closing: Closing, isReset: Bool) {
        closing.socket.close()
        closing.done(isReset)
    }
}
