#if Command
import BlobTestSupport
import Foundation
import Testing

/// Starts a receiver that stores what arrives in a folder; it, and its port.
func startReceiver(
    in folder: TemporaryFolder, _ arguments: [String] = [], prelude: String? = nil
) throws -> (RunningProcess, UInt16) {
    let receiver = try Launch(["receive", "--directory", folder.path] + arguments).with { $0.prelude = prelude }.start()
    return (receiver, try receiver.waitForPort())
}

/// Runs `body` with a receiver and its port.
func withReceiver(
    _ arguments: String..., prelude: String? = nil, body: (RunningProcess, UInt16) throws -> Void
) throws {
    let folder = try TemporaryFolder()
    let (receiver, port) = try startReceiver(in: folder, arguments, prelude: prelude)
    defer { receiver.send(SIGKILL) }
    try body(receiver, port)
    // What a sender gave up is removed soon, and by another thread than the one that serves the next.
    receiver.wait { folder.names.allSatisfy { !$0.hasSuffix(".part") } }
}

extension RunningProcess {
    /// Waits for the URL of a receiver, and returns its port.
    func waitForPort() throws -> UInt16 {
        self.waitForLines(1)
        return try #require(self.lines.first?.split(separator: ":").last.flatMap { UInt16($0.dropLast()) })
    }

    /// Expects that the next thing it reports is a request made now.
    func expectNothing(_ port: UInt16) throws {
        let client = try Client(port)
        client.send("PUT /marker HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nConnection: close\r\n\r\na")
        #expect(client.receiveAll().hasPrefix("HTTP/1.1 201 "))
        self.waitForLines(2)
        #expect(self.lines.count == 2)
        #expect(self.lines.last?.contains("\"name\":\"marker\"") == true)
    }
}

/// A connection that sends what a test likes.
final class Client {
    private let descriptor: CInt
    private var isOpen = true

    /// - Parameter connectLimit: The maximum number of seconds until the connection is made; nil is none.
    init(_ port: UInt16, connectingWithin connectLimit: Int? = nil) throws {
        self.descriptor = makeStreamSocket()
        if let connectLimit { self.limitSending(to: connectLimit) }
        var address = makeLoopbackAddress(port: port)
        let status = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(self.descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        try #require(status == 0, "\(String(cString: strerror(errno)))")
        // A test that waits for what never comes ends all the same.
        var limit = timeval(tv_sec: 20, tv_usec: 0)
        setsockopt(self.descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { self.close() }

    func close() {
        if self.isOpen { Foundation.close(self.descriptor) }
        self.isOpen = false
    }

    /// Makes sending fail when the receiver takes nothing for a time.
    func limitSending(to seconds: Int) {
        var limit = timeval(tv_sec: seconds, tv_usec: 0)
        setsockopt(self.descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    /// Returns false when the receiver did not take everything.
    @discardableResult func send(_ text: String) -> Bool { self.send(Array(text.utf8)) }

    @discardableResult func send(_ bytes: [UInt8]) -> Bool {
        bytes.withUnsafeBytes { bytes in
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = sendQuietly(self.descriptor, UnsafeRawBufferPointer(rebasing: rest))
                guard count > 0 else { return false }
                rest = rest.dropFirst(count)
            }
            return true
        }
    }

    func end() { shutdown(self.descriptor, Int32(SHUT_WR)) }

    func reset() {
        var value = linger(l_onoff: 1, l_linger: 0)
        setsockopt(self.descriptor, SOL_SOCKET, SO_LINGER, &value, socklen_t(MemoryLayout.size(ofValue: value)))
    }

    func receiveOnce() -> String {
        withUnsafeTemporaryAllocation(byteCount: 1 << 16, alignment: 16) { buffer in
            let count = recv(self.descriptor, buffer.baseAddress, buffer.count, 0)
            return String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
        }
    }

    /// True when there is an answer, or the end of the connection, within this time.
    func hasAnswer(within milliseconds: CInt) -> Bool {
        var request = pollfd(fd: self.descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&request, 1, milliseconds) > 0
    }

    /// Passes on all that is answered.
    func passAnswer(to descriptor: CInt) {
        withUnsafeTemporaryAllocation(byteCount: 1 << 16, alignment: 16) { buffer in
            while case let count = recv(self.descriptor, buffer.baseAddress, buffer.count, 0), count > 0,
                sendQuietly(descriptor, UnsafeRawBufferPointer(rebasing: buffer[..<count])) > 0
            {}
        }
    }

    func receiveAll() -> String {
        var text = ""
        while case let piece = self.receiveOnce(), !piece.isEmpty { text += piece }
        return text
    }
}
#endif
