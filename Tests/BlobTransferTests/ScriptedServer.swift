import BlobStreams
import BlobTestSupport
import Foundation
import Testing

/// A server for one test: does with each connection what the test says. Ends when it is released.
final class ScriptedServer: Sendable {
    private let server: LoopbackServer

    var url: String { "http://127.0.0.1:\(self.server.port)/x" }

    /// How many connections there were.
    var connectionCount: Int { self.server.connectionCount }

    /// - Parameters:
    ///   - receiveBufferByteCount: How much the system takes for the script; nil is what it likes.
    ///   - script: Runs on a thread of the server, for each connection, which is closed when it returns.
    init(
        receiveBufferByteCount: CInt? = nil, _ script: @escaping @Sendable (Connection) throws -> Void
    ) throws {
        self.server = try LoopbackServer(receiveBufferByteCount: receiveBufferByteCount)
        self.server.start { try? script(Connection($0)) }
    }

    /// Ends the server before it is released.
    func stop() { self.server.stop() }

    /// One connection. Used by one thread.
    final class Connection: @unchecked Sendable {
        private let descriptor: CInt
        private(set) var received: [UInt8] = []

        fileprivate init(_ descriptor: CInt) {
            self.descriptor = descriptor
            // A test that waits for what never comes ends all the same.
            var limit = timeval(tv_sec: 20, tv_usec: 0)
            setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        }

        func send(_ text: String) { self.send(Array(text.utf8)) }

        func send(_ bytes: [UInt8]) { _ = bytes.withUnsafeBytes { sendQuietly(self.descriptor, $0) } }

        /// False at the end of the connection.
        func receive() -> Bool {
            withUnsafeTemporaryAllocation(byteCount: 1 << 16, alignment: 16) { buffer in
                let count = recv(self.descriptor, buffer.baseAddress, buffer.count, 0)
                if count > 0 { self.received.append(contentsOf: buffer[..<count]) }
                return count > 0
            }
        }

        func receiveAll() { while self.receive() {} }

        private var bodyStart: Int?
        private var hasContinued = false

        /// The bytes behind the head; nil before its end.
        var body: ArraySlice<UInt8>? {
            // A head is short, and looked for until it is found.
            self.bodyStart = self.bodyStart ?? headCount(self.received.prefix(4096))
            return self.bodyStart.map { self.received[$0...] }
        }

        /// Waits for a body of at least so many bytes, in whatever framing.
        func receiveBody(_ byteCount: Int) {
            while self.body == nil, self.receive() {}
            let head = String(decoding: self.received.prefix(self.bodyStart ?? 0), as: UTF8.self)
            if head.contains("Expect: 100-continue"), !self.hasContinued {
                self.hasContinued = true
                self.send("HTTP/1.1 100 Continue\r\n\r\n")
            }
            while self.body?.count ?? 0 < byteCount, self.receive() {}
        }

        /// Waits for a body of so many bytes, or for the last chunk.
        func receiveBody(_ byteCount: Int, isChunked: Bool) {
            self.receiveBody(isChunked ? 0 : byteCount)
            while isChunked, self.body?.suffix(5).elementsEqual("0\r\n\r\n".utf8) != true, self.receive() {}
        }

        /// Drops the request, before another one on this connection.
        func forget() { (self.received, self.bodyStart, self.hasContinued) = ([], nil, false) }

        /// Waits until the system has so many bytes for this program, and leaves them there.
        func waitForUnread(_ byteCount: Int) {
            var (count, request) = (CInt(byteCount), pollfd(fd: self.descriptor, events: Int16(POLLIN), revents: 0))
            setsockopt(self.descriptor, SOL_SOCKET, SO_RCVLOWAT, &count, socklen_t(MemoryLayout<CInt>.size))
            _ = poll(&request, 1, 20_000)
        }

        /// Waits until the client has ended its direction, without reading what it has sent.
        func waitForEnd() {
            #if os(Linux)
            var request = pollfd(fd: self.descriptor, events: Int16(0x2000), revents: 0)  // POLLRDHUP
            _ = poll(&request, 1, 20_000)
            #endif
        }

        /// Makes closing a reset.
        func reset() {
            var linger = linger(l_onoff: 1, l_linger: 0)
            setsockopt(self.descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
        }
    }
}

let created = "HTTP/1.1 201 Created\r\nContent-Length: 3\r\nX-Name: value\r\n\r\nyes"
