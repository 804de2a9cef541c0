import BlobCore
import BlobTestSupport
import Foundation

/// A server of one object on 127.0.0.1: answers ranges and conditions, counts requests and bytes, and does for some
/// requests what a test says.
package final class ObjectServer: Sendable {
    /// The object, and how it is served.
    package struct Object: Sendable {
        package var bytes: [UInt8]
        package var tag: String? = "\"one\""
        package var date: String?
        package var type: String? = "application/octet-stream"
        package var hasRanges = true
        /// True to send `200` in chunks without a length.
        package var isChunked = false
        /// The maximum number of bytes of a range.
        package var pieceByteCount = Int.max
        /// False to leave out the length of the object in answers with ranges.
        package var tellsLength = true
        /// False to leave out the length of the object in refusals of ranges.
        package var tellsLengthAtEnd = true
        /// True to ignore `If-Range` and `If-Match`.
        package var ignoresConditions = false
        /// More lines of the head.
        package var lines: [String] = []

        package init(_ bytes: [UInt8]) { self.bytes = bytes }
    }

    /// One request.
    package struct Request: Sendable {
        package let method: String
        /// The path and the query.
        package let target: String
        /// The values of the fields by their names in lower case.
        package let fields: [String: String]

        /// The range of a `Range` field in an object of this length; nil without one.
        package func range(in byteCount: Int) -> Range<Int>? {
            guard let text = self.fields["range"], text.hasPrefix("bytes=") else { return nil }
            let ends = text.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false)
            guard let first = Int(ends[0]) else { return nil }
            let last = ends[1].isEmpty ? Int.max - 1 : Int(ends[1]) ?? first
            return first..<max(first, min(byteCount, last + 1))
        }
    }

    /// A handler of requests: returns false to have the object served. Gets the number of the request, from 0.
    package typealias Script = @Sendable (Int, Request, Connection) -> Bool

    private struct State {
        var object: Object
        var requests: [Request] = []
        var requestCount = 0
        var sentByteCount = 0
    }

    private static let openCount = Locked(0)

    /// The number of open connections of all servers of the process, each of which has a thread.
    package static var openConnectionCount: Int { self.openCount.withLock { $0 } }

    private let server: LoopbackServer
    private let state: Locked<State>
    private let script: Script?
    private let recordsRequests: Bool

    /// - Parameters:
    ///   - recordsRequests: False for a server that runs for long: records take memory.
    ///   - script: Answers some requests; the connection is closed after a request that it answered.
    package init(_ object: Object, recordsRequests: Bool = true, script: Script? = nil) throws {
        (self.server, self.state, self.script) = (try LoopbackServer(), Locked(State(object: object)), script)
        self.recordsRequests = recordsRequests
        self.server.start { [weak self] descriptor in
            Self.openCount.withLock { $0 += 1 }
            let connection = Connection(descriptor)
            while let request = connection.receiveRequest(), self?.answer(request, connection) == true {}
            Self.openCount.withLock { $0 -= 1 }
        }
    }

    package convenience init(_ bytes: [UInt8], script: Script? = nil) throws {
        try self.init(Object(bytes), script: script)
    }

    package var port: UInt16 { self.server.port }
    package var url: String { "http://127.0.0.1:\(self.port)/folder/object.bin" }
    package var requests: [Request] { self.state.withLock { $0.requests } }
    package var connectionCount: Int { self.server.connectionCount }
    /// The number of bytes of bodies that were sent, or begun to be.
    package var sentByteCount: Int { self.state.withLock { $0.sentByteCount } }

    package var object: Object {
        get { self.state.withLock { $0.object } }
        set { self.state.withLock { $0.object = newValue } }
    }

    private func answer(_ request: Request, _ connection: Connection) -> Bool {
        let (number, object) = self.state.withLock { state in
            if self.recordsRequests { state.requests.append(request) }
            state.requestCount += 1
            return (state.requestCount - 1, state.object)
        }
        if self.script?(number, request, connection) == true { return false }
        let (head, body) = Self.answer(request, object)
        guard connection.send(head) else { return false }
        guard request.method != "HEAD" else { return true }
        for start in stride(from: body.startIndex, to: body.endIndex, by: 1 << 16) {
            let piece = body[start..<min(start + 1 << 16, body.endIndex)]
            let frame = object.isChunked ? ("\(String(piece.count, radix: 16))\r\n", "\r\n") : ("", "")
            self.state.withLock { $0.sentByteCount += piece.count }
            guard connection.send(Array(frame.0.utf8) + piece + Array(frame.1.utf8)) else { return false }
        }
        return !object.isChunked || connection.send("0\r\n\r\n")
    }

    /// The head and the body of the right answer.
    package static func answer(_ request: Request, _ object: Object) -> (head: String, body: ArraySlice<UInt8>) {
        var lines = object.lines
        if let tag = object.tag { lines.append("ETag: \(tag)") }
        if let date = object.date { lines.append("Last-Modified: \(date)") }
        if let type = object.type { lines.append("Content-Type: \(type)") }
        let count = object.bytes.count
        func head(_ status: String, _ more: [String]) -> String {
            (["HTTP/1.1 \(status)"] + lines + more).joined(separator: "\r\n") + "\r\n\r\n"
        }
        func whole() -> (String, ArraySlice<UInt8>) {
            let length = object.isChunked ? "Transfer-Encoding: chunked" : "Content-Length: \(count)"
            return (head("200 OK", [length]), object.bytes[...])
        }
        guard object.hasRanges, let range = request.range(in: count) else { return whole() }
        if !object.ignoresConditions {
            let known = [object.tag, object.date]
            if let condition = request.fields["if-match"], !known.contains(condition) {
                return (head("412 Precondition Failed", ["Content-Length: 0"]), [])
            }
            if let condition = request.fields["if-range"], !known.contains(condition) { return whole() }
        }
        guard range.lowerBound < count else {
            let told = object.tellsLengthAtEnd ? ["Content-Range: bytes */\(count)"] : []
            return (head("416 Range Not Satisfiable", told + ["Content-Length: 0"]), [])
        }
        let piece = range.prefix(object.pieceByteCount)
        let length = object.tellsLength ? "\(count)" : "*"
        let told = "Content-Range: bytes \(piece.lowerBound)-\(piece.upperBound - 1)/\(length)"
        return (head("206 Partial Content", [told, "Content-Length: \(piece.count)"]), object.bytes[piece])
    }

    /// One connection. Used by one thread.
    package final class Connection {
        private let descriptor: CInt
        private var received: [UInt8] = []

        fileprivate init(_ descriptor: CInt) { self.descriptor = descriptor }

        /// Returns false when nobody receives any more.
        @discardableResult
        package func send(_ text: String) -> Bool { self.send(Array(text.utf8)) }

        @discardableResult
        package func send(_ bytes: [UInt8]) -> Bool {
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

        /// Waits until the client closes the connection.
        package func waitForEnd() { while self.receive() {} }

        private func receive() -> Bool {
            withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 16) { buffer in
                let count = recv(self.descriptor, buffer.baseAddress, buffer.count, 0)
                if count > 0 { self.received += buffer[..<count] }
                return count > 0
            }
        }

        /// Returns nil at the end of the connection.
        fileprivate func receiveRequest() -> Request? {
            let end = Array("\r\n\r\n".utf8)
            while true {
                if let range = self.received.firstRange(of: end) {
                    let text = String(decoding: self.received[..<range.lowerBound], as: UTF8.self)
                    self.received.removeSubrange(..<range.upperBound)
                    return Self.parse(text)
                }
                guard self.receive() else { return nil }
            }
        }

        private static func parse(_ text: String) -> Request? {
            let lines = text.components(separatedBy: "\r\n")
            let words = lines[0].split(separator: " ")
            guard words.count == 3 else { return nil }
            let fields = lines.dropFirst().compactMap { line -> (String, String)? in
                guard let colon = line.firstIndex(of: ":") else { return nil }
                let value = line[line.index(after: colon)...].drop { $0 == " " }
                return (line[..<colon].lowercased(), String(value))
            }
            return Request(
                method: String(words[0]), target: String(words[1]), fields: Dictionary(fields) { first, _ in first })
        }
    }
}
