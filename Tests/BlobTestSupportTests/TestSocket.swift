import BlobCore
import BlobTestSupport
import Foundation

/// A connected socket that blocks. Closed when it is released.
final class TestSocket: Sendable {
    /// The bytes of a connection, and how it ended.
    enum Received: Equatable {
        case end([UInt8])
        case reset([UInt8])

        var isReset: Bool {
            if case .reset = self { true } else { false }
        }
    }

    private let descriptor: CInt

    init(_ descriptor: CInt) { self.descriptor = descriptor }

    convenience init(port: UInt16) throws {
        self.init(makeStreamSocket())
        var address = makeLoopbackAddress(port: port)
        let status = withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(self.descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard status == 0 else { throw BlobError(systemError: errno, doing: "Could not connect") }
    }

    deinit { close(self.descriptor) }

    /// Sends as much as the peer takes.
    func send(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while !rest.isEmpty, case let count = rest.withUnsafeBytes({ sendQuietly(self.descriptor, $0) }), count > 0 {
            rest = rest.dropFirst(count)
        }
    }

    /// Ends the direction to the peer.
    func end() { shutdown(self.descriptor, CInt(SHUT_WR)) }

    /// Receives at most `count` bytes; none at the end, nil after a reset.
    fileprivate func receiveSome(_ count: Int) -> [UInt8]? {
        var received = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initializedCount in
            received = recv(self.descriptor, buffer.baseAddress, buffer.count, 0)
            initializedCount = max(received, 0)
        }
        return received < 0 ? nil : bytes
    }

    /// Receives `count` bytes, fewer at the end.
    func receive(count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count, let part = self.receiveSome(count - bytes.count), !part.isEmpty { bytes += part }
        return bytes
    }

    func receiveAll() -> Received {
        var bytes: [UInt8] = []
        while let part = self.receiveSome(1 << 16) {
            guard !part.isEmpty else { return .end(bytes) }
            bytes += part
        }
        return .reset(bytes)
    }

    /// True when bytes, the end or an error come within a number of milliseconds.
    func hasNews(within milliseconds: CInt) -> Bool {
        var request = pollfd(fd: self.descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&request, 1, milliseconds) > 0
    }
}

/// A server that does the same with each connection, on a thread of its own.
final class TestServer: Sendable {
    enum Behaviour: Sendable {
        /// Sends back what it receives.
        case echo
        /// Sends bytes.
        case send([UInt8])
    }

    private let listener: LoopbackListener
    /// The bytes of each connection that ended.
    let received = Recorder<[UInt8]>()
    var port: UInt16 { self.listener.port }

    init(_ behaviour: Behaviour) throws {
        let listener = try LoopbackListener()
        self.listener = listener
        Thread.detachNewThread { [received] in
            while case let descriptor = accept(listener.descriptor, nil, nil), descriptor >= 0 {
                let socket = TestSocket(descriptor)
                Thread.detachNewThread {
                    switch behaviour {
                    case .send(let bytes): socket.send(bytes)
                    case .echo:
                        var all: [UInt8] = []
                        while let bytes = socket.receiveSome(1 << 16), !bytes.isEmpty {
                            all += bytes
                            socket.send(bytes)
                        }
                        received.append(all)
                    }
                }
            }
            close(listener.descriptor)
        }
    }

    deinit { shutdown(self.listener.descriptor, CInt(SHUT_RDWR)) }
}
