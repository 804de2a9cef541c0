#if Command
import BlobTestSupport
import Foundation
import Testing

/// Help, mistakes in arguments, and the shape of errors.
@Suite struct UsageTests {
    private let folder: TemporaryFolder
    private let file: String

    init() throws {
        self.folder = try TemporaryFolder()
        self.file = try self.folder.write("hello", to: "a")
    }

    @Test(arguments: [
        ["--help"], ["-h"], ["help"], [], ["cat", "--help"], ["info", "--help"], ["sum", "-h"], ["schemes", "--help"],
        ["test", "--help"], ["help", "cat"],
    ])
    func helpIsAResult(arguments: [String]) throws {
        let outcome = try Launch(arguments).run()
        #expect(outcome.ending == .status(0))
        #expect(outcome.text.contains("USAGE: blob"))
        #expect(outcome.errorText == "")
    }

    @Test func theHelpNamesEveryCommand() throws {
        let text = try Launch("--help").run().text
        for command in [
            "cat", "extract", "form", "index", "info", "job", "library", "ls", "receive", "schemes", "serve", "sum",
            "test",
            "upload",
        ] {
            #expect(text.contains("  \(command) "), "\(command)")
        }
    }

    /// The parser finds the `h` of help in them.
    @Test(arguments: ["-dash.txt"]) func unknownLettersAreNoHelp(_ word: String) throws {
        expect(try Launch("cat", word, "other").run(), failsWith: "invalidArgument", 64, saying: "'./\(word)'")
    }

    @Test func aNameWithAColonBehindADigitIsAPath() throws {
        expect(try Launch("cat", "12:30.log").run(), failsWith: "notFound", 66)
    }

    @Test(.enabled(if: isLinux)) func helpThatCannotBePrintedIsAnError() throws {
        let full = try opened("/dev/full", O_WRONLY)
        defer { close(full) }
        expect(try Launch("--help").with { $0.output = .file(full) }.run(), failsWith: "io", 74)
    }

    @Test(arguments: [
        ["bogus"], ["cat", "--bogus", "x"], ["cat", "--bo\ngus"], ["cat", "x", "--offset", "y"],
        ["cat", "x", "--offset=-x"], ["cat", "x", "--offset", "-x"], ["cat", "x", "--length=-1"],
        ["cat", "x", "--max-bytes=-1"], ["cat", "x", "--offset", "9223372036854775808"], ["cat", "x", "--length"],
        ["cat", "x", "--progress", "often"], ["cat", "x", "--output"], ["cat", "x", "--from-file"],
        ["cat", "--ranges", "r"], ["cat", "x", "y", "--ranges", "r"], ["cat", "x", "--ranges", "r", "--offset", "1"],
        ["cat", "x", "--ranges", "r", "--length", "1"], ["cat", "x", "--ranges", "r", "--from-file", "l"],
        ["cat", "--from-file", "l", "--offset", "1"], ["cat", "--from-file", "l", "--length", "1"],
        ["cat", "x", "--idle-timeout", "0"], ["cat", "x", "--idle-timeout=-1"], ["cat", "x", "--idle-timeout", "soon"],
        ["cat", "x", "--idle-timeout", "nan"], ["cat", "x", "--idle-timeout", "inf"],
        ["cat", "x", "--idle-timeout", "1e30"], ["cat", "x", "--retry=-1"], ["cat", "x", "--retry", "often"],
        ["sum", "x", "--retry=-1"], ["cat", "x", "--limit-rate", "0"], ["cat", "x", "--limit-rate", "9X"],
        ["cat", "x", "--limit-rate", "9223372036854775807k"], ["cat", "x", "--max-ratio", "0"], ["info"],
        ["sum", "x", "--algorithm", "crc"], ["schemes", "x"], ["check"], ["test", "x", "--index", "i"],
        ["locators"], ["index", "build"], ["index", "show"], ["index", "remove"], ["index", "bogus", "x"],
        ["index", "build", "x", "y"], ["index", "remove", "x", "--all"], ["index", "remove", "--all", "--output", "x"],
        ["index", "verify"], ["index", "build", "x", "--index", "none"], ["index", "show", "x", "--output", ""],
        ["cat", "x", "--index", ""], ["cat", "x", "--index"],
    ])
    func aMistakeInTheArgumentsIsOneLine(arguments: [String]) throws {
        expect(try Launch(arguments).run(), failsWith: "invalidArgument", 64)
    }

    // Without the options of uploads, none of its letters is an option.
    @Test func aFileWhoseNameLooksLikeOptionsIsToldAsOne() throws {
        try self.folder.write("hello", to: "-dash.txt")
        let launch = { (arguments: [String]) in
            try Launch(arguments).inFolder(self.folder).run()
        }
        let outcome = try launch(["cat", "-dash.txt"])
        expect(outcome, failsWith: "invalidArgument", 64, saying: "'./-dash.txt'", "'--'")
        #expect(!outcome.errorText.contains("\\n"))
        expect(try launch(["cat", "--", "-dash.txt"]), prints: "hello")
        expect(try launch(["cat", "./-dash.txt"]), prints: "hello")
        #expect(try !launch(["cat", "-none.txt"]).errorText.contains("\\n"))
    }

    @Test(arguments: [
        (["help", "ct"], "Did you mean 'cat'?"), (["help", "zzzz"], "Commands: cat"),
        (["help", "index", "bild"], "Did you mean 'build'?"),
        (["index", "bild", "x"], "Unknown command 'bild' of 'blob index'"),
        (["ct", "x"], "Did you mean 'cat'?"),
    ])
    func anUnknownCommandIsNamed(arguments: [String], text: String) throws {
        expect(try Launch(arguments).run(), failsWith: "invalidArgument", 64, saying: text)
    }

    @Test(arguments: ["drop", "rm", "remove"]) func otherWordsForRemoveAreAccepted(word: String) throws {
        expect(try Launch("index", word, self.file, "--output", self.folder.path("none")).run(), prints: "")
    }

    /// The parser does not list the values of options that only the whole help describes.
    @Test(arguments: [
        (["cat", "--progress", "maybe", "x"], "Valid values: auto, always, never."),
        (["upload", "--content-encoding", "br", "x", "http://a/"], "Valid values: identity, gzip."),
        (["cat", "--length", "-5", "x"], "'-5' is invalid for '--length"),
    ])
    func anUnknownValueIsNamedWithTheChoices(arguments: [String], text: String) throws {
        expect(try Launch(arguments).run(), failsWith: "invalidArgument", 64, saying: text)
    }

    @Test func helpFitsAnyTerminal() throws {
        let outcome = try Launch("-c", "COLUMNS=20 \"$0\" cat --help", Launch.blob).with { $0.program = "/bin/sh" }
            .run()
        #expect(outcome.ending == .status(0) && outcome.text.contains("USAGE: blob cat"))
    }

    @Test func anOptionIsSuggestedForASlipAlone() throws {
        let json = try Launch("cat", "--json", "x").run()
        // The parser would suggest --user.
        expect(json, failsWith: "invalidArgument", 64, saying: "'--json'. 'blob cat --help all' lists the options.")
        #expect(!json.errorText.contains("Did you mean"))
        expect(
            try Launch("cat", "--limt-rate", "1", "x").run(), failsWith: "invalidArgument", 64,
            saying: "Did you mean '--limit-rate'?")
    }

    @Test func everyCommandTakesAnIdleTimeout() throws {
        for command in ["cat", "info", "sum", "test"] {
            let outcome = try Launch(command, self.file, "--idle-timeout", "1000000000").run()
            #expect(outcome.ending == .status(0), "\(outcome.errorText)")
        }
    }

    @Test(arguments: ["cat", "info", "sum"]) func everyCommandTellsWhatIsNoFile(command: String) throws {
        let missing = self.folder.path("none")
        expect(try Launch(command, missing).run(), failsWith: "notFound", 66, saying: missing)
        expect(try Launch(command, self.folder.path).run(), failsWith: "unsupported", 65, saying: "directory")
        expect(try Launch(command, "").run(), failsWith: "invalidLocator", 64, saying: "empty")
    }

    @Test func controlCharactersOfANameDoNotBreakTheLine() throws {
        expect(
            try Launch("cat", self.folder.path("no\nsuch\r\u{1B}[31mfile")).run(), failsWith: "notFound", 66,
            saying: "no\\nsuch")
    }

    @Test(.enabled(if: isLinux)) func whatMayNotBeReadIsPermissionDenied() throws {
        // This one is for nobody to read, the administrator included; a file of mode 0 is for all others.
        let forbidden = "/proc/sys/vm/compact_memory"
        if FileManager.default.fileExists(atPath: forbidden) {
            expect(try Launch("cat", forbidden).run(), failsWith: "permissionDenied", 77)
        }
        guard getuid() != 0 else { return }
        chmod(self.file, 0)
        expect(try Launch("cat", self.file).run(), failsWith: "permissionDenied", 77, saying: self.file)
    }

    @Test func schemesListsWhatIsRegistered() throws {
        let rows = try Launch("schemes").run().text.split(separator: "\n").map { $0.split(separator: " ") }
        #expect(rows.map { $0[0] } == rows.map { $0[0] }.sorted())
        for row in [
            ["file", "origin", "FileSource"], ["stdin", "origin", "FileSource"], ["gzip", "filter", "GzipSource"],
            ["zlib", "filter", "GzipSource"], ["deflate", "filter", "GzipSource"], ["data", "origin", "BlobCore"],
            ["xz", "filter", "ArchiveSource"], ["zip", "container", "ArchiveSource"], ["s3", "origin", "S3Source"],
            ["https", "origin", "HTTPSource"],
        ] as [[Substring]] {
            #expect(rows.contains(row))
        }
        #if Photos
        #expect(rows.contains(["ph", "origin", "AssetLibrarySource"]))
        #endif
    }
}
#endif
