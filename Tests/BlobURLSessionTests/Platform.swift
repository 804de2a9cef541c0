import Foundation

// What differs between the systems that the tests run on.
#if canImport(Darwin)
    /// The longest body of a known length that is sent with it.
    let announcedByteLimit = Int.max

    let streamSocket = SOCK_STREAM

    func makeAddress() -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_len = UInt8(MemoryLayout<sockaddr_in>.size)
        return address
    }

    /// Sends without a signal when nobody reads any more.
    func sendQuietly(_ descriptor: CInt, _ bytes: UnsafeRawBufferPointer) -> Int {
        var yes: CInt = 1
        setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &yes, socklen_t(MemoryLayout<CInt>.size))
        return send(descriptor, bytes.baseAddress, bytes.count, 0)
    }
#else
    /// The longest body of a known length that is sent with it.
    let announcedByteLimit = 64 * 1024

    let streamSocket = CInt(SOCK_STREAM.rawValue)

    func makeAddress() -> sockaddr_in { sockaddr_in() }

    /// Sends without a signal when nobody reads any more.
    func sendQuietly(_ descriptor: CInt, _ bytes: UnsafeRawBufferPointer) -> Int {
        send(descriptor, bytes.baseAddress, bytes.count, CInt(MSG_NOSIGNAL))
    }
#endif
