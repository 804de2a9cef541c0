#if Command
import BlobCore
import BlobTestSupport
import Foundation

/// A server that keeps what it receives, and answers each request, on a connection of its own, as a test says.
final class RecordingServer: Sendable {
    struct Request: Sendable {
        let method: String
        /// The path and the query.
        let target: String
        /// The whole head, as it came.
        let head: String

        /// Returns the value of a field, whose name is in lower case.
        func value(of name: String) -> String? {
            let line = self.head.split(separator: "\r\n").dropFirst()
                .first { $0.lowercased().hasPrefix("\(name):") }
            return line.map { $0.drop { $0 != ":" }.dropFirst().trimmingCharacters(in: .whitespaces) }
        }
    }

    private let server: LoopbackServer
    private let received = Locked<[Request]>([])

    var port: UInt16 { self.server.port }
    var requests: [Request] { self.received.withLock { $0 } }

    /// - Parameter answer: Returns an answer whole, after which the connection is closed.
    init(_ answer: @escaping @Sendable (Request) -> [UInt8]) throws {
        self.server = try LoopbackServer()
        self.server.start { [received] descriptor in
            guard let request = Self.receive(descriptor) else { return }
            received.withLock { $0.append(request) }
            _ = answer(request).withUnsafeBytes { sendQuietly(descriptor, $0) }
        }
    }

    /// Returns an answer with a length, and a cookie that is never to come back.
    static func answer(_ status: String, _ lines: [String] = [], _ body: [UInt8] = []) -> [UInt8] {
        let fields = lines + ["Content-Length: \(body.count)", "Connection: close", "Set-Cookie: session=c00kieSecret"]
        return Array((["HTTP/1.1 \(status)"] + fields).joined(separator: "\r\n").utf8) + Array("\r\n\r\n".utf8) + body
    }

    /// Receives a head and its body, which is dropped; nil at the end of the connection.
    private static func receive(_ descriptor: CInt) -> Request? {
        // A test that waits for what never comes ends all the same.
        var limit = timeval(tv_sec: 20, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var bytes: [UInt8] = []
        func receive() -> Bool {
            withUnsafeTemporaryAllocation(byteCount: 1 << 16, alignment: 16) { buffer in
                let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
                if count > 0 { bytes += buffer[..<count] }
                return count > 0
            }
        }
        while bytes.firstRange(of: Array("\r\n\r\n".utf8)) == nil { guard receive() else { return nil } }
        let start = bytes.firstRange(of: Array("\r\n\r\n".utf8))?.upperBound ?? 0
        let head = String(decoding: bytes[..<start], as: UTF8.self)
        let words = head.prefix { $0 != "\r\n" }.split(separator: " ")
        guard words.count == 3 else { return nil }
        let request = Request(method: String(words[0]), target: String(words[1]), head: head)
        if let length = request.value(of: "content-length").flatMap({ Int($0) }) {
            while bytes.count < start + length, receive() {}
        } else if request.value(of: "transfer-encoding") != nil {
            while !bytes.suffix(5).elementsEqual("0\r\n\r\n".utf8), receive() {}
        }
        return request
    }
}
#endif
