#if Command
import BlobTestSupport
import Foundation
import Testing

/// `blob upload` and `blob receive`, each as a process.
@Suite struct UploadTests {
    private let folder: TemporaryFolder
    private let store: TemporaryFolder

    init() throws {
        self.folder = try TemporaryFolder()
        self.store = try TemporaryFolder()
    }

    /// Runs `body` with the receiver and its URL.
    private func withReceiver(_ arguments: String..., body: (RunningProcess, String) throws -> Void) throws {
        let (receiver, _) = try startReceiver(in: self.store, arguments)
        defer { receiver.send(SIGKILL) }
        let url = String(try #require(receiver.lines.first))
        try #require(url.hasPrefix("http://127.0.0.1:"))
        try body(receiver, url)
    }

    @Test(arguments: [0, 1, 3_000_000]) func whatIsUploadedIsWhatArrives(byteCount: Int) throws {
        try self.withReceiver { receiver, url in
            let bytes = makeContent(byteCount)
            let path = try self.folder.write(bytes, to: "a b.bin")
            let sum = try Launch("sum", path).run().text.prefix(64)
            let outcome = try Launch("upload", path, url).run()
            #expect(outcome.ending == .status(0), "\(outcome.errorText)")
            #expect(outcome.errorText == "")
            for text in ["\"byte_count\":\(byteCount),", "\"name\":\"a b.bin\"", "\"sha256\":\"\(sum)\""] {
                #expect(outcome.text.contains(text), "\(outcome.text)")
            }
            receiver.waitForLines(2)
            #expect(String(decoding: receiver.output, as: UTF8.self) == "\(url)\n\(outcome.text)")
            let isEqual = FileManager.default.contents(atPath: self.store.path("a%20b.bin")) == Data(bytes)
            #expect(isEqual)
        }
    }

    @Test func aBodyIsEncodedOnItsWay() throws {
        try self.withReceiver { _, url in
            let bytes = [UInt8](repeating: 7, count: 1_000_000)
            let path = try self.folder.write(bytes, to: "sevens.bin")
            let outcome = try Launch("upload", path, url, "--content-encoding", "gzip").run()
            #expect(outcome.ending == .status(0), "\(outcome.errorText)")
            #expect(outcome.text.contains("\"name\":\"sevens.bin\""))
            // The receiver stores what came.
            let stored = self.store.path("sevens.bin")
            #expect(outcome.text.contains("\"media_type\":\"application/octet-stream\""), "\(outcome.text)")
            expect(try Launch("cat", "gzip+\(stored)").run(), prints: bytes)
        }
        expect(
            try Launch("upload", "-F", "a=b", "http://localhost/", "--content-encoding", "gzip").run(),
            failsWith: "invalidArgument", 64, saying: "--content-encoding")
    }

    @Test func standardInputGoesInChunks() throws {
        try self.withReceiver { _, url in
            let bytes = makeContent(1_000_000)
            let outcome = try Launch("upload", "-", "\(url)x", "-X", "POST", "--limit-rate", "9M").run(input: bytes)
            #expect(outcome.ending == .status(0), "\(outcome.errorText)")
            #expect(outcome.text.contains("\"byte_count\":1000000,"))
        }
    }

    @Test func severalSourcesGoBehindTheSlash() throws {
        try self.withReceiver { _, url in
            let one = try self.folder.write("one", to: "one")
            let two = try self.folder.write("two", to: "two")
            let outcome = try Launch("upload", one, two, url, "--offset", "1").run()
            #expect(outcome.ending == .status(0), "\(outcome.errorText)")
            #expect(self.store.names == ["one", "two"])
            #expect(self.store.read("two") == "wo")
            expect(try Launch("upload", one, two, "\(url)x").run(), failsWith: "invalidArgument", 64)
        }
    }

    @Test func twoSourcesOfOneNameAreRefusedBeforeTheFirstByte() throws {
        let elsewhere = try TemporaryFolder()
        try self.withReceiver { receiver, url in
            let first = try self.folder.write("first", to: "a b.bin")
            let second = try elsewhere.write("second", to: "a b.bin")
            let other = try self.folder.write("other", to: "other")
            for arguments in [[first, second], [other, first, second], [first, first]] {
                let outcome = try Launch(["upload"] + arguments + [url]).run()
                expect(outcome, failsWith: "invalidArgument", 64, saying: "'a%20b.bin'")
                for argument in arguments.suffix(2) {
                    #expect(outcome.errorText.contains(argument), "\(outcome.errorText)")
                }
            }
            #expect(receiver.lines.count == 1)
            #expect(self.store.names == [])
        }
    }

    /// Both would have one name if bytes that are no UTF-8 became U+FFFD.
    @Test(.enabled(if: isLinux)) func theBytesOfNamesSurvive() throws {
        try self.withReceiver { receiver, url in
            try self.folder.write(Array("one".utf8), to: Array("x".utf8) + [0xFE] + Array(".txt".utf8))
            try self.folder.write(gzipOfTwo, to: Array("x".utf8) + [0xFF] + Array(".txt.gz".utf8))
            let (one, two) = ("file://\(self.folder.path)/x%FE.txt", "gzip+file://\(self.folder.path)/x%FF.txt.gz")
            let outcome = try Launch("upload", one, two, url).run()
            #expect(outcome.ending == .status(0), "\(outcome.errorText)")
            #expect(self.store.names == ["x%FE.txt", "x%FF.txt"])
            #expect(self.store.read("x%FE.txt") == "one")
            #expect(self.store.read("x%FF.txt") == "two")
            receiver.waitForLines(3)
            let again = try Launch("upload", two, one, two, url).run()
            expect(again, failsWith: "invalidArgument", 64, saying: "'x%FF.txt'")
        }
    }

    @Test func aFormArrivesPartByPart() throws {
        try self.withReceiver { receiver, url in
            let bytes = makeContent(2_000_000)
            let path = try self.folder.write(bytes, to: "x.bin")
            let sum = try Launch("sum", path).run().text.prefix(64)
            let outcome = try Launch("upload", "-F", "a=one", "-F", "f=@\(path);filename=../\"y", url).run()
            #expect(outcome.ending == .status(0), "\(outcome.errorText)")
            receiver.waitForLines(3)
            #expect(receiver.lines.dropFirst().joined(separator: "\n") + "\n" == outcome.text)
            #expect(receiver.lines[1].contains("\"name\":\"a\"") && receiver.lines[1].contains("\"byte_count\":3,"))
            #expect(receiver.lines[2].contains("\"name\":\"f\"") && receiver.lines[2].contains(sum))
            #expect(self.store.names == ["%2E.%2F%2522y", "a"])
            #expect(try Launch("upload", "-F", "a=b", path, url).run().ending == .status(64))
        }
    }

    @Test func aRefusalEndsWithItsStatus() throws {
        try self.withReceiver("--max-bytes", "1000") { _, url in
            let path = try self.folder.write(makeContent(1001), to: "x")
            expect(try Launch("upload", path, url).run(), failsWith: "refused", 76, saying: "413")
            expect(try Launch("upload", "-", "\(url)y").run(input: makeContent(100_000)), failsWith: "refused", 76)
            #expect(self.store.names == [])
        }
    }

    @Test func anInterruptedUploadIsNotReportedAndLeavesNothing() throws {
        try self.withReceiver { receiver, url in
            let upload = try Launch("upload", "-", "\(url)part").start()
            upload.write(makeContent(2_000_000))
            // Its end is not closed: the body never becomes whole.
            upload.wait { self.store.names.contains { $0.hasSuffix(".part") } }
            upload.send(SIGTERM)
            #expect(upload.finish().ending == .status(128 + SIGTERM))
            upload.wait { self.store.names == [] }
            let path = try self.folder.write("1", to: "one")
            _ = try Launch("upload", path, url).run()
            receiver.waitForLines(2)
            #expect(receiver.lines.count == 2)
            #expect(receiver.lines.last?.contains("\"name\":\"one\"") == true)
        }
    }

    @Test func aReceiverThatIsToldToEndLeavesNoPart() throws {
        try self.withReceiver { receiver, url in
            let upload = try Launch("upload", "-", "\(url)part").start()
            upload.write(makeContent(2_000_000))
            upload.wait { self.store.names.contains { $0.hasSuffix(".part") } }
            receiver.send(SIGINT)
            #expect(receiver.finish().ending == .status(128 + SIGINT))
            #expect(self.store.names == [])
            upload.closeInput()
            #expect(upload.finish().ending == .status(74))
        }
    }

    @Test func whatIsNotThereIsUnavailable() throws {
        let path = try self.folder.write("1", to: "one")
        expect(try Launch("upload", path, "http://127.0.0.1:1/x").run(), failsWith: "unavailable", 69)
        expect(try Launch("upload", "\(path)-not", "http://127.0.0.1:1/x").run(), failsWith: "notFound", 66)
        for arguments in [
            ["upload", path], ["upload"], ["upload", path, "http://a/", "-H", "x"],
            ["upload", path, "http://a/", "-X", "GET"], ["upload", path, "http://a/", "--limit-rate", "0"],
            ["upload", path, "ftp://a/"],
            ["upload", "-F", "a=b", "http://127.0.0.1:1/", "-H", "content-type: text/plain"],
        ] {
            let outcome = try Launch(arguments).run()
            #expect(outcome.ending == .status(64), "\(arguments) \(outcome.errorText)")
        }
    }

    @Test(.enabled(if: isLinux)) func withoutLibcurlUploadsAreUnavailableAndTheRestWorks() throws {
        let path = try self.folder.write("1", to: "one")
        for name in ["libcurl.so.4", "libcurl-gnutls.so.4", "libcurl.so"] {
            try self.folder.write("no library", to: name)
        }
        let prelude = "export LD_LIBRARY_PATH='\(self.folder.path)'"
        let upload = Launch("upload", path, "http://127.0.0.1:1/x").with { $0.prelude = prelude }
        expect(try upload.run(), failsWith: "unavailable", 69, saying: "libcurl", "libcurl4 in Debian", "Homebrew")
        expect(try Launch("cat", path).with { $0.prelude = prelude }.run(), prints: "1")
    }

    @Test(arguments: [
        (["x", "y"], "not 'y'"), (["http://localhost:1/", "y"], "not 'y'"),
        (["x", "u:secret@h"], "not '***@h'"),
        (["x", "y", "http://localhost:1"], "Several sources require a URL that ends with '/'"),
    ])
    func aWrongURLIsTold(arguments: [String], text: String) throws {
        let outcome = try Launch(["upload"] + arguments).run()
        expect(outcome, failsWith: "invalidArgument", 64, saying: text)
        #expect(!outcome.errorText.contains("secret"))
    }

    @Test func aLineOfAListThatIsNoSourceIsTold() throws {
        let folder = try TemporaryFolder()
        let list = try folder.write("\n# comment\n", to: "list")
        let outcome = try Launch("upload", "--from-file", list, "http://127.0.0.1:1/").run()
        expect(outcome, failsWith: "invalidLocator", 64, saying: "Line 2 of \(list): ", "before the '#'")
        for command in ["cat", "sum"] {
            expect(
                try Launch(command, "--from-file", list).run(), failsWith: "invalidLocator", 64,
                saying: "Line 2 of \(list): ", "before the '#'")
        }
    }

    /// The time of the job is over before the file of certificates is looked at.
    @Test func anErrorOfTimeNamesNoCertificates() throws {
        let folder = try TemporaryFolder()
        let (source, certificates) = try (folder.write("hello", to: "a"), folder.write("", to: "ca.pem"))
        let outcome = try Launch(
            "upload", source, "https://127.0.0.1:1/x", "--max-time", "0.000000001", "--cacert", certificates
        ).run()
        expect(outcome, failsWith: "timedOut", 75)
        #expect(!outcome.errorText.contains("ca.pem"), "\(outcome.errorText)")
    }
}

/// What `gzip -n` makes of `two`.
private let gzipOfTwo: [UInt8] = [
    31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 43, 41, 207, 7, 0, 102, 138, 202, 17, 3, 0, 0, 0,
]

extension RunningProcess {
    var lines: [Substring] { String(decoding: self.output, as: UTF8.self).split(separator: "\n") }

    func waitForLines(_ count: Int) {
        var (lineCount, byteCount) = (0, 0)
        while true {
            lineCount += self.output[byteCount...].count { $0 == UInt8(ascii: "\n") }
            byteCount = self.output.count
            guard lineCount < count else { return }
            self.waitForOutput(byteCount + 1)
            guard self.output.count > byteCount else { return }
        }
    }
}
#endif
