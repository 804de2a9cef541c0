#if Command
import BlobTestSupport
import Foundation
import Testing

/// `blob serve` as a process, and the command itself as its client.
@Suite struct ServeTests {
    private let folder: TemporaryFolder

    init() throws {
        self.folder = try TemporaryFolder()
        try Data("hello".utf8).write(to: self.folder.url("a.txt"))
        try makeContent(300_000).withUnsafeBytes { try Data($0).write(to: self.folder.url("b.bin")) }
        let outcome = try Launch(["tar", "-C", self.folder.path, "-czf", self.folder.path("x.tgz"), "a.txt", "b.bin"])
            .with { $0.program = "/usr/bin/env" }.run()
        try #require(outcome.ending == .status(0))
    }

    /// Runs `body` with the URL of a server.
    private func serve(_ arguments: [String], body: (String, UInt16) throws -> Void) throws {
        let server = try Launch(["serve"] + arguments).start()
        defer { server.send(SIGKILL) }
        server.waitForLines(1)
        let url = String(try #require(server.lines.first))
        let port = try #require(URLComponents(string: url)?.port.flatMap(UInt16.init(exactly:)))
        try body(url, port)
    }

    @Test func aMemberIsReadThroughTheServer() throws {
        try self.serve([self.folder.path("x.tgz"), self.folder.path]) { url, _ in
            expect(try Launch("cat", "\(url)x.tgz/a.txt").run(), prints: "hello")
            expect(try Launch("cat", "--offset", "1", "--length", "2", "\(url)x.tgz/a.txt").run(), prints: "el")
            let name = URL(fileURLWithPath: self.folder.path).lastPathComponent
            let sums = try [
                self.folder.path("b.bin"), self.folder.path("x.tgz#b.bin"), "\(url)\(name)/b.bin",
                "\(url)\(name)/x.tgz/b.bin", "\(url)x.tgz#b.bin",
            ].map { try Launch("sum", $0).run().text.prefix(64) }
            #expect(Set(sums).count == 1 && sums[0].count == 64)
            expect(try Launch("cat", "\(url)x.tgz/none").run(), failsWith: "notFound", 66)
        }
    }

    @Test func theURLIsTheSecret() throws {
        try self.serve(["--token", "a-b", self.folder.path("a.txt")]) { url, port in
            #expect(url.hasSuffix("/a-b/"))
            for (path, status) in [("/a-b/a.txt", "200"), ("/a.txt", "404"), ("/", "404"), ("/a-c/a.txt", "404")] {
                let client = try Client(port)
                client.send("GET \(path) HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
                #expect(client.receiveAll().hasPrefix("HTTP/1.1 \(status) "), "\(path)")
            }
        }
        try self.serve([self.folder.path("a.txt")]) { first, _ in
            try self.serve([self.folder.path("a.txt")]) { second, _ in
                #expect(first.split(separator: "/").last != second.split(separator: "/").last)
            }
        }
    }

    @Test func aServerWithoutATokenKnowsItsName() throws {
        try self.serve(["--no-token", self.folder.path("a.txt")]) { _, port in
            for (host, status) in [
                ("127.0.0.1:\(port)", "200"), ("localhost", "200"), ("evil.example", "403"), ("a b", "400"),
            ] {
                let client = try Client(port)
                client.send("GET /a.txt HTTP/1.1\r\nHost: \(host)\r\nConnection: close\r\n\r\n")
                #expect(client.receiveAll().hasPrefix("HTTP/1.1 \(status) "), "\(host)")
            }
        }
    }

    /// Requests that were sent without waiting for the responses are answered in order.
    @Test func pipelinedRequestsAreAnsweredInOrder() throws {
        try self.serve(["--token", "t", self.folder.path("b.bin")]) { _, port in
            let client = try Client(port)
            let requests = (0..<200).map { number in
                "GET /t/b.bin HTTP/1.1\r\nHost: a\r\nRange: bytes=\(number)-\(number)\r\n"
                    + (number == 199 ? "Connection: close\r\n\r\n" : "\r\n")
            }
            client.send(requests.joined())
            let answers = client.receiveAll().components(separatedBy: "Content-Range: bytes ").dropFirst()
            #expect(answers.map { Int($0.prefix { $0 != "-" }) } == (0..<200).map { $0 })
        }
    }

    @Test func whatCannotBeServedIsAnErrorAtTheStart() throws {
        expect(try Launch("serve").run(), failsWith: "invalidArgument", 64)
        expect(try Launch("serve", self.folder.path("none")).run(), failsWith: "notFound", 66)
        expect(try Launch("serve", "\(self.folder.path("x.tgz"))#none").run(), failsWith: "notFound", 66)
        expect(try Launch("serve", "--token", "a/b", self.folder.path("a.txt")).run(), failsWith: "invalidArgument", 64)
        expect(try Launch("serve", "--listen", "x", self.folder.path("a.txt")).run(), failsWith: "invalidArgument", 64)
    }
}
#endif
