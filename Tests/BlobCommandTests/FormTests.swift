#if Command
import BlobTestSupport
import Foundation
import Testing

/// The command that composes forms.
@Suite struct FormTests {
    private let folder: TemporaryFolder
    private let content = makeContent(300_000)
    private let file: String

    init() throws {
        self.folder = try TemporaryFolder()
        self.file = try self.folder.write(self.content, to: "x.bin")
    }

    /// The body of one part with the boundary `B`.
    private func body(_ headers: String, _ bytes: [UInt8]) -> [UInt8] {
        Array("--B\r\n\(headers)\r\n\r\n".utf8) + bytes + Array("\r\n--B--\r\n".utf8)
    }

    private func form(_ arguments: String...) -> Launch { Launch(["form", "--boundary", "B"] + arguments) }

    @Test func fieldsFilesAndContentsArePrinted() throws {
        expect(
            try self.form("-F", "a=b").run(),
            prints: self.body("Content-Disposition: form-data; name=\"a\"", Array("b".utf8)))
        expect(
            try self.form("-Fa=b;type=text/html").run(),
            prints: self.body("Content-Disposition: form-data; name=\"a\"\r\nContent-Type: text/html", Array("b".utf8)))
        expect(
            try self.form("--form", "f=@\(self.file)").run(),
            prints: self.body(
                "Content-Disposition: form-data; name=\"f\"; filename=\"x.bin\"\r\n"
                    + "Content-Type: application/octet-stream", self.content))
        expect(
            try self.form("-F", "f=@\(self.file);type=a/b;filename=n").run(),
            prints: self.body(
                "Content-Disposition: form-data; name=\"f\"; filename=\"n\"\r\nContent-Type: a/b", self.content))
        expect(
            try self.form("-F", "-x=<\(self.file)").run(),
            prints: self.body("Content-Disposition: form-data; name=\"-x\"", self.content))
    }

    @Test func severalFilesOfOneNameAreParts() throws {
        let text = try self.form("-F", "f=@\(self.file),\(self.file);filename=second").run().text
        #expect(text.components(separatedBy: "name=\"f\"; filename=\"x.bin\"").count == 2)
        #expect(text.components(separatedBy: "name=\"f\"; filename=\"second\"").count == 2)
    }

    @Test func anyLocatorIsAPart() throws {
        let headers =
            "Content-Disposition: form-data; name=\"f\"; filename=\"x.bin\"\r\n"
            + "Content-Type: application/octet-stream"
        expect(try self.form("-F", "f=@file://\(self.file)").run(), prints: self.body(headers, self.content))
        expect(
            try self.form("-F", "f=@-;filename=x.bin").run(input: self.content),
            prints: self.body(headers, self.content))
    }

    @Test func headersTellTypeAndLength() throws {
        let known = try self.form("-F", "f=@\(self.file)", "--headers").run()
        #expect(known.ending == .status(0))
        #expect(
            known.errorText
                == "Content-Type: multipart/form-data; boundary=B\nContent-Length: \(known.output.count)\n")
        let unknown = try self.form("-F", "f=@-", "--headers").run(input: [1])
        #expect(unknown.errorText == "Content-Type: multipart/form-data; boundary=B\n")
        let random = try Launch("form", "-F", "a=b", "--headers").run()
        let boundary = random.errorText.components(separatedBy: "boundary=").last?.prefix { $0 != "\n" } ?? ""
        #expect(boundary.count == 32)
        #expect(random.text.hasPrefix("--\(boundary)\r\n"))
        #expect(random.text.hasSuffix("\r\n--\(boundary)--\r\n"))
    }

    @Test func anOffsetIsTheTailOfTheWhole() throws {
        let arguments = ["-F", "a=b", "-F", "f=@\(self.file)", "-F", "c=d"]
        let whole = try self.form("-F", "a=b", "-F", "f=@\(self.file)", "-F", "c=d").run().output
        #expect(whole.count > self.content.count)
        for offset in [0, 1, 52, 53, 54, 1000, 300_050, whole.count - 1, whole.count] {
            let launch = Launch(["form", "--boundary", "B", "--offset", "\(offset)"] + arguments)
            expect(try launch.run(), prints: Array(whole.dropFirst(offset)))
        }
        expect(
            try Launch(["form", "--boundary", "B", "--offset", "\(whole.count + 1)"] + arguments).run(),
            failsWith: "invalidArgument", 64, saying: "\(whole.count)")
    }

    @Test func aFileOfTheBodyAppearsWhenItIsWhole() throws {
        let output = self.folder.path("body")
        expect(try self.form("-F", "a=b", "--output", output).run(), prints: "")
        #expect(
            self.folder.read("body").map { Array($0.utf8) }
                == self.body("Content-Disposition: form-data; name=\"a\"", Array("b".utf8)))
        _ = try self.form("-F", "a=--B", "-o", self.folder.path("other")).run()
        #expect(self.folder.names == ["body", "x.bin"])
    }

    @Test func whatCannotBeSentIsRefusedBeforeAByte() throws {
        expect(try Launch("form").run(), failsWith: "invalidArgument", 64, saying: "at least one part")
        expect(try self.form("-F", "a").run(), failsWith: "invalidArgument", 64, saying: "must be NAME=VALUE")
        expect(try self.form("-F", "a=b;c").run(), failsWith: "invalidArgument", 64, saying: "in quotes")
        expect(try self.form("-F", "a\u{1}=b").run(), failsWith: "invalidArgument", 64, saying: "control character")
        expect(
            try self.form("-F", "f=@/nowhere/x").run(), failsWith: "notFound", 66, saying: "Part 1 of 1 ('f')",
            "/nowhere/x")
        expect(try self.form("-F", "f=@x+y://z").run(), failsWith: "notRegistered", 64)
        expect(
            try Launch("form", "-F", "a=b", "--boundary", "a,b").run(), failsWith: "invalidArgument", 64,
            saying: "'a,b'")
        expect(try self.form("-F", "a=b", "--offset", "-1x").run(), failsWith: "invalidArgument", 64)
        expect(try self.form("-F", "a=b", "--offset", "-1").run(), prints: "\n")
        expect(
            try Launch(raw: Array("form".utf8), Array("-F".utf8), Array("f=@x".utf8) + [0xFF]).run(),
            failsWith: "invalidArgument", 64, saying: "not UTF-8")
    }

    @Test func thePartThatHoldsTheBoundaryIsNamed() throws {
        let outcome = try self.form("-F", "a=b", "-F", "c=\"x\n--B\"").run()
        let before =
            "--B\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nb\r\n"
            + "--B\r\nContent-Disposition: form-data; name=\"c\"\r\n\r\n"
        expect(
            outcome, failsWith: "invalidArgument", 64, saying: "Part 2 of 2 ('c')", "boundary",
            after: Array(before.utf8))
    }

    @Test func anEmptyNameIsWarnedOf() throws {
        let outcome = try self.form("-F", "=b").run()
        #expect(outcome.ending == .status(0))
        #expect(outcome.errorText.hasPrefix("blob: warning: "))
        #expect(outcome.output == self.body("Content-Disposition: form-data; name=\"\"", Array("b".utf8)))
    }

    /// In a time that grows with their number, not with its square: that would be many minutes, and no process has
    /// them.
    @Test func twentyThousandFieldsAreAForm() throws {
        let arguments = (0..<20_000).flatMap { ["-F", "name\($0)=value\($0)"] }
        let parts = try Launch(["form", "--boundary", "B"] + arguments).run().text.components(separatedBy: "--B\r\n")
        #expect(parts.count == 20_001)
        #expect(parts.last?.hasPrefix("Content-Disposition: form-data; name=\"name19999\"\r\n\r\nvalue19999") == true)
    }

    // MARK: curl

    /// The same arguments give the same bytes; curl's own boundary is one that is taken.
    @Test(.enabled(if: FormTests.hasCurl, "curl or Python is not there.")) func theBodyIsTheOneThatCurlSends() throws {
        try self.folder.write("text", to: "t.txt")
        try self.folder.write("<p>", to: "é \"q\".html")
        try self.folder.write("b", to: "a,b;c.png")
        let parts = [
            "a=b", "empty=", "spaces= x y ", #"quoted=" red; \"green\" \\ ""#, "typed=x;type=text/html;charset=utf-8",
            "named=x;filename=n.txt", "t=@t.txt", "same=@x.bin;filename=renamed.gif", #"h=@"é \"q\".html""#,
            #"p=@"a,b;c.png";type=image/x-own"#, "contents=<t.txt", "weird \"name\" é=1", #"back\slash=2"#,
            "x=@x.bin;type=a/b",
            #"q=y;filename="sa\\id \"hi\"; there.txt""#, "photos[]=@t.txt", "100%22=%0A",
        ]
        let sent = try Launch(["python3", "-c", Self.receiver, self.folder.path] + parts).with {
            $0.program = Self.python
        }.run()
        #expect(sent.ending == .status(0), "\(sent.errorText)")
        let end = try #require(sent.output.firstIndex(of: UInt8(ascii: "\n")))
        let type = String(decoding: sent.output[..<end], as: UTF8.self)
        let boundary = try #require(type.components(separatedBy: "boundary=").last)
        let arguments = ["form", "--boundary=\(boundary)"] + parts.flatMap { ["-F", $0] }
        let ours = try Launch(arguments).inFolder(self.folder).run()
        let theirs = Array(sent.output[(end + 1)...])
        expect(ours, prints: theirs)
        // What differs, if something does, but for the large file.
        let lines = { (bytes: [UInt8]) in
            bytes.split(separator: 0x0A).map { String(decoding: $0.prefix(80), as: UTF8.self) }
        }
        #expect(zip(lines(ours.output), lines(theirs)).first { $0 != $1 } == nil)
    }

    private static let python = "/usr/bin/env"

    private static let hasCurl: Bool = {
        let found = try? Launch("-c", "command -v curl && command -v python3").with { $0.program = "/bin/sh" }.run()
        return found?.ending == .status(0)
    }()

    /// Takes one request of curl, and prints its type, a line break, and its body.
    private static let receiver = """
        import socket, subprocess, sys
        server = socket.create_server(("127.0.0.1", 0))
        url = "http://127.0.0.1:%d/" % server.getsockname()[1]
        curl = ["curl", "-s", "-q", "--noproxy", "*", "-H", "Expect:", "-o", "/dev/null", "--max-time", "50", url]
        for part in sys.argv[2:]: curl += ["-F", part]
        client = subprocess.Popen(curl, cwd=sys.argv[1])
        connection, _ = server.accept()
        data = b""
        while b"\\r\\n\\r\\n" not in data: data += connection.recv(65536)
        head, body = data.split(b"\\r\\n\\r\\n", 1)
        headers = dict(line.split(": ", 1) for line in head.decode().split("\\r\\n")[1:])
        while len(body) < int(headers["Content-Length"]): body += connection.recv(65536)
        connection.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 0\\r\\nConnection: close\\r\\n\\r\\n")
        connection.close()
        assert client.wait() == 0
        sys.stdout.buffer.write(headers["Content-Type"].encode() + b"\\n" + body)
        """
}
#endif
