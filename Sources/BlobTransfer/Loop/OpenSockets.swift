import BlobPlatform
import CCurl

/// A transfer that looks at the socket of its request.
package protocol SocketUser: AnyObject {
    /// Takes the socket, which libcurl is about to close; returns false to close it later.
    func closes(_ descriptor: CInt) -> Bool
}

/// The sockets of the connections of a loop, which libcurl does not tell while a request is under way.
package final class OpenSockets {
    /// The sockets whose ports are not known: they were not connected when they were last asked.
    private var descriptors: Set<CInt> = []
    private var connected: [Ports: Set<CInt>] = [:]
    private var users: [CInt: any SocketUser] = [:]

    /// Registers the callbacks for the sockets of a request, which may outlive it.
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
            return sockets?.users.removeValue(forKey: descriptor)?.closes(descriptor) == false ? 0 : close(descriptor)
        }
    }

    /// Gives a transfer the socket with the two ports, until it is closed or released; nil when it cannot be told.
    package func claim(localPort: CInt, remotePort: CInt, for user: any SocketUser) -> CInt? {
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

    package func release(_ descriptor: CInt) { self.users[descriptor] = nil }
}

private func sockets(_ data: UnsafeMutableRawPointer?) -> OpenSockets? {
    data.map { Unmanaged<OpenSockets>.fromOpaque($0).takeUnretainedValue() }
}

private struct Ports: Hashable {
    let local: CInt
    let remote: CInt

    init(local: CInt, remote: CInt) { (self.local, self.remote) = (local, remote) }

    /// The ports of a socket; nil before it is connected.
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
        // In both families, the port follows the family.
        let offset = MemoryLayout<sockaddr_in>.offset(of: \.sin_port) ?? 0
        return CInt(UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt16.self)))
    }
}
