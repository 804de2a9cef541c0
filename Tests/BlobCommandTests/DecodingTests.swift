#if Command
import BlobTestSupport
import Foundation
import Testing

/// `--decode`, and what `info` and `ls` tell about content.
@Suite(.enabled(if: isLinux)) struct DecodingTests {
    private let folder: TemporaryFolder
    private let content = makeContent(100_000)
    private let file: String

    init() throws {
        self.folder = try TemporaryFolder()
        self.file = try self.folder.write(self.content, to: "content")
        let script = """
            gzip -k content && xz -k content && gzip -kc content.xz > both && tar cf x.tar content content.gz \
            && gzip -kc x.tar > x.tgz
            """
        try self.folder.run("sh", "-c", script)
        try self.folder.write("text", to: "named.gz")
    }

    @Test func everyFilterThatTheContentShowsIsTakenOff() throws {
        for name in ["content", "content.gz", "content.xz", "both"] {
            let path = self.folder.path(name)
            expect(try Launch("cat", "-z", path).run(), prints: self.content)
            expect(try Launch("cat", "--decode", path, path).run(), prints: self.content + self.content)
            let sum = try Launch("sum", "-z", path).run().text.prefix(64)
            #expect(try sum == Launch("sum", self.file).run().text.prefix(64))
            #expect(try Launch("info", "-z", path).run().text.contains("\nbytes: "))
        }
        // A name alone shows nothing.
        expect(try Launch("cat", "-z", self.folder.path("named.gz")).run(), prints: "text")
    }

    @Test func membersAndListsAreDecodedToo() throws {
        let list = ["x.tar#content.gz", "x.tgz#content.gz", "x.tgz#content"].map { self.folder.path($0) }
        expect(try Launch(["cat", "-z"] + list).run(), prints: self.content + self.content + self.content)
        expect(
            try Launch("cat", "-z", "--from-file", "-").run(input: Array(list.joined(separator: "\n").utf8)),
            prints: self.content + self.content + self.content)
        expect(
            try Launch("form", "-z", "--boundary", "B", "-F", "a=<\(list[0])").run(),
            prints: Array("--B\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n".utf8) + self.content
                + Array("\r\n--B--\r\n".utf8))
    }

    @Test func standardInputIsDecoded() throws {
        let bytes = try self.folder.bytes("both")
        expect(try Launch("cat", "-z").run(input: bytes), prints: self.content)
        expect(try Launch("cat", "-z").run(input: self.content), prints: self.content)
        expect(try Launch("cat", "-z").run(), prints: "")
    }

    @Test func aDamagedFilterIsAnError() throws {
        let cut = try self.folder.write(self.folder.bytes("content.gz").dropLast(9), to: "cut")
        let outcome = try Launch("cat", "-z", cut).run()
        expect(outcome, failsWith: "truncated", 65, after: outcome.output)
    }

    @Test func infoTellsTheFormatOfTheContent() throws {
        let table = [
            ("content.gz", "content: gzip\n"), ("both", "content: xz in gzip\n"), ("x.tgz", "content: tar in gzip\n"),
            ("x.tar", "content: tar\nmembers: 2\nindex: none\n"),
        ]
        for (name, text) in table {
            let outcome = try Launch("info", self.folder.path(name)).run()
            #expect(outcome.text.contains(text), "\(outcome.text)")
        }
        let object =
            try JSONSerialization.jsonObject(
                with: Data(Launch("info", "--json", self.folder.path("x.tgz")).run().output)) as? [String: Any]
        #expect(object?["content"] as? [String] == ["gzip", "tar"])
    }

    @Test func lsTellsHowToReadWhatIsNoArchive() throws {
        expect(
            try Launch("ls", self.folder.path("content.gz")).run(), failsWith: "unsupported", 65,
            saying: "This is gzip",
            "blob cat -z")
        expect(
            try Launch("ls", self.file).run(), failsWith: "unsupported", 65,
            saying: "Not an archive in a known format")
    }
}
#endif
