#if Command
import BlobTestSupport
import Foundation
import Testing

/// The command that composes zips, and zips as sources of other commands.
@Suite(.timeLimit(.minutes(5))) struct ComposeTests {
    private let folder: TemporaryFolder
    private let content = makeContent(100_000)

    init() throws {
        self.folder = try TemporaryFolder()
        try FileManager.default.createDirectory(
            atPath: self.folder.path("d/sub/empty"), withIntermediateDirectories: true)
        try self.folder.write(self.content, to: "d/a.bin")
        try self.folder.write(Array("hello".utf8), to: "d/sub/ü.txt")
    }

    private var d: String { self.folder.path("d") }

    /// Returns the names of the entries of the zip that the command prints, after every byte was verified.
    private func names(_ arguments: String...) throws -> [String] {
        let outcome = try Launch(["compose", "zip"] + arguments).run()
        #expect(outcome.ending == .status(0), "\(outcome.errorText)")
        let path = try self.folder.write(outcome.output, to: "composed.zip")
        let test = try Launch("test", path).run()
        #expect(test.ending == .status(0), "\(test.errorText)")
        return try Launch("ls", path).run().text.split(separator: "\n").map(String.init)
    }

    @Test func foldersFilesNamesAndMembersAreEntries() throws {
        #expect(try self.names(self.d) == ["d/", "d/sub/", "d/sub/empty/", "d/a.bin", "d/sub/ü.txt"])
        #expect(try self.names(self.d + "/") == ["sub/", "sub/empty/", "a.bin", "sub/ü.txt"])
        #expect(try self.names("x=\(self.d)") == ["x/", "x/sub/", "x/sub/empty/", "x/a.bin", "x/sub/ü.txt"])
        #expect(try self.names("b/c%3D=\(self.d)/a.bin", "\(self.d)/sub/ü.txt") == ["b/c=", "ü.txt"])
        #expect(try self.names("m=data:,hello%20=") == ["m"])
        let zip = self.folder.path("all.zip")
        _ = try Launch("compose", "zip", "-o", zip, self.d).run()
        #expect(try self.names("\(zip)#d/*") == ["d/sub/", "d/a.bin"])
        #expect(try self.names("y=\(zip)#**.txt", "z=\(zip)#d/a.bin") == ["y/d/sub/ü.txt", "z"])
        // A file with such a name wins.
        try self.folder.write([1], to: "n=v")
        #expect(try self.names(self.folder.path("n=v")) == ["n=v"])
        let list = try self.folder.write(Array("one=\(self.d)/a.bin\n\n\(self.d)/sub/ü.txt\n".utf8), to: "list")
        #expect(try self.names("--from-file", list) == ["one", "ü.txt"])
    }

    @Test func everyOffsetContinuesTheSameZip() throws {
        let whole = try Launch("compose", "zip", self.d).run().output
        let size = whole.count
        for offset in [1, 70_000, size - 400, size - 10] {
            expect(
                try Launch("compose", "zip", "--index", "none", "--offset", "\(offset)", self.d).run(),
                prints: Array(whole.dropFirst(offset)))
        }
        expect(
            try Launch("compose", "zip", "--offset", "-10", "--length", "3", self.d).run(),
            prints: Array(whole.suffix(10).prefix(3)))
        let source = "zipped+\(self.d)"
        expect(try Launch("cat", source).run(), prints: try Launch("compose", "zip", self.d + "/").run().output)
        #expect(try Launch("info", source).run().text.contains("\nname: d.zip\n"))
        expect(try Launch("cat", "zip+\(source)#sub/%C3%BC.txt").run(), prints: Array("hello".utf8))
    }

    @Test func mistakesAndChangedSourcesAreErrors() throws {
        expect(try Launch("compose", "zip").run(), failsWith: "invalidArgument", 64, saying: "at least one source")
        expect(
            try Launch("compose", "zip", "a=data:,x", "a=data:,y").run(), failsWith: "invalidArgument", 64,
            saying: "Two entries have the name 'a'.")
        expect(
            try Launch("compose", "zip", "../a=data:,x").run(), failsWith: "invalidArgument", 64,
            saying: "leads out of its folder")
        expect(
            try Launch("compose", "zip", "a=\(self.d)/none").run(), failsWith: "notFound", 66, saying: "Entry 'a'")
        // What begins like a URL has no name in front.
        expect(try Launch("compose", "zip", "data:,x=y").run(), failsWith: "invalidArgument", 64, saying: "has no name")
        let list = try self.folder.write(Array("a=data:,x\nb=http://127.0.0.1:1/\n".utf8), to: "list")
        expect(
            try Launch("compose", "zip", "--from-file", list).run(), failsWith: "invalidArgument", 64,
            saying: "Line 2 of ")
    }

    @Test func aZipIsUploadedWholeAndInPieces() throws {
        let whole = try Launch("compose", "zip", self.d).run().output
        let store = try TemporaryFolder()
        let (receiver, port) = try startReceiver(in: store)
        defer { receiver.send(SIGKILL) }
        let put = try Launch("upload", "--zip", self.d, "http://127.0.0.1:\(port)/put.zip").run()
        #expect(put.ending == .status(0), "\(put.errorText)")
        let resumable = try Launch("upload", "--zip", "--resumable", "tus", self.d, "http://127.0.0.1:\(port)/files/")
            .run()
        #expect(resumable.ending == .status(0), "\(resumable.errorText)")
        let form = try Launch("upload", "-F", "f=@zipped+\(self.d)", "http://127.0.0.1:\(port)/").run()
        #expect(form.ending == .status(0), "\(form.errorText)")
        receiver.waitForLines(4)
        let sum = try Launch("sum", "-").run(input: whole).text.prefix(64)
        #expect(receiver.lines[1...2].allSatisfy { $0.contains("\"sha256\":\"\(sum)\"") }, "\(receiver.lines)")
        #expect(receiver.lines[3].contains("\"filename\":\"d.zip\""))
    }
}
#endif
