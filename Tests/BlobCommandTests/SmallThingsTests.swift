#if Command
import BlobTestSupport
import Foundation
import Testing

/// Sizes with units, suggestions, and the text of errors.
@Suite struct SmallThingsTests {
    private let folder: TemporaryFolder
    private let content = makeContent(5000)
    private let file: String

    init() throws {
        self.folder = try TemporaryFolder()
        self.file = try self.folder.write(self.content, to: "content")
    }

    @Test(arguments: [
        ("1k", 1024), ("1K", 1024), ("1KiB", 1024), ("1kB", 1000), ("2kb", 2000), ("1000", 1000), ("0M", 0),
    ])
    func sizesHaveUnits(text: String, byteCount: Int) throws {
        expect(try Launch("cat", self.file, "--length", text).run(), prints: Array(self.content.prefix(byteCount)))
        expect(try Launch("cat", self.file, "--offset", text).run(), prints: Array(self.content.dropFirst(byteCount)))
    }

    @Test(arguments: ["", "k", "-1", "1x", "1kk", "1 k", "1.5k", "9223372036854775807k", "٣", "+1", "0x10"])
    func whatIsNoSizeIsRefused(text: String) throws {
        expect(try Launch("cat", self.file, "--length=\(text)").run(), failsWith: "invalidArgument", 64)
    }

    @Test func theVersionIsOneLine() throws {
        let outcome = try Launch("--version").run()
        #expect(outcome.text.wholeMatch(of: /\d+\.\d+\.\d+\n/) != nil && outcome.ending == .status(0))
    }

    @Test func theErrorOfAFileNamesItsPathOnce() throws {
        for command in ["cat", "sum", "info"] {
            let none = self.folder.path("none")
            let text = try Launch(command, none).run().errorText
            #expect(text.components(separatedBy: none).count == 2, "\(text)")
            #expect(!text.contains("(at byte") && !text.contains("file://"), "\(text)")
        }
    }

    @Test func verboseTellsTheLayers() throws {
        let outcome = try Launch("cat", "-v", self.folder.path("none")).run()
        #expect(outcome.ending == .status(66))
        #expect(outcome.errorText.contains("\nblob:   in ") && outcome.errorText.contains("FileSource"))
    }

    @Test func verboseTellsWhatBecameOfIndexes() throws {
        let index = self.folder.path("x.index")
        try self.gzip(self.content)
        let gzip = "gzip+\(self.folder.path("x.gz"))"
        let built = try Launch("index", "build", "-v", "-o", index, gzip).run()
        #expect(built.errorText.hasPrefix("blob: the index \(index) was created.\n"), "\(built.errorText)")
        let used = try Launch("cat", "-v", "--index", index, "--offset", "9", gzip).run()
        #expect(used.errorText == "blob: the index \(index) is used.\n")
        #expect(used.output == Array(self.content.dropFirst(9)))
        #expect(try Launch("cat", "--index", index, gzip).run().errors.isEmpty)
        try self.gzip(self.content.reversed())
        let stale = try Launch("cat", "-v", "--index", index, gzip).run()
        #expect(stale.errorText == "blob: the index \(index) is not used: it was created from different content.\n")
        try self.folder.write(Array(self.content.prefix(100)), to: "x.index")
        let foreign = try Launch("cat", "-v", "--index", index, gzip).run()
        #expect(foreign.errorText == "blob: the index \(index) is not used: it is not an index.\n")
    }

    private func gzip(_ bytes: [UInt8]) throws {
        try self.folder.write(bytes, to: "x")
        try self.folder.run("gzip", "-fk", "x")
    }

    @Test func errorsBesideJSONAreJSONToo() throws {
        try self.gzip(self.content)
        for (arguments, code, status) in [
            (["ls", "--json", self.folder.path("none")], "notFound", 66),
            (["info", "--json", self.file, "\(self.folder.path("x.gz"))#none"], "unsupported", 65),
        ] as [([String], String, CInt)] {
            let outcome = try Launch(arguments).run()
            #expect(outcome.ending == .status(status))
            let lines = outcome.errorText.split(separator: "\n")
            try #require(lines.count == 2 && lines[0].hasPrefix("blob: \(code): "), "\(outcome.errorText)")
            let object = try JSONSerialization.jsonObject(with: Data(lines[1].utf8)) as? [String: [String: Any]]
            let error = try #require(object?["error"])
            #expect(error["code"] as? String == code && error["message"] is String && error["locator"] is String)
            #expect((error["layers"] as? [String])?.isEmpty == false, "\(lines[1])")
        }
    }

    /// Each suggestion looks through the names of the archive: ten errors have one.
    @Test func aListOfMissingMembersEndsSoon() throws {
        let script = """
            import sys, zipfile
            with zipfile.ZipFile(sys.argv[1], "w") as archive:
                for number in range(200): archive.writestr("./" + "n" * 200 + str(number), "x")
            """
        let archive = self.folder.path("many.zip")
        try self.folder.run("python3", "-c", script, archive)
        let name = String(repeating: "n", count: 200)
        let missing = (0..<15).map { "\(archive)#\(name)x\($0)" }
        let outcome = try Launch(["cat"] + missing).run()
        #expect(outcome.ending == .status(66))
        #expect(outcome.errorText.components(separatedBy: "Did you mean").count == 11)
        // Without their `./`, all are found, and each by a look-up.
        expect(
            try Launch(["cat"] + (0..<50).map { "\(archive)#\(name)\($0)" }).run(),
            prints: String(repeating: "x", count: 50))
    }

    @Test func aSlipIsNamed() throws {
        expect(try Launch("cta", self.file).run(), failsWith: "invalidArgument", 64, saying: "Did you mean 'cat'?")
        expect(
            try Launch("cat", "gzpi+file://\(self.file)").run(), failsWith: "notRegistered", 64,
            saying: "Did you mean 'gzip'?")
        expect(
            try Launch("cat", "\(self.folder.path)/gzpi+content").run(), failsWith: "notFound", 66,
            saying: "Did you mean 'gzip+content'?")
        expect(
            try Launch("cat", "localhost:8080/x").run(), failsWith: "notRegistered", 64,
            saying: "Did you mean 'http://localhost:8080/x'?")
    }

    @Test func columnsOfAListingLineUp() throws {
        try self.folder.write("", to: "empty")
        let tar = try self.folder.pack(["content", "empty"], into: "x.tar")
        for options in [["-l"], ["-l", "--human"]] {
            let lines = try Launch(["ls"] + options + [tar]).run().text.split(separator: "\n")
            #expect(Set(lines.map { $0.prefix { $0 != "@" }.count }).count == 1)
        }
        #expect(try Launch("ls", "-l", "--human", tar).run().text.contains(" 5.0 kB "))
    }

    @Test func linesOfListsAreTold() throws {
        let bad = Array("0 5\nbogus\n".utf8)
        expect(
            try Launch("cat", self.file, "--ranges", "-").run(input: bad), failsWith: "invalidArgument", 64,
            saying: "Line 2 of the list", after: Array(self.content.prefix(5)))
        let list = try self.folder.write("\(self.file)\n\nnone\n", to: "list")
        expect(
            try Launch("cat", "--from-file", list).run(), failsWith: "notFound", 66, saying: "Line 3 of \(list)",
            after: self.content)
    }
}
#endif
