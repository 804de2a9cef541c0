#if Command
import BlobCore
import BlobTestSupport
import Foundation
import HTTPTestSupport
import Testing

/// `blob` as a process that reads from web servers.
@Suite struct WebTests {
    @Test func everyCommandReadsURLs() throws {
        let bytes = makeContent(1_000_000)
        let server = try ObjectServer(bytes)
        expect(try Launch("cat", server.url).run(), prints: bytes)
        expect(try Launch("cat", server.url, "--offset", "999990").run(), prints: Array(bytes[999_990...]))
        let folder = try TemporaryFolder()
        let file = try folder.write(bytes, to: "same")
        let sum = try Launch("sum", file).run().text.prefix(64)
        expect(try Launch("sum", server.url).run(), prints: "\(sum)  \(server.url)\n")
        let info = try Launch("info", server.url).run().text
        #expect(info.contains("bytes: 1000000\n") && info.contains("validator: strong:\"one\"\n"), "\(info)")
        expect(
            try Launch("cat", server.url, "--ranges", "-").run(input: Array("5 3\n900000 2\n".utf8)),
            prints: Array(bytes[5..<8] + bytes[900_000..<900_002]))
        expect(
            try Launch("cat", "--allow-network-in-lists", "--from-file", "-")
                .run(input: Array("\(server.url)\n\(server.url)\n".utf8)),
            prints: bytes + bytes)
    }

    /// With `-v`, parts that are all bytes are verified, and others are said not to be.
    @Test func whatWasVerifiedIsSaid() throws {
        let server = try ObjectServer(Array("123456789".utf8))
        server.object.lines = ["x-amz-checksum-crc32: y/Q5Jg=="]
        func text(_ ranges: String) throws -> String {
            let launch = Launch("cat", "-v", server.url, "--ranges", "-")
            return try launch.run(input: Array(ranges.utf8)).errorText
        }
        let proof = "9 bytes from http have the correct CRC-32 (x-amz-checksum-crc32)."
        let lack = "the part was not verified: the crc32 (x-amz-checksum-crc32) covers all bytes."
        #expect(try text("4 5\n0 4\n") == "blob: \(proof)\n")
        #expect(try text("4 5\n") == "blob: \(lack)\n")
        #expect(try Launch("cat", "-v", server.url).run().errorText == "blob: \(proof)\n")
        let part = try Launch("cat", "-v", server.url, "--offset", "1").run()
        #expect(part.errorText == "blob: \(lack)\n")
        server.object.lines = ["x-amz-checksum-crc32: y/Q5Jw=="]
        #expect(try text("4 5\n0 4\n").hasPrefix("blob: checksumMismatch: "))
    }

    /// The head of each answer to a range, of which 262,144 bytes of 300,000 come.
    @Test(arguments: [
        "200 OK\r\nContent-Range: bytes 0-262143/300000", "206 P", "206 P\r\nContent-Type: multipart/byteranges",
        "206 P\r\nContent-Range: bytes */300000", "206 P\r\nContent-Range: bytes 0-65535/300000",
    ]) func everyCommandReadsTheWholeObject(head: String) throws {
        let bytes = makeContent(300_000)
        let (folder, stored) = (try TemporaryFolder(), try TemporaryFolder())
        let server = try ObjectServer(bytes) { _, request, connection in
            guard request.fields["range"] != nil else { return false }
            connection.send("HTTP/1.1 \(head)\r\nContent-Length: 262144\r\n\r\n")
            connection.send(Array(bytes.prefix(262_144)))
            return true
        }
        expect(try Launch("cat", server.url).run(), prints: bytes)
        expect(try Launch("cat", server.url, "--offset", "299990").run(), prints: Array(bytes[299_990...]))
        let part = try Launch("cat", server.url, "--offset", "70000", "--length", "5").run()
        expect(part, prints: Array(bytes[70_000..<70_005]))
        let file = folder.path("o")
        expect(try Launch("cat", server.url, "-o", file).run(), prints: [])
        #expect(FileManager.default.contents(atPath: file) == Data(bytes))
        let sum = try Launch("sum", file).run().text.prefix(64)
        expect(try Launch("sum", server.url).run(), prints: "\(sum)  \(server.url)\n")
        let target = try PythonServer(.files(stored.path))
        let upload = try Launch("upload", server.url, "http://127.0.0.1:\(target.port)/x").run()
        #expect(upload.ending == .status(0), "\(upload.errorText)")
        #expect(FileManager.default.contents(atPath: stored.path("x")) == Data(bytes))
    }

    /// A `.tgz` of a server that calls it a tar with an encoding, as Apache does with `AddEncoding x-gzip`.
    @Test func anEncodedObjectIsReadAsItIsStoredAndDecodedWhenAskedFor() throws {
        let text = makeContent(300_000)
        let folder = try TemporaryFolder()
        try folder.write(text, to: "text")
        try folder.run("gzip", "-nk", "text")
        let bytes = try folder.bytes("text.gz")
        let server = try ObjectServer(bytes)
        (server.object.type, server.object.lines) = ("application/x-tar", ["Content-Encoding: x-gzip"])
        for hasRanges in [true, false] {
            server.object.hasRanges = hasRanges
            expect(try Launch("cat", server.url).run(), prints: bytes)
            expect(try Launch("cat", "gzip+\(server.url)").run(), prints: text)
            let info = try Launch("info", server.url).run().text
            #expect(info.contains("application/gzip"), "\(info)")
        }
    }

    /// The first answer waits for the requests that are made ahead.
    @Test func theNextURLsOfAListAreAskedForWhileOneIsPrinted() throws {
        let bytes = makeContent(100_000)
        let (requestCount, isAhead, isMissing) = (Locked(0), WaitSignal(), Locked(false))
        let server = try ObjectServer(.init(bytes)) { number, request, connection in
            let count = requestCount.withLock { count in
                count += 1
                return count
            }
            if count == 4 { isAhead.signal() }
            if number == 0, !isAhead.wait(for: .seconds(60)) { isMissing.withLock { $0 = true } }
            guard request.target.hasSuffix("missing") else { return false }
            connection.send("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            return true
        }
        let urls = [server.url, server.url + "2", server.url + "3", server.url + "missing", server.url + "5"]
        let outcome = try Launch(["cat"] + urls).run()
        #expect(!isMissing.withLock { $0 })
        // Not compared in #expect, which would look for the edits.
        let isEqual = outcome.output == bytes + bytes + bytes + bytes
        #expect(isEqual)
        #expect(outcome.errorText.contains("notFound") && outcome.errorText.contains("missing"))
    }

    /// An answer that has to wait for long may be cut off by its server.
    @Test func whatWasAskedForLongAgoIsAskedForAgain() throws {
        var object = ObjectServer.Object(makeContent(3 << 20))
        object.hasRanges = false
        let (bytes, targets) = (object.bytes, Locked(Set<String>()))
        let server = try ObjectServer(object) { _, request, connection in
            let isFirst = targets.withLock { $0.insert(request.target).inserted }
            guard !request.target.hasSuffix("0") else {
                _ = WaitSignal().wait(for: .seconds(6))  // Longer than the limit of five seconds.
                return false
            }
            guard isFirst else { return false }
            connection.send("HTTP/1.1 200 OK\r\nETag: \"one\"\r\nContent-Length: \(bytes.count)\r\n\r\n")
            connection.send(Array(bytes.prefix(2 << 20)))
            return true
        }
        let urls = ["0", "1", "2"].map { server.url + $0 }
        expect(try Launch(["cat"] + urls).run(), prints: bytes + bytes + bytes)
    }

    @Test func anErrorNamesTheURLWithoutItsPassword() throws {
        let server = try ObjectServer([]) { _, _, connection in
            connection.send("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            return true
        }
        let outcome = try Launch("cat", "http://user:secret@127.0.0.1:\(server.port)/x").run()
        expect(outcome, failsWith: "notFound", 66, saying: "404 Not Found", "//***@127.0.0.1:\(server.port)/x")
        #expect(!outcome.errorText.contains("secret"))
    }

    @Test func optionsOfRequestsComeFromFiles() throws {
        let server = try ObjectServer(makeContent(10))
        let folder = try TemporaryFolder()
        let headers = try folder.write("X-One: 1\r\n\nX-Two;\n", to: "headers")
        let netrc = try folder.write("machine 127.0.0.1 login user password secret\n", to: "netrc")
        let launch = Launch("cat", server.url, "--header-file", headers, "--netrc-file", netrc)
        expect(try launch.run(), prints: makeContent(10))
        let fields = try #require(server.requests.first?.fields)
        #expect(fields["x-one"] == "1" && fields["x-two"] == "")
        #expect(fields["authorization"] == "Basic dXNlcjpzZWNyZXQ=")
        let wrong = try folder.write("secret\n", to: "wrong")
        let outcome = try Launch("cat", server.url, "--header-file", wrong).run()
        expect(outcome, failsWith: "invalidArgument", 64, saying: "Line 1 of")
        #expect(!outcome.errorText.contains("secret"))
        expect(
            try Launch("cat", server.url, "--ca-file", folder.path("none")).run(), failsWith: "notFound", 66,
            saying: "none")
        let proxy = try ObjectServer(makeContent(20))
        expect(
            try Launch("cat", "http://example.invalid/x", "--proxy", "http://127.0.0.1:\(proxy.port)").run(),
            prints: makeContent(20))
    }

    @Test func filesOfAServerWithAPrivateAuthorityAreRead() throws {
        let folder = try TemporaryFolder()
        try folder.write(makeContent(300_000), to: "x")
        let server = try PythonServer(.filesOverTLS(folder.path))
        let url = "https://localhost:\(server.port)/x"
        expect(try Launch("cat", url, "--ca-file", PythonServer.authority).run(), prints: makeContent(300_000))
        expect(
            try Launch("cat", url).run(), failsWith: "unavailable", 69,
            saying: "Could not establish a secure connection")
    }

    /// nginx, where it is installed: a server with ranges and conditions that others made.
    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: Self.nginx)))
    func nginxIsReadByRanges() throws {
        let folder = try TemporaryFolder()
        let bytes = makeContent(2_000_000)
        try folder.makeFolder("files")
        try folder.write(bytes, to: "files/x")
        try folder.write("", to: "files/empty")
        let port = try LoopbackListener()
        close(port.descriptor)
        let paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map { "\($0)_temp_path \(folder.path)/\($0);" }.joined(separator: " ")
        let configuration = """
            daemon off; master_process off; pid \(folder.path)/pid; error_log stderr;
            events { } http { access_log off; \(paths) server { listen 127.0.0.1:\(port.port);
            location / { root \(folder.path)/files; } location /once/ { alias \(folder.path)/files/; max_ranges 0; } } }
            """
        let server = try Launch("-p", folder.path, "-c", try folder.write(configuration, to: "conf")).with {
            $0.program = Self.nginx
        }.start()
        defer { server.send(SIGKILL) }
        let url = "http://127.0.0.1:\(port.port)"
        let end = ContinuousClock.now + .seconds(20)
        while try Launch("info", "\(url)/x").run().ending != .status(0), ContinuousClock.now < end {}
        for name in ["x", "once/x"] {
            expect(try Launch("cat", "\(url)/\(name)").run(), prints: bytes)
            expect(
                try Launch("cat", "\(url)/\(name)", "--offset", "1999990").run(), prints: Array(bytes[1_999_990...]))
        }
        expect(try Launch("cat", "\(url)/empty").run(), prints: [])
        #expect(try Launch("info", "\(url)/x").run().text.contains("random access"))
    }

    private static let nginx = "/usr/sbin/nginx"

    /// libcurl is being loaded when the command ends.
    @Test func aMistakeBesideAURLIsJustThat() throws {
        for _ in 0..<10 {
            #expect(try Launch("cat", "https://127.0.0.1:1/x", "--nonsense").run().ending == .status(64))
            #expect(try Launch("upload", "--help").run().ending == .status(0))
        }
    }

    /// What curl accepts is accepted where sources are read.
    @Test func theHabitsOfCurlAreAccepted() throws {
        let server = try RecordingServer { _ in RecordingServer.answer("200 OK", [], Array("text".utf8)) }
        let url = "http://127.0.0.1:\(server.port)/file.txt"
        expect(try Launch("cat", "-sSL", url, "--user-agent", "agent/1").run(), prints: "text")
        #expect(server.requests.last?.value(of: "user-agent") == "agent/1")
        expect(try Launch("cat", "-A", "two words", "-H", "X: y", url).run(), prints: "text")
        #expect(server.requests.last?.value(of: "user-agent") == "two words")
        #expect(server.requests.last?.value(of: "x") == "y")
        for command in ["sum", "test", "info"] {
            #expect(try Launch(command, "-L", "--silent", "--show-error", url).run().ending == .status(0))
        }
        expect(try Launch("cat", "-s", "-v", url).run(), failsWith: "invalidArgument", 64)
        let secret = try Launch("cat", "-A", "a\nB: c", url).run()
        expect(secret, failsWith: "invalidArgument", 64)
    }

    @Test func aSourceIsWrittenUnderItsName() throws {
        let (folder, server) = (try TemporaryFolder(), try ObjectServer(makeContent(100_000)))
        let outcome = try Launch("cat", "-O", server.url).inFolder(folder).run()
        #expect(outcome.ending == .status(0) && outcome.output.isEmpty, "\(outcome.errorText)")
        let name = try #require(server.url.split(separator: "/").last)
        let isEqual = try readFile(folder.path(String(name))) == makeContent(100_000)
        #expect(isEqual && folder.names == [String(name)])
        for options in [["-o", "x"], ["--offset", "1"], ["--max-bytes", "5"]] {
            expect(try Launch(["cat", "-O", server.url] + options).run(), failsWith: "invalidArgument", 64)
        }
    }
}
#endif
