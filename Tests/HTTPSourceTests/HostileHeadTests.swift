import BlobStreams
import BlobTestSupport
import Foundation
import HTTPSource
import HTTPTestSupport
import Testing

/// Heads of answers that are huge, endless, or contradict themselves: an error that says so, from few bytes.
@Suite(.timeLimit(.minutes(2))) struct HostileHeadTests {
    private static let bytes = makeContent(120)
    private static let range = "HTTP/1.1 206 Partial\r\nETag: \"one\"\r\nContent-Range: bytes 0-119/120\r\n"

    /// A server that answers with a beginning, and then with a text again and again until the client leaves.
    private func endless(_ beginning: String, _ text: String) throws -> (ObjectServer, sentByteCount: Locked<Int>) {
        let piece = Array(String(repeating: text, count: 4096 / text.utf8.count + 1).utf8)
        let count = Locked(0)
        let server = try ObjectServer([]) { _, _, connection in
            connection.send(beginning)
            while connection.send(piece) { count.withLock { $0 += piece.count } }
            return true
        }
        return (server, count)
    }

    @Test(arguments: [
        ("HTTP/1.1 200 OK\r\n", "A: b\r\n"), ("HTTP/1.1 200 OK\r\nA: ", "b"),
        ("HTTP/1.1 200 ", "OK"), ("HTTP/1.1 200 OK\r\nA: b\r\n", " folded\r\n"),
        ("", "HTTP/1.1 102 Wait\r\n\r\n"), ("", "HTTP/1.1 103 Hints\r\nLink: </x>\r\n\r\n"),
        ("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1/", "x"),
        ("HTTP/1.1 404 Not Found\r\n", "A: b\r\n"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n", "A: b\r\n"),
    ]) func aHeadWithoutAnEndIsALimit(beginning: String, text: String) throws {
        let (server, count) = try self.endless(beginning, text)
        #expect(codeThrown { try readAll(HTTPSource(server.url).open()) } == .limitExceeded)
        // What the systems hold on the way is sent, too.
        #expect(count.withLock { $0 } < 16 << 20)
        #expect(server.requests.count == 1)
    }

    /// Bytes that are no answer of HTTP, and go on for ever.
    @Test(arguments: ["x", "\r\n", "\0", "HTTP/1.1 ", "HTTP/0.9 200 OK\r\n"])
    func anEndlessTextIsAnError(text: String) throws {
        let (server, count) = try self.endless("", text)
        let code = codeThrown { try readAll(HTTPSource(server.url).open()) }
        #expect([.corrupted, .limitExceeded, .io].contains(code), "\(String(describing: code))")
        #expect(count.withLock { $0 } < 16 << 20)
    }

    @Test(arguments: [
        ("A: \(String(repeating: "b", count: 1 << 20))\r\n", BlobError.Code.limitExceeded),
        ("\(String(repeating: "b", count: 1 << 20)): a\r\n", .limitExceeded),
        (String(repeating: "A: b\r\n", count: 5000), .limitExceeded),
        (String(repeating: "A: \(String(repeating: "b", count: 1000))\r\n", count: 90), .limitExceeded),
        ("Content-Length: 120\r\nContent-Length: 119\r\n", .corrupted),
        ("Content-Length: 120, 119\r\n", .corrupted), ("Content-Length: -120\r\n", .corrupted),
        ("Content-Length: +120\r\n", .corrupted), ("Content-Length: 0x78\r\n", .corrupted),
        ("Content-Length:\r\n", .corrupted), ("Content-Length: 119\r\n", .corrupted),
        ("Content-Range: bytes 0-119/121\r\n", .corrupted), ("Content-Range: bytes 1-120/121\r\n", .corrupted),
        ("Content-Range: bytes 0-118/120\r\n", .corrupted), ("Transfer-Encoding: gzip\r\n", .unsupported),
        ("A\0: b\r\n", .corrupted), ("no field\r\n", .corrupted),
    ]) func aHeadThatIsTooLargeOrContradictsItselfIsAnError(lines: String, code: BlobError.Code) throws {
        let server = try ObjectServer([]) { _, _, connection in
            connection.send(Self.range + lines + "\r\n")
            connection.send(Self.bytes)
            return true
        }
        #expect(codeThrown { try readAll(HTTPSource(server.url).open()) } == code)
    }

    @Test(arguments: [
        "Content-Length: 120\r\nContent-Length: 120\r\n", "Content-Range: bytes 0-119/120\r\n", "A:\r\n: c\r\n",
        String(repeating: "A: b\r\n", count: 90), "A: \(String(repeating: "b", count: 60_000))\r\n",
        "Upgrade: h2c\r\nConnection: Upgrade, close\r\n",
    ]) func aHeadThatIsOddIsRead(lines: String) throws {
        let hints = String(repeating: "HTTP/1.1 103 Hints\r\nContent-Length: 7\r\n\r\n", count: 50)
        let server = try ObjectServer([]) { _, _, connection in
            connection.send(hints + Self.range + lines + "\r\n")
            connection.send(Self.bytes)
            return true
        }
        #expect(try readAll(HTTPSource(server.url).open()) == Self.bytes)
    }

    @Test(arguments: [
        "", "\r\n", "\r\n\r\n", "HTTP/1.1", "HTTP/1.1 200", "HTTP/1.1 200 OK\r\n", "hello", "hello\r\n\r\n", "<html>",
        "HTTP/0.9 200 OK\r\n\r\nhello", "HTTP/7 200 OK\r\n\r\nhello", "HTTP/1.1 20 OK\r\n\r\nhello",
        "ICY 200 OK\r\n\r\nx", "HTTP/1.1 1000 OK\r\n\r\nhello",
        "HTTP/1.1 -200 OK\r\n\r\nhello", "HTTP/1.1 000 OK\r\n\r\nhello",
        "HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\nhello",
        "HTTP/1.1 199 OK\r\n\r\nhello",
    ]) func anAnswerThatIsNoneIsAnError(text: String) throws {
        let server = try ObjectServer([]) { _, _, connection in
            connection.send(text)
            return true
        }
        let code = codeThrown { try readAll(HTTPSource(server.url).open()) }
        #expect([.corrupted, .truncated, .io].contains(code), "\(String(describing: code))")
        // libcurl asks again when a connection was used before; this one was not.
        #expect(server.requests.count <= 2)
    }

    @Test(arguments: [
        "file:///etc/passwd", "FILE:///etc/passwd", "gopher://127.0.0.1/", "ftp://127.0.0.1/x", "data:,x",
        "dict://127.0.0.1/", "http://", "http:///x", "http://127.0.0.1:99999/", "http://[::1", "http://a b/", "\u{1}",
        "http://127.0.0.1/\u{1}", "http://127.0.0.1/\u{7F}", "http://127.0.0.1\t/", "http://127.0.0.1/\rSet-Cookie: a",
        "http://127.0.0.1%00/", "http://127.0.0.1/\u{0}",
    ]) func aLocationThatIsNoURLOfTheWebIsRefused(location: String) throws {
        let server = try ObjectServer([]) { _, _, connection in
            connection.send("HTTP/1.1 307 Go\r\nLocation: \(location)\r\nContent-Length: 0\r\n\r\n")
            return true
        }
        let code = codeThrown { try readAll(HTTPSource(server.url).open()) }
        // libcurl refuses a zero byte in a head.
        #expect(code == (location.hasSuffix("\0") ? .corrupted : .refused), "\(String(describing: code))")
        #expect(server.requests.count == 1)
    }

    /// Two servers, each of which redirects to the other; every redirection has another URL.
    @Test func aLoopOfRedirectionsEnds() throws {
        let ports = Locked<[UInt16]>([])
        let servers = try (0..<2).map { number in
            try ObjectServer([]) { count, _, connection in
                let port = ports.withLock { $0[1 - number] }
                connection.send("HTTP/1.1 301 Moved\r\nLocation: http://127.0.0.1:\(port)/\(count)\r\n\r\n")
                return true
            }
        }
        ports.withLock { $0 = servers.map(\.port) }
        #expect(codeThrown { try readAll(HTTPSource(servers[0].url).open()) } == .refused)
        #expect(servers.reduce(0) { $0 + $1.requests.count } == 6)
    }
}
