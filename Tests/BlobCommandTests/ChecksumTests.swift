#if Command
import BlobCommandLine
import BlobTestSupport
import Foundation
import Testing

/// `sum -c`, and several algorithms at once.
@Suite struct ChecksumTests {
    private let folder: TemporaryFolder
    private let files: [String]

    init() throws {
        self.folder = try TemporaryFolder()
        let folder = self.folder
        self.files = try ["a", "b c", "(d) = e", "x\\y"].map { try folder.write("content of \($0)", to: $0) }
    }

    private var allAreRight: String { self.files.map { "\($0): OK\n" }.joined() }

    @Test(.enabled(if: isLinux), arguments: ["md5sum", "sha1sum", "sha256sum", "sha384sum", "sha512sum"])
    func listsOfTheToolsOfTheSystemAreChecked(name: String) throws {
        for options in [[], ["--tag"], ["-b"]] {
            let text = try self.folder.run(name, options + self.files).outputText
            #expect(!text.isEmpty)
            let list = try self.folder.write(text, to: "SUMS")
            expect(try Launch("sum", "-c", list).run(), prints: self.allAreRight)
            expect(try Launch("sum", "--check").run(input: Array(text.utf8)), prints: self.allAreRight)
            expect(try Launch("sum", "-c", "--quiet", list).run(), prints: "")
        }
    }

    @Test(.enabled(if: isLinux)) func theToolsOfTheSystemCheckOurLists() throws {
        for options in [[], ["--tag"]] {
            let list = try self.folder.write(Launch(["sum"] + options + self.files).run().text, to: "SUMS")
            try self.folder.run("sha256sum", "-c", list)
        }
    }

    @Test(.enabled(if: isLinux)) func namesAreThoseOfTheToolOfTheSystem() throws {
        let names: [[UInt8]] = [
            Array("n\nl".utf8), Array("t\tb".utf8), [0x78, 0xFF], Array("c\rr".utf8), Array("b\\s".utf8),
        ]
        for name in names { try self.folder.write(Array("hello".utf8), to: name) }
        let paths = names.map { self.folder.pathBytes($0) }
        for options in [[], ["--tag"], ["--zero"]] as [[String]] {
            var (own, tool) = (Launch(["sum"] + options), Launch(options))
            (own.arguments, tool.arguments) = (own.arguments + paths, tool.arguments + paths)
            tool.program = "/usr/bin/sha256sum"
            let list = try own.run().output
            #expect(try tool.run().output == list)
            let check = try Launch(["sum", "-c"] + (options == ["--zero"] ? options : [])).run(input: list)
            #expect(check.ending == .status(0) && check.errors.isEmpty, "\(check.errorText)")
            let end = options == ["--zero"] ? "\0" : "\n"
            #expect(check.text.components(separatedBy: ": OK\(end)").count == 6, "\(check.text)")
        }
        let check = try Launch("sum", "-c").run(input: Launch(raw: Array("sum".utf8), paths[0]).run().output)
        expect(check, prints: "\\\(self.folder.path)/n\\nl: OK\n")
        let found = paths[0] + [0] + paths[2] + [0]
        let listed = try Launch("sum", "--zero", "--from-file", "-").run(input: found)
        #expect(listed.output.count { $0 == 0 } == 2 && listed.errors.isEmpty)
    }

    @Test(.enabled(if: isLinux)) func severalAlgorithmsReadASourceOnce() throws {
        let outcome = try Launch("sum", "-a", "sha256,md5", "-").run(input: Array("hello".utf8))
        expect(
            outcome,
            prints: """
                SHA256 (-) = 2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824
                MD5 (-) = 5d41402abc4b2a76b9719d911017c592

                """)
        let list = try Launch(["sum", "-a", "sha1", "-a", "sha512"] + self.files).run()
        #expect(list.text.split(separator: "\n").count == 8)
        let check = try Launch("sum", "-c").run(input: list.output)
        #expect(check.ending == .status(0) && check.text.split(separator: "\n").count == 8)
    }

    @Test(.enabled(if: isLinux)) func filesWhoseNamesDifferInTheirUnicodeFormAreTwo() throws {
        try self.folder.write("one", to: "\u{E9}")
        let list = try Launch("sum", self.folder.path("\u{E9}")).run().text
        let decomposed = list.replacing("\u{E9}", with: "e\u{301}", maxReplacements: 1)
        let outcome = try Launch("sum", "-c").run(input: Array((list + decomposed).utf8))
        #expect(outcome.ending == .status(66) && outcome.text.hasSuffix(": FAILED open or read\n"), "\(outcome.text)")
        try self.folder.write("two", to: "e\u{301}")
        #expect(try Launch("sum", "-c").run(input: Array((list + decomposed).utf8)).ending == .status(1))
    }

    @Test func whatIsDifferentOrMissingIsToldAndTheOthersAreChecked() throws {
        let list = try Launch(["sum"] + self.files).run().output
        try self.folder.write("other", to: "a")
        try #require(unlink(self.files[1]) == 0)
        let outcome = try Launch("sum", "-c").run(input: list)
        #expect(outcome.ending == .status(1))
        #expect(
            outcome.text
                == "\(self.files[0]): FAILED\n\(self.files[1]): FAILED open or read\n"
                + self.files[2...].map { "\($0): OK\n" }.joined())
        let errors = outcome.errorText.split(separator: "\n")
        #expect(errors.count == 4 && errors[0].hasPrefix("blob: checksumMismatch: ") && errors[1].contains("notFound"))
        #expect(
            errors.suffix(2) == [
                "blob: WARNING: 1 listed file could not be read", "blob: WARNING: 1 computed checksum did NOT match",
            ])
        let present = try Launch("sum", "-c", "--ignore-missing", "-q").run(input: list)
        #expect(present.ending == .status(1) && present.text == "\(self.files[0]): FAILED\n")
        #expect(!present.errorText.contains("notFound") && !present.errorText.contains("could not"))
        let silent = try Launch("sum", "-c", "--ignore-missing", "--status").run(input: list)
        #expect(silent.ending == .status(1) && silent.output.isEmpty && silent.errors.isEmpty)
        let missing = list.split(separator: UInt8(ascii: "\n"))[1]
        expect(
            try Launch("sum", "-c", "--ignore-missing").run(input: Array(missing)), failsWith: "notFound", 66,
            saying: "nothing was verified")
    }

    @Test(arguments: ["--status", "--ignore-missing", "--strict"]) func optionsOfAComparisonGoWithIt(option: String)
        throws
    {
        expect(try Launch("sum", option, self.files[0]).run(), failsWith: "invalidArgument", 64, saying: "require -c")
    }

    @Test func aLineThatIsNoneIsToldByItsNumber() throws {
        let line = try Launch("sum", self.files[0]).run().text
        let results = "\(self.files[0]): OK\n\(self.files[0]): OK\n"
        let list = Array("\(line)\nbogus\n\(line)".utf8)
        let outcome = try Launch("sum", "-c").run(input: list)
        #expect(outcome.ending == .status(0) && outcome.text == results)
        #expect(outcome.errorText.contains("Line 3 of the list"))
        #expect(outcome.errorText.hasSuffix("\nblob: WARNING: 1 line is improperly formatted\n"))
        let strict = try Launch("sum", "-c", "--strict").run(input: list)
        #expect(strict.ending == .status(64) && strict.text == results)
        #expect(strict.errorText.hasPrefix("blob: invalidArgument: Line 3 of the list"), "\(strict.errorText)")
        expect(
            try Launch("sum", "-c").run(input: Array("x\n".utf8)), failsWith: "invalidArgument", 64,
            saying: "contains no checksums", "Line 1")
        expect(
            try Launch("sum", "-c", "-a", "md5").run(input: Array(line.utf8)), failsWith: "invalidArgument", 64,
            saying: "md5")
        expect(try Launch("sum", "-c", self.folder.path("none")).run(), failsWith: "notFound", 66)
    }

    @Test(.enabled(if: isLinux)) func theMembersOfAnArchiveHaveATreeOfDigests() throws {
        let tgz = try self.folder.pack(["a", "b c", "(d) = e"], into: "x.tgz")
        let list = try Launch("sum", "\(tgz)#**").run()
        #expect(list.text.split(separator: "\n").count == 3)
        let check = try Launch("sum", "-c").run(input: list.output)
        #expect(check.ending == .status(0) && check.text.components(separatedBy: ": OK\n").count == 4)
    }

    // MARK: Lines

    @Test func theFormsOfLines() throws {
        let line = { (text: String) in ChecksumLine(text.utf8) }
        #expect(line("00ff  name")?.name == Array("name".utf8))
        #expect(line("00FF *name")?.digest == [0, 255])
        #expect(line("\\00ff  a\\nb\\\\c\\r")?.name == Array("a\nb\\c\r".utf8))
        #expect(line("SHA2-256(x)= 00")?.algorithm == "sha256")
        #expect(line("SHA3-256(x)= 00")?.algorithm == "sha3256")
        #expect(ChecksumLine(Array("\\00ff  a\\n".utf8), mayEscape: false) == nil)
        #expect(line("SHA256 (a) (b) = 00ff\r")?.name == Array("a) (b".utf8))
        #expect(line("MD5(x)= 00")?.algorithm == "md5")
        for text in [
            "", " ", "00ff", "00ff name", "00f  name", "0g  name", "00ff  ", "\\00ff  a\\", "\\00ff  a\\x", "(x) = 00",
            "MD5 (x) 00", "MD5 (x) = ", "MD5 () = 00", "MD5 )x( = 00", "\\", "é  x",
        ] {
            #expect(line(text) == nil, "\(text)")
        }
    }

    @Test func damagedLinesNeverTrap() {
        for text in ["\\00ff  a\\nb\\\\c", "00ff *name", "SHA256 (a b) = 00ff11", "MD5(x)= 00\r"] {
            let bytes = Array(text.utf8)
            for count in 0...bytes.count { _ = ChecksumLine(bytes.prefix(count)) }
            for index in bytes.indices {
                for bit in 0..<8 {
                    let flipped = bytes.flipping(1 << bit, at: index)
                    if let line = ChecksumLine(flipped) { #expect(!line.name.isEmpty && !line.digest.isEmpty) }
                }
            }
        }
    }

    @Test func aListWithoutChecksumsVerifiesNothing() throws {
        for list in ["", "\n\n"] {
            let outcome = try Launch("sum", "-c").run(input: Array(list.utf8))
            expect(outcome, failsWith: "invalidArgument", 64, saying: "no checksums")
        }
    }

    /// As by sha256sum; the status of any other error is the one of its code.
    @Test func aMismatchHasTheStatusOne() throws {
        let list = try Launch(["sum"] + self.files.prefix(2)).run().output
        try self.folder.write("other", to: "a")
        for options in [[], ["--fail-fast"], ["--status"], ["-q"]] {
            #expect(try Launch(["sum", "-c"] + options).run(input: list).ending == .status(1), "\(options)")
        }
        let other = Array(try Launch("sum", self.files[1]).run().text.replacing("  /", with: "  /none/").utf8)
        #expect(try Launch("sum", "-c").run(input: other + list).ending == .status(66))
    }

    @Test func jsonHasOneObjectASource() throws {
        let sums = try self.files.prefix(2).map { try String(Launch("sum", $0).run().text.prefix(64)) }
        let lines = zip(self.files, sums).map { #"{"digests":{"sha256":"\#($1)"},"locator":"\#($0)"}"# }
        expect(
            try Launch(["sum", "--json"] + self.files.prefix(2)).run(), prints: lines.joined(separator: "\n") + "\n")
        let both = try Launch("sum", "--json", "-a", "sha256,md5", self.files[0]).run().text
        #expect(both.hasPrefix(#"{"digests":{"md5":""#) && both.contains(sums[0]))
        for option in ["-c", "--tag", "--zero"] {
            expect(try Launch("sum", "--json", option, self.files[0]).run(), failsWith: "invalidArgument", 64)
        }
    }
}
#endif
