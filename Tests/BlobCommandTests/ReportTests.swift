#if Command
import BlobTestSupport
import Foundation
import Testing

/// `info`, `sum` and `check`: what is told about bytes.
@Suite struct ReportTests {
    private let folder: TemporaryFolder
    private let file: String

    init() throws {
        self.folder = try TemporaryFolder()
        self.file = try self.folder.write("hello", to: "a")
    }

    // MARK: info

    private func info(_ locator: String) throws -> [String: Any] {
        let outcome = try Launch("info", "--json", locator).run()
        #expect(outcome.ending == .status(0), "\(outcome.errorText)")
        #expect(outcome.output.count { $0 == UInt8(ascii: "\n") } == 1)
        return try #require(JSONSerialization.jsonObject(with: Data(outcome.output)) as? [String: Any])
    }

    @Test func infoOfAFileTellsItsLengthAndValidator() throws {
        let info = try self.info(self.file)
        #expect(info["locator"] as? String == "file://\(self.file)")
        #expect(info["chain"] as? [String] == ["file"])
        #expect(info["byte_count"] as? Int == 5)
        #expect(info["name"] as? String == "a")
        #expect((info["validator"] as? String)?.hasPrefix("weak:5-") ?? false)
        #expect(info["validator_is_strong"] as? Bool == false)
        for ability in ["random_access", "concurrent_readers", "repeatable"] {
            #expect(info[ability] as? Bool == true)
        }
        #expect(try self.info(self.file)["validator"] as? String == info["validator"] as? String)
        try self.folder.write("hello!", to: "a")
        #expect(try self.info(self.file)["validator"] as? String != info["validator"] as? String)
    }

    @Test func infoOfAnEmptyFileTellsThatItIsEmpty() throws {
        #expect(try self.info(try self.folder.write("", to: "empty"))["byte_count"] as? Int == 0)
    }

    @Test func infoOfABigFileTellsItsWholeLength() throws {
        try #require(truncate(self.file, 5_000_000_000) == 0)
        #expect(try self.info(self.file)["byte_count"] as? Int64 == 5_000_000_000)
    }

    @Test func infoOfWhatIsReadOnceTellsNoLength() throws {
        let fifo = try self.folder.makeFIFO("fifo")
        for (locator, name) in [(fifo, "fifo"), ("-", "stdin")] {
            let info = try self.info(locator)
            #expect(info["byte_count"] == nil)
            #expect(info["validator"] == nil)
            #expect(info["name"] as? String == name)
            for ability in ["random_access", "concurrent_readers", "repeatable"] {
                #expect(info[ability] as? Bool == false)
            }
        }
    }

    @Test(.enabled(if: isLinux)) func infoOfAFileThatTellsNoSizeTellsNoLength() throws {
        let info = try self.info("/proc/self/status")
        #expect(info["byte_count"] == nil)
        #expect(info["validator"] == nil)
        #expect(info["repeatable"] as? Bool == true)
    }

    @Test func infoForPeopleHasOneLineForEachFact() throws {
        let text = try Launch("info", self.file).run().text
        let lines = text.split(separator: "\n")
        #expect(
            lines.map { $0.prefix { $0 != ":" } } == [
                "locator", "chain", "bytes", "media type", "name", "validator", "can",
            ])
        #expect(lines.contains("bytes: 5"))
        #expect(lines.contains("can: random access, concurrent readers, repeatable"))
        let input = try Launch("info", "-").run().text
        #expect(input.contains("\nbytes: unknown\n"))
        #expect(input.contains("\ncan: be read once\n"))
    }

    @Test func infoOfANameWithANewlineIsStillLines() throws {
        let file = try self.folder.write("hello", to: "b\nc")
        let outcome = try Launch("info", file).run()
        #expect(outcome.output.count { $0 == UInt8(ascii: "\n") } == 7)
        #expect(outcome.text.contains("\nname: b%0Ac\n"))
        #expect(try self.info(file)["name"] as? String == "b\nc")
    }

    // MARK: sum

    @Test(
        .enabled(if: isLinux),
        arguments: [
            ("sha256", "sha256sum"), ("sha1", "sha1sum"), ("md5", "md5sum"), ("sha384", "sha384sum"),
            ("sha512", "sha512sum"), ("SHA256", "sha256sum"),
        ])
    func sumAgreesWithTheToolsOfTheSystem(algorithm: String, tool: String) throws {
        let files = try [0, 1, 55, 56, 63, 64, 65, 111, 112, 128, 4096, 262_145, 1_000_003].map {
            try self.folder.write(makeContent($0), to: "n\($0)")
        }
        let expected = try self.folder.run(tool, files).outputText
        expect(try Launch(["sum"] + files + ["--algorithm", algorithm]).run(), prints: expected)
        if algorithm == "sha256" { expect(try Launch(["sum"] + files).run(), prints: expected) }
    }

    @Test func sumOfStandardInputIsNamedAsItWasAskedFor() throws {
        let digest = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
        expect(try Launch("sum", "-").run(input: Array("hello".utf8)), prints: "\(digest)  -\n")
        expect(
            try Launch("sum", "file://\(self.file)").run(), prints: "\(digest)  file://\(self.file)\n")
    }

    @Test func sumGoesOnAfterALocatorThatFails() throws {
        let other = try self.folder.write("other", to: "b")
        let outcome = try Launch("sum", self.file, self.folder.path("none"), other).run()
        let whole = try Launch("sum", self.file, other).run()
        expect(outcome, failsWith: "notFound", 66, saying: "none", after: whole.output)
        #expect(whole.text.split(separator: "\n").count == 2)
        // Each has its line, and the first has the status.
        let several = try Launch("sum", self.folder.path, self.folder.path("none"), self.file).run()
        #expect(several.ending == .status(65))
        #expect(several.errorText.split(separator: "\n").map { $0.prefix(14) } == ["blob: unsuppor", "blob: notFound"])
        #expect(several.text.split(separator: "\n").count == 1)
    }

    @Test func aNameThatSumPrintsIsAcceptedBack() throws {
        let raw = self.folder.pathBytes([0xFF])
        try self.folder.write(Array("hello".utf8), to: [0xFF])
        let tab = try self.folder.write("hello", to: "b\tc%d")
        let lines = try Launch(raw: Array("sum".utf8), Array(tab.utf8), raw, Array(self.file.utf8)).run().output
            .split(separator: UInt8(ascii: "\n"))
        #expect(lines.count == 3)
        for line in lines {
            let name = Array(line.dropFirst(66))
            expect(try Launch(raw: Array("cat".utf8), name).run(), prints: "hello")
        }
    }
}
#endif
