import Foundation

#if canImport(Darwin)
/// A new TCP socket, which child processes do not inherit where the system knows that at once.
package func makeStreamSocket() -> CInt { socket(AF_INET, SOCK_STREAM, 0) }

/// An address of which only the length is set, on systems that have one.
func makeAddress() -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_len = UInt8(MemoryLayout<sockaddr_in>.size)
    return address
}

/// Sends without a signal when nobody reads any more; returns as `send(2)` does.
package func sendQuietly(_ descriptor: CInt, _ bytes: UnsafeRawBufferPointer) -> Int {
    var yes: CInt = 1
    setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &yes, socklen_t(MemoryLayout<CInt>.size))
    return send(descriptor, bytes.baseAddress, bytes.count, 0)
}

/// The number of bytes sent that the peer has not acknowledged.
func unacknowledgedByteCount(_ descriptor: CInt) -> CInt {
    var (count, length) = (CInt(0), socklen_t(MemoryLayout<CInt>.size))
    getsockopt(descriptor, SOL_SOCKET, SO_NWRITE, &count, &length)
    return count
}
#else
/// A new TCP socket, which child processes do not inherit where the system knows that at once.
package func makeStreamSocket() -> CInt { socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0) }

/// An address of which only the length is set, on systems that have one.
func makeAddress() -> sockaddr_in { sockaddr_in() }

/// Sends without a signal when nobody reads any more; returns as `send(2)` does.
package func sendQuietly(_ descriptor: CInt, _ bytes: UnsafeRawBufferPointer) -> Int {
    send(descriptor, bytes.baseAddress, bytes.count, CInt(MSG_NOSIGNAL))
}

/// The number of bytes sent that the peer has not acknowledged.
func unacknowledgedByteCount(_ descriptor: CInt) -> CInt {
    var count: CInt = 0
    _ = ioctl(descriptor, UInt(TIOCOUTQ), &count)
    return count
}
#endif
