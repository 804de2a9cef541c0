#if Command
import BlobTestSupport
import Foundation
import HTTPTestSupport
import Testing

/// The options of connections and requests that `blob upload` shares with curl.
@Suite struct UploadOptionTests {
    private let folder: TemporaryFolder
    private let store: TemporaryFolder
    private let file: String

    init() throws {
        self.folder = try TemporaryFolder()
        self.store = try TemporaryFolder()
        self.file = try self.folder.write("content", to: "x")
    }

    @Test func theAuthorityIsGivenByOptionOrEnvironment() throws {
        let server = try PythonServer(.filesOverTLS(self.store.path))
        let url = "https://localhost:\(server.port)/"
        for option in ["--cacert", "--ca-file"] {
            #expect(try Launch("upload", self.file, url, option, PythonServer.authority).run().ending == .status(0))
        }
        for variable in ["CURL_CA_BUNDLE", "SSL_CERT_FILE"] {
            let prelude = "unset CURL_CA_BUNDLE; export \(variable)='\(PythonServer.authority)'"
            let upload = try Launch("upload", self.file, url).with { $0.prelude = prelude }.run()
            #expect(upload.ending == .status(0), "\(upload.errorText)")
            expect(try Launch("cat", "\(url)x").with { $0.prelude = prelude }.run(), prints: "content")
        }
        expect(
            try Launch("upload", self.file, url).run(), failsWith: "unavailable", 69,
            saying: "Could not establish a secure connection")
        expect(
            try Launch("upload", self.file, url, "--cacert", self.folder.path("none")).run(), failsWith: "notFound", 66)
    }

    /// Over TLS, a body of at most 8 KiB is sent with its head.
    @Test(arguments: [8191, 8192, 8193, 16_384, 65_536]) func smallBodiesArriveOverTLS(byteCount: Int) throws {
        let server = try PythonServer(.filesOverTLS(self.store.path))
        let content = makeContent(byteCount)
        let path = try self.folder.write(content, to: "small")
        let url = "https://localhost:\(server.port)/"
        let upload = try Launch("upload", path, url, "--cacert", PythonServer.authority).run()
        #expect(upload.ending == .status(0), "\(upload.errorText)")
        #expect(try Array(Data(contentsOf: URL(filePath: self.store.path("small")))) == content)
    }

    @Test func anInsecureConnectionIsWarnedOf() throws {
        let server = try PythonServer(.filesOverTLS(self.store.path))
        let url = "https://localhost:\(server.port)/x"
        for arguments in [["upload", self.file, url, "-k"], ["cat", url, "--insecure"]] {
            let outcome = try Launch(arguments).run()
            #expect(outcome.ending == .status(0), "\(outcome.errorText)")
            #expect(outcome.errorText.hasPrefix("blob: warning: ") && outcome.errorText.count { $0 == "\n" } == 1)
        }
    }

    @Test func aClientShowsItsCertificate() throws {
        let server = try PythonServer(.filesForClients(self.store.path))
        let url = "https://localhost:\(server.port)/x"
        let trust = ["--cacert", PythonServer.authority]
        let key = ["--cert", PythonServer.client, "--key", PythonServer.client]
        #expect(try Launch(["upload", self.file, url] + trust + key).run().ending == .status(0))
        expect(try Launch(["cat", url] + trust + key.prefix(2)).run(), prints: "content")
        #expect(try Launch(["upload", self.file, url] + trust).run().ending != .status(0))
        expect(
            try Launch(["upload", self.file, url] + trust + key.suffix(2)).run(), failsWith: "invalidArgument", 64)
        let wrong = try self.folder.write("no key", to: "key")
        expect(
            try Launch(["upload", self.file, url, "--cert", PythonServer.client, "--key", wrong] + trust).run(),
            failsWith: "unavailable", 69)
    }

    @Test func aUserAndAPasswordAreSentAndNeverPrinted() throws {
        let server = try PythonServer(.files(self.store.path))
        let url = "http://127.0.0.1:\(server.port)/x"
        let netrc = try self.folder.write("machine 127.0.0.1 login user password se:cret\n", to: ".netrc")
        for arguments in [["-u", "user:se:cret"], ["--netrc-file", netrc], ["-n"]] {
            let outcome = try Launch(["upload", self.file, url] + arguments).with {
                $0.prelude = "export HOME='\(self.folder.path)'"
            }.run()
            #expect(outcome.text.contains("Authorization: Basic dXNlcjpzZTpjcmV0\n"), "\(outcome.errorText)")
        }
        // The option replaces what is in the URL.
        let both = try Launch("upload", self.file, "http://a:b@127.0.0.1:\(server.port)/x", "-u", "user:se:cret").run()
        #expect(both.text.contains("Authorization: Basic dXNlcjpzZTpjcmV0\n"))
        for arguments in [["secret"], ["user:secret", "-H", "secret"], ["user:secret", "--jobs", "0"]] {
            let outcome = try Launch(["upload", self.file, url, "-u"] + arguments).run()
            expect(outcome, failsWith: "invalidArgument", 64)
            #expect(!outcome.errorText.contains("secret"), "\(outcome.errorText)")
        }
        let refused = try Launch("upload", self.file, "http://127.0.0.1:1/x", "-u", "user:secret").run()
        #expect(refused.ending == .status(69) && !refused.errorText.contains("secret"))
        let source = try ObjectServer([1])
        expect(try Launch("cat", source.url, "-u", "user:se:cret", "-H", "X-A: b").run(), prints: [1])
        #expect(source.requests.first?.fields["authorization"] == "Basic dXNlcjpzZTpjcmV0")
        #expect(source.requests.first?.fields["x-a"] == "b")
    }

    @Test func theServerOfTheSourceGetsNoSecretOfTheReceiver() throws {
        let (source, server) = (try ObjectServer([1, 2]), try PythonServer(.files(self.store.path)))
        let outcome = try Launch(
            "upload", source.url, "http://127.0.0.1:\(server.port)/x", "-u", "a:b", "-H", "X-Secret: c"
        ).run()
        #expect(outcome.text.contains("X-Secret: c\n") && outcome.text.contains("Authorization: "))
        #expect(!source.requests.isEmpty)
        for request in source.requests {
            #expect(request.fields["authorization"] == nil && request.fields["x-secret"] == nil)
        }
    }

    @Test func fieldsComeFromFilesAndOnceEach() throws {
        let server = try PythonServer(.files(self.store.path))
        let url = "http://127.0.0.1:\(server.port)/x"
        let fields = try self.folder.write("X-One: 1\nX-Two: 2\nContent-Type: a/b\n", to: "fields")
        let outcome = try Launch("upload", self.file, url, "-H", "@\(fields)", "-H", "X-One: 3").run()
        #expect(outcome.text.contains("X-One: 1\n") && outcome.text.contains("X-One: 3\n"), "\(outcome.errorText)")
        #expect(outcome.text.contains("X-Two: 2\n") && outcome.text.contains("Content-Type: a/b\n"))
        for field in ["content-TYPE: c/d", "Content-Type;"] {
            let again = try Launch("upload", self.file, url, "-H", "@\(fields)", "-H", field).run()
            expect(again, failsWith: "invalidArgument", 64, saying: "given twice")
        }
        let cat = try Launch("cat", url, "-H", "Cookie: a", "-H", "cookie: b").run()
        expect(cat, failsWith: "invalidArgument", 64, saying: "given twice")
    }

    @Test func redirectionsWithinTheOriginAreFollowed() throws {
        let server = try PythonServer(.files(self.store.path))
        let base = "http://127.0.0.1:\(server.port)"
        let format = "%{http_code} %{url_effective}"
        let outcome = try Launch(
            "upload", self.file, "\(base)/to//y", "-L", "-o", self.folder.path("answer"), "-w", format, "-u", "u:p"
        ).run()
        expect(outcome, prints: "201 \(base)/y")
        #expect(self.store.read("y") == "content")
        #expect(self.folder.read("answer")?.contains("Authorization: ") == true)
        for (url, input) in [
            ("\(base)/to/http://localhost:1/x", nil), ("\(base)/to/x", nil), ("\(base)/to//z", "one-shot"),
        ] {
            let source = input == nil ? self.file : "-"
            let outcome = try Launch("upload", source, url, "-L").run(input: Array((input ?? "").utf8))
            expect(outcome, failsWith: "refused", 76)
        }
        expect(try Launch("upload", self.file, "\(base)/to//z").run(), failsWith: "refused", 76, saying: "307")
        #expect(self.store.names == ["y"])
    }

    @Test func aProxyIsUsed() throws {
        let proxy = try PythonServer(.files(self.store.path))
        let arguments = ["upload", self.file, "http://example.invalid/x", "-x", "http://127.0.0.1:\(proxy.port)"]
        let outcome = try Launch(arguments).run()
        #expect(outcome.ending == .status(0), "\(outcome.errorText)")
        #expect(self.store.read("http:/example.invalid/x") == "content")
        #expect(outcome.text.contains("Host: example.invalid\n"))
    }

    @Test func timeIsLimited() throws {
        // Connections wait in its backlog.
        let listener = try LoopbackListener()
        defer { close(listener.descriptor) }
        let start = ContinuousClock.now
        for (scheme, option) in [("http", "--max-time"), ("https", "--connect-timeout")] {
            let url = "\(scheme)://127.0.0.1:\(listener.port)/x"
            expect(try Launch("upload", self.file, url, option, "0.2").run(), failsWith: "timedOut", 75)
        }
        expect(
            try Launch("cat", "https://127.0.0.1:\(listener.port)/x", "--connect-timeout", "0.2").run(),
            failsWith: "timedOut", 75)
        #expect(ContinuousClock.now - start < .seconds(20))
        for value in ["0", "-1", "nan", "1e30"] {
            expect(
                try Launch("upload", self.file, "http://a/", "--max-time=\(value)").run(), failsWith: "invalidArgument",
                64)
        }
    }

    @Test func factsAreWrittenOut() throws {
        let server = try PythonServer(.files(self.store.path))
        let base = "127.0.0.1:\(server.port)"
        let outcome = try Launch(
            "upload", self.file, "http://u:p@\(base)/", "-o", "/dev/null", "-w",
            "%{http_code}\\t%{size_upload} 100%%|%{url_effective}|%{time_total} %{speed_upload}\\n"
        ).run()
        let prefix = "201\t7 100%|http://\(base)/x|0."
        #expect(outcome.text.hasPrefix(prefix) && outcome.text.hasSuffix("\n"), "\(outcome.text) \(outcome.errorText)")
        let refused = try Launch("upload", self.file, "http://\(base)/to/x", "-w", "%{http_code}").run()
        expect(refused, failsWith: "refused", 76, after: Array("307".utf8))
        let none = try Launch("upload", self.file, "http://127.0.0.1:1/x", "-w", "%{http_code} %{size_upload}").run()
        expect(none, failsWith: "unavailable", 69, after: Array("000 0".utf8))
        for format in ["%{nothing}", "%{http_code"] {
            let outcome = try Launch("upload", self.file, "http://\(base)/x", "-w", format).run()
            expect(outcome, failsWith: "invalidArgument", 64)
        }
    }

    @Test func aDryRunSendsNothing() throws {
        let server = try RecordingServer { _ in RecordingServer.answer("201 Created") }
        let url = "http://127.0.0.1:\(server.port)/"
        try self.folder.makeFolder("d")
        try self.folder.write("four", to: "d/a b")
        let dry = { (arguments: String...) in
            try Launch(["upload", "--dry-run"] + arguments).inFolder(self.folder).run()
        }
        expect(try dry("d", "x", url), prints: "4  d/a b -> \(url)d/a%20b\n7  x -> \(url)x\n")
        expect(try dry("x", "\(url)other"), prints: "7  x -> \(url)other\n")
        expect(try dry("x", "s3://bucket/p/"), prints: "7  x -> s3://bucket/p/x\n")
        expect(try dry("x", "http://user:secret@127.0.0.1:1/"), prints: "7  x -> http://***@127.0.0.1:1/x\n")
        expect(try dry("none", "x", url), failsWith: "notFound", 66, after: Array("7  x -> \(url)x\n".utf8))
        expect(try dry("x", "d", "\(url)x"), failsWith: "invalidArgument", 64)
        expect(try dry("-F", "a=b", url), failsWith: "invalidArgument", 64)
        #expect(server.requests.isEmpty)
    }
}
#endif
