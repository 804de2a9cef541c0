import BlobCore
package import Foundation

/// A socket that listens on 127.0.0.1, on a port that the system chooses. The owner closes its descriptor.
package struct LoopbackListener: Sendable {
    /// The descriptor, for `accept(2)`.
    package let descriptor: CInt
    /// The port that was chosen.
    package let port: UInt16

    /// Makes a socket that listens.
    ///
    /// - Parameter receiveBufferByteCount: How much the system takes ahead of each connection; nil leaves that to it.
    package init(receiveBufferByteCount: CInt? = nil) throws {
        let descriptor = makeStreamSocket()
        if var receiveBufferByteCount {
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &receiveBufferByteCount, socklen_t(MemoryLayout<CInt>.size))
        }
        var address = makeLoopbackAddress(port: 0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(descriptor, address, length) == 0 && listen(descriptor, 64) == 0
                    && getsockname(descriptor, address, &length) == 0
            }
        }
        guard isListening else {
            let error = BlobError(systemError: errno, doing: "Could not listen")
            close(descriptor)
            throw error
        }
        self.descriptor = descriptor
        self.port = UInt16(bigEndian: address.sin_port)
    }
}

/// The address of a port of this machine, in the byte order of the network.
package func makeLoopbackAddress(port: UInt16) -> sockaddr_in {
    var address = makeAddress()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return address
}
