import BlobStreamsStandard
import BlobTestSupport
import Foundation
import Testing

@testable import BlobReceiving

/// Sources, folders and archives as answers to requests.
@Suite struct ServedBlobsTests {
    private let folder: TemporaryFolder
    private static let token = "secret"

    init() throws { self.folder = try TemporaryFolder() }

    private func service(_ items: [ServedBlobs.Item], token: AccessToken? = AccessToken(Self.token)) throws
        -> ServedBlobs
    {
        var context = BlobContext()
        context.index = .none
        return try ServedBlobs(items, registry: .standard, token: token, context: context)
    }

    private func ask(
        _ service: ServedBlobs, _ path: String, _ fields: [RequestHead.Field] = [], method: String = "GET"
    ) throws -> (status: Int, fields: [RequestHead.Field], text: String) {
        let head = RequestHead(method: method, target: path, fields: fields)
        let answer = try service.receiver(for: head).answer()
        let body = try answer.body?.data(upTo: 1 << 20) ?? Data()
        if method == "GET", let byteCount = answer.byteCount { #expect(byteCount == Int64(body.count)) }
        return (answer.status, answer.fields, String(decoding: body, as: UTF8.self))
    }

    private func text(_ service: ServedBlobs, _ path: String) throws -> String {
        let (status, _, text) = try self.ask(service, "/\(Self.token)/\(path)")
        return status == 200 ? text : "\(status)"
    }

    private let source = ServedBlobs.Item(
        "x.txt", .source(MemorySource("0123456789".utf8, validator: .strong("v"))))

    @Test func aSourceHasRangesAndValidators() throws {
        let service = try self.service([self.source])
        let whole = try self.ask(service, "/secret/x.txt")
        #expect(whole.status == 200 && whole.text == "0123456789")
        let fields = Dictionary(whole.fields.map { ($0.name, $0.value) }) { $1 }
        #expect(fields["Accept-Ranges"] == "bytes" && fields["Content-Type"] == "text/plain; charset=utf-8")
        #expect(fields["Content-Disposition"] == "inline; filename*=UTF-8''x.txt")
        let tag = try #require(fields["ETag"])
        #expect(!tag.hasPrefix("W/"))
        let part = try self.ask(service, "/secret/x.txt", [("Range", "bytes=2-3"), ("If-Range", tag)])
        #expect(part.status == 206 && part.text == "23")
        #expect(part.fields.contains { $0 == ("Content-Range", "bytes 2-3/10") })
        #expect(try self.ask(service, "/secret/x.txt", [("If-None-Match", tag)]).status == 304)
        #expect(try self.ask(service, "/secret/x.txt", [("If-Match", "\"other\"")]).status == 412)
        let past = try self.ask(service, "/secret/x.txt", [("Range", "bytes=10-")])
        #expect(past.status == 416 && past.fields.contains { $0 == ("Content-Range", "bytes */10") })
        let head = try self.ask(service, "/secret/x.txt", [("Range", "bytes=2-3")], method: "HEAD")
        #expect(head.status == 200 && head.text.isEmpty)
        let attachment = try self.ask(service, "/secret/x.txt?download")
        #expect(attachment.fields.contains { $0.name == "Content-Disposition" && $0.value.hasPrefix("attachment;") })
    }

    @Test func severalRangesAreOneMessage() throws {
        let answer = try self.ask(self.service([self.source]), "/secret/x.txt", [("Range", "bytes=0-1,-2")])
        let type = try #require(answer.fields.first { $0.name == "Content-Type" }?.value)
        let boundary = try #require(type.split(separator: "=").last)
        #expect(type.hasPrefix("multipart/byteranges; boundary="))
        let parts = [("0-1", "01"), ("8-9", "89")].map { range, bytes in
            "\r\n--\(boundary)\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Range: bytes \(range)/10\r\n\r\n\(bytes)"
        }
        #expect(answer.text == parts.joined() + "\r\n--\(boundary)--\r\n")
    }

    @Test func digestsOfTheSourceAreStated() throws {
        let digest = BlobStatedDigest("sha256", CryptoDigest.sha256.digest(of: Array("a".utf8)), origin: "test")
        let source = ClosureSource(info: BlobInfo(byteCount: 1, digests: [digest])) { _, output, _ in
            output.append(UInt8(ascii: "a"))
        }
        let answer = try self.ask(self.service([ServedBlobs.Item("a", .source(source))]), "/secret/a")
        #expect(
            answer.fields.contains { $0 == ("Repr-Digest", "sha-256=:ypeBEsobvcr6wjGzmiPcTaeG7/gUfE5yuYB3ha/uSLs=:") })
    }

    @Test func aFolderIsAZipThatIsContinuedByRanges() throws {
        try FileManager.default.createDirectory(atPath: self.folder.path("d/sub"), withIntermediateDirectories: true)
        try Data("first".utf8).write(to: URL(fileURLWithPath: self.folder.path("d/a")))
        try Data(repeating: 7, count: 100_000).write(to: URL(fileURLWithPath: self.folder.path("d/sub/b")))
        try FileManager.default.createSymbolicLink(
            atPath: self.folder.path("d/link"), withDestinationPath: "/etc/passwd")
        let service = try self.service([ServedBlobs.Item("d", .folder(path: self.folder.path("d")))])
        func zip(_ path: String, _ fields: [RequestHead.Field] = []) throws -> (answer: RequestAnswer, body: Data) {
            let head = RequestHead(method: "GET", target: "/secret/\(path)?format=zip", fields: fields)
            let answer = try service.receiver(for: head).answer()
            return (answer, try answer.body?.data(upTo: 1 << 20) ?? Data())
        }
        let (answer, whole) = try zip("d/")
        #expect(answer.status == 200 && answer.byteCount == Int64(whole.count))
        #expect(answer.fields.contains { $0 == ("Content-Disposition", "inline; filename*=UTF-8''d.zip") })
        let archive = try BlobRegistry.standard.container(of: MemorySource(whole), context: BlobContext())
        var names: [String] = []
        try archive.forEachMember(BlobContext()) { member in
            names.append(String(decoding: member.name, as: UTF8.self))
            return true
        }
        #expect(names.sorted() == ["a", "sub/", "sub/b"])
        let part = try zip("d/", [("Range", "bytes=50000-")])
        #expect(part.answer.status == 206 && part.body == whole.dropFirst(50_000))
        #expect(try zip("d/sub/").body.count < whole.count)
        #expect(try zip("d/none/").answer.status == 404)
        #expect(try self.text(service, "d/").contains("href=\"?format=zip\""))
        // The listing of everything has none, because its items may be anything.
        #expect(try !self.text(service, "").contains("format=zip"))
    }

    /// Without the token, or with another one, nothing is there.
    @Test(arguments: [
        "/", "/x.txt", "/secre/x.txt", "/secret2/x.txt", "/SECRET/x.txt", "//secret/x.txt", "secret/x.txt", "*", "",
    ])
    func nothingIsThereWithoutTheToken(path: String) throws {
        #expect(try self.ask(self.service([self.source]), path).status == 404)
    }

    @Test func nothingButReadingIsAccepted() throws {
        let service = try self.service([self.source])
        for method in ["PUT", "POST", "DELETE", "PATCH", "OPTIONS", "get"] {
            #expect {
                _ = try service.receiver(for: RequestHead(method: method, target: "/secret/x.txt", fields: []))
            } throws: {
                let answer = ($0 as? BlobError)?.answer
                return answer?.status == 405 && answer?.fields.first?.value == "GET, HEAD"
            }
        }
    }

    /// Without a token, a page of another site could reach this machine by a name of its own.
    @Test func onlyKnownHostsAreServedWithoutAToken() throws {
        let service = try ServedBlobs([self.source], registry: .standard, token: nil, hosts: ["127.0.0.1", "[::1]"])
        for (host, isServed) in [("127.0.0.1:80", true), ("[::1]:80", true), ("evil.example", false), ("", false)] {
            let receiver = try? service.receiver(
                for: RequestHead(method: "GET", target: "/x.txt", fields: [("Host", host)]))
            #expect((receiver != nil) == isServed, "\(host)")
        }
    }

    private func write(_ text: String, to name: String) throws {
        let url = self.folder.url(name)
        try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: url)
    }

    /// Links lead nowhere, and no path leads out.
    @Test func aFolderIsServedWithoutItsLinks() throws {
        try self.write("outside", to: "secret.txt")
        try self.write("a", to: "served/a.txt")
        try self.write("b", to: "served/sub/b é%.txt")
        for (link, target) in [("link.txt", "secret.txt"), ("up", ""), ("loop", "served/loop")] {
            try FileManager.default.createSymbolicLink(
                atPath: self.folder.path("served/\(link)"), withDestinationPath: self.folder.path(target))
        }
        mkfifo(self.folder.path("served/fifo"), 0o600)
        let service = try self.service([ServedBlobs.Item("served", .folder(path: self.folder.path("served")))])
        #expect(try self.text(service, "served/a.txt") == "a")
        #expect(try self.text(service, "served/sub/b%20%C3%A9%25.txt") == "b")
        for path in [
            "served/link.txt", "served/up/secret.txt", "served/up/", "served/loop", "served/fifo",
            "served/../secret.txt",
            "served/%2e%2e/secret.txt", "served/..%2fsecret.txt", "served//a.txt", "served/./a.txt", "served/a.txt%00",
            "served/sub%2Fb", "served/a.txt/", "served/a.txt/x", "served/none", "served/%", "served/%zz", "none",
            "a.txt",
        ] {
            #expect(try self.text(service, path) == "404", "\(path)")
        }
        let listing = try self.text(service, "served/?format=json")
        #expect(listing.contains("\"href\":\"sub/\",\"kind\":\"folder\""))
        #expect(listing.contains("\"kind\":\"link\",\"modification_time\""))
        let redirection = try self.ask(service, "/secret/served/sub")
        #expect(redirection.status == 308 && redirection.fields.contains { $0 == ("Location", "/secret/served/sub/") })
    }

    /// A file that is replaced has other validators, and a version that was announced is not mixed with another.
    @Test func aReplacedFileIsAnotherVersion() throws {
        try self.write("first", to: "served/a.txt")
        let service = try self.service([ServedBlobs.Item("served", .folder(path: self.folder.path("served")))])
        let head = RequestHead(method: "GET", target: "/secret/served/a.txt", fields: [])
        let first = try service.receiver(for: head).answer()
        try self.write("second", to: "served/b.txt")
        rename(self.folder.path("served/b.txt"), self.folder.path("served/a.txt"))
        // The answer is about the file that was found.
        #expect(try first.body?.data(upTo: 100) == Data("first".utf8))
        let second = try service.receiver(for: head).answer()
        #expect(try second.body?.data(upTo: 100) == Data("second".utf8))
        #expect(first.fields.first?.value != second.fields.first?.value)
    }

    private func makeArchive(_ name: String, _ command: String) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", command]
        process.currentDirectoryURL = self.folder.url
        try process.run()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0)
    }

    @Test func membersAreServedAtAnyDepth() throws {
        try self.write("deep", to: "in/x/deep.txt")
        try self.write("top", to: "top.txt")
        try self.makeArchive("", "tar cf inner.tar in && mkdir d && mv inner.tar top.txt d && tar czf outer.tgz ./d")
        for item in [
            ServedBlobs.Item("o", .source(FileSource(self.folder.path("outer.tgz")))),
            ServedBlobs.Item(
                "o",
                .container(
                    try BlobRegistry.standard.container(for: BlobLocator(filePath: self.folder.path("outer.tgz").utf8)))
            ),
        ] {
            let service = try self.service([item])
            #expect(try self.text(service, "o/d/top.txt") == "top")
            #expect(try self.text(service, "o/d/inner.tar/in/x/deep.txt") == "deep")
            #expect(try self.text(service, "o/d/inner.tar/in/?format=json").contains("\"href\":\"x/\""))
            #expect(try self.text(service, "o/?format=json").contains("\"name\":\"d\""))
            #expect(try self.text(service, "o/d/?format=json").contains("\"members\":\"inner.tar/\""))
            for path in ["o/top.txt", "o/d/none", "o/d/top.txt/x", "o/d/inner.tar/none", "o/d/../d/top.txt"] {
                #expect(try self.text(service, path) == "404", "\(path)")
            }
            #expect(try self.ask(service, "/secret/o/d/inner.tar/in").status == 308)
        }
        let names = try self.service([
            ServedBlobs.Item("o", .source(MemorySource(Data()))),
            ServedBlobs.Item("o", .source(MemorySource(Data("2".utf8)))),
        ])
        #expect(try self.text(names, "o-2") == "2")
    }

    /// The first member of many tar archives is `./`.
    @Test func theFolderOfAnArchiveIsNotAnEntryOfItself() throws {
        try self.write("a", to: "in/a.txt")
        try self.makeArchive("", "tar czf dot.tgz -C in .")
        let service = try self.service([ServedBlobs.Item("x", .source(FileSource(self.folder.path("dot.tgz"))))])
        #expect(try self.text(service, "x/?format=json").hasPrefix("{\"count\":1,"))
        #expect(try self.text(service, "x/a.txt") == "a")
    }

    /// Names that no path can have, and members with one name.
    @Test func everyMemberHasAPath() throws {
        try self.makeArchive(
            "",
            "echo 1 > a; echo 2 > b; tar cPf x.tar --transform 's,b,../b,' --transform 's,^a$,n,' a b && "
                + "echo 3 > n && tar rPf x.tar n")
        let service = try self.service([ServedBlobs.Item("x", .source(FileSource(self.folder.path("x.tar"))))])
        let listing = try self.text(service, "x/?format=json")
        #expect(listing.contains("\"href\":\"%400\"") && listing.contains("\"href\":\"%402\""), "\(listing)")
        #expect(try self.text(service, "x/@0") == "1\n")
        #expect(try self.text(service, "x/@2") == "3\n")
        #expect(try self.text(service, "x/n") == "300")
        #expect(try self.text(service, "x/%252E%252E/b") == "2\n")
    }

    /// The limit of a page is 1,000 entries.
    @Test func aLongListingHasPages() throws {
        for number in 0..<1001 { try self.write("", to: "served/\(number)") }
        let service = try self.service([ServedBlobs.Item("s", .folder(path: self.folder.path("served")))])
        let first = try self.text(service, "s/?format=json")
        #expect(first.contains("\"next\":\"?format=json&page=2\""))
        #expect(first.components(separatedBy: "\"href\"").count == 1001)
        let second = try self.text(service, "s/?format=json&page=2")
        #expect(second.components(separatedBy: "\"href\"").count == 2 && !second.contains("\"next\""))
        #expect(try self.text(service, "s/?page=2").contains("Previous page"))
        for page in ["3", "0", "-1", "2147483648"] { #expect(try self.text(service, "s/?page=\(page)") == "404") }
    }

    /// A name is text and never markup.
    @Test func aNameInAListingIsEscaped() throws {
        let item = ServedBlobs.Item("<script>&\"'\u{1}\u{202E}", .source(MemorySource(Data())))
        let html = try self.text(self.service([item]), "")
        #expect(!html.contains("<script") && html.contains("&lt;script&gt;&amp;&quot;'\u{FFFD}\u{FFFD}"))
        #expect(html.contains("href=\"%3Cscript%3E%26%22%27%01%E2%80%AE\""))
    }

    /// The client learns the code, and the owner of the server the message.
    @Test func anErrorOfASourceIsReported() throws {
        let reported = Locked<[BlobError]>([])
        let source = FileSource(self.folder.path("missing"))
        let service = try ServedBlobs(
            [ServedBlobs.Item("m", .source(source))], registry: .standard, token: nil
        ) { error in reported.withLock { $0.append(error) } }
        let answer = try self.ask(service, "/m")
        #expect(answer.status == 404 && !answer.text.contains(self.folder.path))
        #expect(reported.withLock { $0.map(\.code) } == [.notFound])
    }
}
