import BlobPlatform
import CCurl

/// A transfer that looks at the socket of its request.
package protocol SocketUser: AnyObject {
    /// Takes the socket, which libcurl is about to close; returns false to close it later.
    func closes(_ descriptor: CInt) -> Bool
}

/// The sockets of the connections of a loop, which libcurl does not tell while a request is under way.
package final class OpenSockets {
    private var descriptors: Set<CInt> = []
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
            sockets?.descriptors.remove(descriptor)
            return sockets?.users.removeValue(forKey: descriptor)?.closes(descriptor) == false ? 0 : close(descriptor)
        }
    }

    /// Gives a transfer the socket with the two ports, until it is closed or released; nil when it cannot be told.
    package func claim(localPort: CInt, remotePort: CInt, for user: any SocketUser) -> CInt? {
        let found = self.descriptors.filter {
            port(of: $0, getsockname) == localPort && port(of: $0, getpeername) == remotePort
        }
        guard let descriptor = found.first, found.count == 1 else { return nil }
        self.users[descriptor] = user
        return descriptor
    }

    package func release(_ descriptor: CInt) { self.users[descriptor] = nil }
}

private func sockets(_ data: UnsafeMutableRawPointer?) -> OpenSockets? {
    data.map { Unmanaged<OpenSockets>.fromOpaque($0).takeUnretainedValue() }
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
