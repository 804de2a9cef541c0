import BlobStreams
import BlobTestSupport
import Foundation
import HTTPSource
import HTTPTestSupport
import Testing

/// What requests contain, and where they go.
@Suite struct RequestTests {
    /// nghttpx tells the server behind it what the client spoke.
    @Test func shortAnswersShareAConnectionByHTTP2AndLongOnesHaveTheirOwn() async throws {
        let content = makeContent(24 << 20)
        let server = try ObjectServer(content)
        let proxy = try PythonServer(.http2(server.port))
        var options = HTTPSource.Options()
        options.certificateFile = PythonServer.authority
        let source = try HTTPSource("https://localhost:\(proxy.port)/object", options: options)
        let ranges = (0..<40).map { Int64($0) * 500_000..<Int64($0) * 500_000 + 4096 }
        var number = 0
        for try await bytes in source.read(ranges: ranges) {
            #expect(content[Int(ranges[number].lowerBound)..<Int(ranges[number].upperBound)].elementsEqual(bytes))
            number += 1
        }
        #expect(number == 40)
        #expect(server.requests.count >= 40)
        #expect(server.requests.allSatisfy { $0.fields["via"] == "2 nghttpx" })
        let count = server.requests.count
        #expect(try readAll(source.open()) == content)
        let later = server.requests[count...].filter { $0.range(in: content.count)?.count ?? 0 > 1 << 20 }
        #expect(later.count > 4)
        #expect(later.allSatisfy { $0.fields["via"] == "1.1 nghttpx" })
    }

    private func locating(_ url: String) -> String {
        "HTTP/1.1 302 Found\r\nLocation: \(url)\r\nContent-Length: 3\r\n\r\nyes"
    }

    @Test func everyRequestBehindTheFirstIsConditional() throws {
        let server = try ObjectServer(makeContent(1_000_000))
        _ = try readAll(HTTPSource(server.url).open())
        #expect(server.requests.map { $0.fields["range"] } == ["bytes=0-65535", "bytes=65536-"])
        #expect(server.requests.map { $0.fields["if-range"] } == [nil, "\"one\""])
        #expect(server.requests.allSatisfy { $0.fields["accept-encoding"] == "identity" })
        server.object.tag = "W/\"weak\""
        server.object.date = "Mon, 01 Jan 2024 00:00:00 GMT"
        _ = try readAll(HTTPSource(server.url).open())
        // RFC 9110, section 13.1.5: a weak tag is not allowed there.
        #expect(server.requests.last?.fields["if-range"] == "Mon, 01 Jan 2024 00:00:00 GMT")
    }

    @Test func secretsGoToTheOriginOnlyAndAreShownNowhere() throws {
        let other = try ObjectServer(makeContent(100))
        let moved = other.url
        let server = try ObjectServer([]) { _, _, connection in
            connection.send(self.locating(moved))
            return true
        }
        var options = HTTPSource.Options()
        options.headers = [("X-Token", "secret-1")]
        let source = try HTTPSource("http://user:secret-2@127.0.0.1:\(server.port)/x?secret-3", options: options)
        #expect(try readAll(source.open()) == makeContent(100))
        #expect(server.requests.first?.fields["x-token"] == "secret-1")
        #expect(server.requests.first?.fields["authorization"] == "Basic dXNlcjpzZWNyZXQtMg==")
        #expect(other.requests.first?.fields["x-token"] == nil)
        #expect(other.requests.first?.fields["authorization"] == nil)
        #expect(other.requests.first?.fields["range"] != nil)
        #expect(source.locator?.description.contains("secret-2") == false)
        let refused = try HTTPSource("http://user:secret-2@127.0.0.1:1/x", options: options)
        do {
            _ = try refused.info()
        } catch {
            #expect(!"\(error)".contains("secret"))
        }
    }

    @Test func aRedirectionWithinTheOriginKeepsTheFields() throws {
        let server = try ObjectServer(makeContent(100)) { number, _, connection in
            if number == 0 { connection.send(self.locating("../else where/b.bin?q")) }
            return number == 0
        }
        var options = HTTPSource.Options()
        options.headers = [("X-Token", "secret"), ("X-Empty", "")]
        let source = try HTTPSource(server.url, options: options)
        #expect(try readAll(source.open()) == makeContent(100))
        #expect(server.requests.map(\.target) == ["/folder/object.bin", "/else%20where/b.bin?q"])
        #expect(server.requests.allSatisfy { $0.fields["x-token"] == "secret" && $0.fields["x-empty"] == "" })
    }

    /// A server of Windows, whose paths are Latin-1, and one that is the same in other letters.
    @Test func aRedirectionKeepsItsBytesAndTheSecretsOfItsOrigin() throws {
        let server = try ObjectServer(makeContent(100)) { number, request, connection in
            let port = request.fields["host"]?.split(separator: ":").last ?? ""
            let head = Array("HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: HTTP://127.1:\(port)/caf".utf8)
            if number == 0 { connection.send(head + [0xE9] + Array("\r\n\r\n".utf8)) }
            return number == 0
        }
        let source = try HTTPSource("http://u:p@127.0.0.1:\(server.port)/x")
        #expect(try readAll(source.open()) == makeContent(100))
        #expect(server.requests.map { $0.target.lowercased() } == ["/x", "/caf%e9"])
        #expect(server.requests.allSatisfy { $0.fields["authorization"] == "Basic dTpw" })
    }

    /// An empty one is the same URL, which answers the same again.
    @Test(arguments: [
        "", "#x", "http://127.0.0.1:PORT/again", "file:///etc/passwd", "ftp://127.0.0.1/x", "//", "http://",
    ])
    func aRedirectionThatIsNotFollowedIsRefused(location: String) throws {
        let server = try ObjectServer([]) { _, request, connection in
            let port = request.fields["host"]?.split(separator: ":").last ?? ""
            connection.send(self.locating(location.replacingOccurrences(of: "PORT", with: port)))
            return true
        }
        #expect(codeThrown { try HTTPSource(server.url).info() } == .refused)
        #expect(server.requests.count <= 6)
        if location.isEmpty { #expect(server.requests.allSatisfy { $0.target == "/folder/object.bin" }) }
    }

    @Test(arguments: [
        ("attachment; filename=\"a b.txt\"", "a b.txt"), ("inline; filename=x", "x"),
        ("attachment; filename=\"x\"; filename*=UTF-8''na%C3%AFve.txt", "naïve.txt"),
        ("attachment; filename=\"../../etc/passwd\"", "passwd"), ("attachment; filename=\"a\\\"b\"", "a\"b"),
        ("attachment", "object.bin"), ("attachment; filename=", "object.bin"), (";;;=;\"", "object.bin"),
        ("attachment; filename=\"..\"", "object.bin"), ("attachment; filename*=UTF-8''%zz", "object.bin"),
    ])
    func aNameComesFromContentDisposition(field: String, name: String) throws {
        let server = try ObjectServer(makeContent(10))
        server.object.lines = ["Content-Disposition: \(field)"]
        #expect(try HTTPSource(server.url).info().name == name)
    }

    @Test func fieldsThatBreakReadingAreInvalid() throws {
        for (name, value) in [("Range", "bytes=0-1"), ("a b", "x"), ("X", "a\r\nY: b"), ("if-range", "x"), ("", "x")] {
            var options = HTTPSource.Options()
            options.headers = [(name, value)]
            #expect(codeThrown { try HTTPSource("http://127.0.0.1/", options: options) } == .invalidArgument)
        }
        for url in ["http://", "http:///x", "http://[", "ftp://127.0.0.1/x", "http://a b/"] {
            #expect(codeThrown { try HTTPSource(url) } == .invalidLocator, "\(url)")
        }
    }

    @Test func aNetrcFileHasTheCredentials() throws {
        let server = try ObjectServer(makeContent(10))
        let folder = try TemporaryFolder()
        let file = "\(folder.path)/netrc"
        try Data("machine 127.0.0.1 login user password secret\n".utf8).write(to: URL(fileURLWithPath: file))
        var options = HTTPSource.Options()
        options.netrcFile = file
        _ = try HTTPSource(server.url, options: options).info()
        #expect(server.requests.first?.fields["authorization"] == "Basic dXNlcjpzZWNyZXQ=")
    }

    @Test func aProxyIsUsed() throws {
        let proxy = try ObjectServer(makeContent(10))
        var options = HTTPSource.Options()
        options.proxy = "http://127.0.0.1:\(proxy.port)"
        #expect(try readAll(HTTPSource("http://example.invalid/x", options: options).open()) == makeContent(10))
        #expect(proxy.requests.first?.target == "http://example.invalid/x")
    }
}
