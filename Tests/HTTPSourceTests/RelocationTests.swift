import BlobStreams
import BlobTestSupport
import Foundation
import HTTPSource
import HTTPTestSupport
import Testing

/// Requests for an object behind a redirection: how many there are, and where they go.
@Suite struct RelocationTests {
    private static let bytes = makeContent(8 << 20)

    /// A server that redirects to a path of another one, with a token that it makes anew each time.
    private static func redirecting(
        to port: UInt16, _ status: Int = 302, tokens: Locked<Int> = Locked(0)
    ) throws -> ObjectServer {
        try ObjectServer([]) { _, _, connection in
            let token = tokens.withLock { count in
                count += 1
                return count
            }
            connection.send(
                "HTTP/1.1 \(status) Go\r\nLocation: http://127.0.0.1:\(port)/x?token=\(token)\r\nContent-Length: 0\r\n\r\n"
            )
            return true
        }
    }

    /// Reads so many windows that no two share an answer.
    private func readWindows(_ source: HTTPSource, _ offsets: Range<Int>) throws {
        for offset in offsets.map({ $0 << 19 }) {
            let reader = try source.open(at: Int64(offset))
            let found = try read(reader, upTo: 1000)
            #expect(!found.isEmpty && Self.bytes[offset...].starts(with: found))
            reader.close()
        }
    }

    @Test(arguments: [301, 302, 303, 307, 308]) func laterRequestsBeginWhereTheFirstWasRedirected(status: Int) throws {
        let origin = try ObjectServer(Self.bytes)
        let server = try Self.redirecting(to: origin.port, status)
        let source = try HTTPSource(server.url)
        try self.readWindows(source, 0..<10)
        #expect(server.requests.count == 1)
        #expect(origin.requests.count == 10)
        #expect(try readAll(source.open()) == Self.bytes)
        #expect(server.requests.count == 1)
        // Another source asks the first server.
        #expect(try HTTPSource(server.url).info().byteCount == 8 << 20)
        #expect(server.requests.count == 2)
    }

    /// Each token is good for three requests.
    @Test(arguments: ["403 Forbidden", "400 Bad Request", "401 Unauthorized", "404 Not Found", "410 Gone"])
    func aURLThatExpiresIsAskedForAnew(status: String) throws {
        let uses = Locked<[String: Int]>([:])
        let origin = try ObjectServer(Self.bytes) { _, request, connection in
            let count = uses.withLock { uses in
                uses[request.target, default: 0] += 1
                return uses[request.target] ?? 0
            }
            guard count > 3 else { return false }
            connection.send("HTTP/1.1 \(status)\r\nContent-Length: 7\r\n\r\nexpired")
            return true
        }
        let server = try Self.redirecting(to: origin.port)
        try self.readWindows(try HTTPSource(server.url), 0..<10)
        #expect(server.requests.count == 4)
        #expect(origin.requests.count == 10 + 3)
    }

    /// A refusal of the URL that the first server gave just now is final, and so is one that asks for patience.
    @Test(arguments: [("403 Forbidden", BlobError.Code.permissionDenied, 2), ("429 Wait", .unavailable, 1)])
    func aRefusalIsAskedAboutOnce(status: String, code: BlobError.Code, count: Int) throws {
        let isOver = Locked(false)
        let origin = try ObjectServer(Self.bytes) { _, _, connection in
            guard isOver.withLock({ $0 }) else { return false }
            connection.send("HTTP/1.1 \(status)\r\nContent-Length: 0\r\n\r\n")
            return true
        }
        let server = try Self.redirecting(to: origin.port)
        let source = try HTTPSource(server.url)
        try self.readWindows(source, 0..<2)
        isOver.withLock { $0 = true }
        #expect(codeThrown { try self.readWindows(source, 2..<3) } == code)
        #expect(server.requests.count == count)
        #expect(origin.requests.count == 2 + count)
        // After a failure, reading begins at the first server again.
        isOver.withLock { $0 = false }
        try self.readWindows(source, 3..<4)
        #expect(server.requests.count == count + 1)
    }

    /// The server that an answer came from is gone; the next attempt finds another one.
    @Test func aServerThatIsGoneIsForgotten() throws {
        let port = Locked<UInt16>(0)
        let server = try ObjectServer([]) { _, _, connection in
            let port = port.withLock { $0 }
            connection.send("HTTP/1.1 307 Go\r\nLocation: http://127.0.0.1:\(port)/x\r\nContent-Length: 0\r\n\r\n")
            return true
        }
        let (first, second) = (try ObjectServer(Self.bytes) { _, _, _ in true }, try ObjectServer(Self.bytes))
        var origin: ObjectServer? = try ObjectServer(Self.bytes) { number, _, _ in number > 0 }
        port.withLock { $0 = origin?.port ?? 0 }
        let source = try HTTPSource(server.url)
        try self.readWindows(source, 0..<1)
        port.withLock { $0 = first.port }
        #expect(codeThrown { try self.readWindows(source, 1..<2) } == .io)
        origin = nil
        port.withLock { $0 = second.port }
        try self.readWindows(source, 1..<2)
        #expect(second.requests.count == 1 && first.requests.isEmpty)
    }

    @Test func secretsStayWithTheFirstServer() throws {
        let uses = Locked(0)
        let origin = try ObjectServer(Self.bytes) { number, _, connection in
            guard number == 3 else { return false }
            connection.send("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
            return true
        }
        let server = try Self.redirecting(to: origin.port, tokens: uses)
        var options = HTTPSource.Options()
        options.headers = [("X-Token", "secret")]
        let source = try HTTPSource("http://user:secret@127.0.0.1:\(server.port)/x", options: options)
        try self.readWindows(source, 0..<6)
        #expect(server.requests.count == 2 && origin.requests.count == 7)
        #expect(server.requests.allSatisfy { $0.fields["x-token"] != nil && $0.fields["authorization"] != nil })
        #expect(origin.requests.allSatisfy { $0.fields["x-token"] == nil && $0.fields["authorization"] == nil })
    }

    /// The way back to the origin led through another server, which chose the URL: it gets no secrets, later either.
    @Test func aDetourEndsTheTrust() throws {
        let ports = Locked<UInt16>(0)
        let detour = try ObjectServer([]) { _, _, connection in
            let port = ports.withLock { $0 }
            connection.send("HTTP/1.1 302 Go\r\nLocation: http://127.0.0.1:\(port)/back\r\nContent-Length: 0\r\n\r\n")
            return true
        }
        let away = "HTTP/1.1 302 Go\r\nLocation: http://127.0.0.1:\(detour.port)/\r\nContent-Length: 0\r\n\r\n"
        let server = try ObjectServer(Self.bytes) { _, request, connection in
            if request.target == "/back" { return false }
            connection.send(away)
            return true
        }
        ports.withLock { $0 = server.port }
        var options = HTTPSource.Options()
        options.headers = [("X-Token", "secret")]
        try self.readWindows(try HTTPSource(server.url, options: options), 0..<4)
        #expect(server.requests.map(\.target) == ["/folder/object.bin", "/back", "/back", "/back", "/back"])
        #expect(server.requests.map { $0.fields["x-token"] } == ["secret", nil, nil, nil, nil])
        #expect(detour.requests.count == 1)
    }
}
