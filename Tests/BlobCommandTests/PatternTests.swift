#if Command
import BlobTestSupport
import Foundation
import Testing

/// Patterns for members, folders, and names that differ by `./`.
@Suite struct PatternTests {
    private let folder: TemporaryFolder
    private let archive: String

    private static let contents = [
        "site/a.json": "1", "site/b.json": "2", "site/sub/c.json": "3", "site/index.html": "html", "site/*.txt": "star",
        "site/z.txt": "z",
    ]

    init() throws {
        self.folder = try TemporaryFolder()
        try self.folder.makeFolder("site/sub")
        for (name, text) in Self.contents { try self.folder.write(text, to: name) }
        self.archive = try self.folder.pack(["site"], into: "site.tgz")
    }

    @Test(
        .enabled(if: isLinux),
        arguments: [
            ("site/*.json", "12"), ("site/**.json", "123"), ("**/*.json", "123"), ("**/c.json", "3"),
            ("site/?.json", "12"), ("site/[a]*", "1"), ("site/[^a].json", "2"), ("site/*/*", "3"), ("**", nil),
            ("site/i*", "html"), ("./site/*.json", "12"), ("site/%2A.t*", "star"), ("site/[b-z].*", "2z"),
        ] as [(String, String?)])
    func aPatternSelectsMembers(pattern: String, expected: String?) throws {
        let outcome = try Launch("cat", "\(self.archive)#\(pattern)").run()
        #expect(outcome.ending == .status(0), "\(outcome.errorText)")
        #expect(outcome.errorText == "")
        #expect(outcome.text.sorted() == (expected ?? Self.contents.values.joined()).sorted())
    }

    @Test(.enabled(if: isLinux)) func anExactMemberComesBeforeThePattern() throws {
        expect(try Launch("cat", "\(self.archive)#site/*.txt").run(), prints: "star")
        expect(try Launch("cat", "\(self.archive)#site/%2A.txt").run(), prints: "star")
        expect(try Launch("cat", "\(self.archive)#site/z*").run(), prints: "z")
        // An encoded star is never a pattern.
        expect(
            try Launch("cat", "\(self.archive)#site/%2A.json").run(), failsWith: "notFound", 66, saying: "site/")
    }

    @Test(.enabled(if: isLinux)) func aPatternWithoutAMatchIsNotFound() throws {
        for command in ["cat", "sum", "ls", "info"] {
            expect(try Launch(command, "\(self.archive)#none/*").run(), failsWith: "notFound", 66, saying: "none/")
        }
    }

    @Test(.enabled(if: isLinux)) func theOtherCommandsTakePatterns() throws {
        let names = try Launch("ls", "\(self.archive)#site/*.json").run().text
        #expect(names.split(separator: "\n").sorted() == ["site/a.json", "site/b.json"])
        let sums = try Launch("sum", "\(self.archive)#site/*.json").run().text.split(separator: "\n")
        #expect(sums.count == 2)
        for sum in sums {
            let name = try #require(sum.split(separator: "  ", maxSplits: 1).last)
            #expect(try Launch("sum", String(name)).run().text == "\(sum)\n")
        }
        let info = try Launch("info", "\(self.archive)#site/*.json").run().text
        #expect(info.contains("name: a.json\n") && info.contains("name: b.json\n"))
        let form = try Launch("form", "--boundary", "B", "-F", "f=@\(self.archive)#site/*.json").run().text
        #expect(form.contains("filename=\"a.json\"") && form.contains("filename=\"b.json\""))
    }

    @Test(.enabled(if: isLinux)) func aFormTakesAFolder() throws {
        let form = try Launch("form", "--boundary", "B", "-F", "f=@\(self.folder.path("site"))").run().text
        #expect(form.components(separatedBy: "filename=").count == Self.contents.count + 1)
    }

    @Test(.enabled(if: isLinux)) func aNameWithoutItsLeadingDotIsFound() throws {
        let dotted = try self.folder.pack(["./site"], into: "dotted.tgz")
        for command in ["cat", "sum", "info"] {
            let outcome = try Launch(command, "\(dotted)#site/index.html").run()
            #expect(outcome.ending == .status(0), "\(outcome.errorText)")
        }
        expect(
            try Launch("cat", "\(dotted)#site/index.html", "\(dotted)#site/a.json").run(), prints: "html1")
        expect(try Launch("cat", "\(self.archive)#./site/index.html").run(), prints: "html")
        // Of two candidates, none is taken.
        let both = try self.folder.pack(
            ["--transform", "s,^site/a,./site/x,;s,^site/b,././site/x,", "site/a.json", "site/b.json"], into: "both.tar"
        )
        let outcome = try Launch("cat", "\(both)#site/none.json").run()
        expect(outcome, failsWith: "notFound", 66)
    }

    @Test(.enabled(if: isLinux)) func severalLocatorsAreListedAndDescribed() throws {
        let outcome = try Launch("ls", self.archive, "\(self.archive)#site/*.html").run()
        #expect(outcome.text.hasPrefix("\(self.archive):\n"))
        #expect(outcome.text.hasSuffix("\n\n\(self.archive)#site/*.html:\nsite/index.html\n"))
        let missing = try Launch("ls", self.folder.path("none"), self.archive).run()
        #expect(missing.ending == .status(66) && missing.text.contains("site/index.html\n"))
        let objects = try Launch("ls", "--json", self.archive, self.archive).run().text.split(separator: "\n")
        #expect(objects.allSatisfy { $0.hasPrefix("{\"archive\":\"") })
        let info = try Launch("info", self.archive, self.folder.path("site/a.json")).run().text
        #expect(info.components(separatedBy: "locator: ").count == 3)
    }

    @Test(.enabled(if: isLinux)) func aListMayHavePatterns() throws {
        let list = Array("\(self.archive)#site/*.json\n\(self.archive)#none\n".utf8)
        for command in ["cat", "sum"] {
            let outcome = try Launch(command, "--from-file", "-").run(input: list)
            expect(outcome, failsWith: "notFound", 66, saying: "Line 2 of the list: ", after: outcome.output)
            #expect(!outcome.output.isEmpty)
        }
    }

    /// The time does not grow faster than name times pattern, which a search with back-tracking would.
    @Test(.enabled(if: isLinux)) func aHostilePatternTakesNoTime() throws {
        let name = String(repeating: "a", count: 200)
        try self.folder.write("x", to: name)
        let tar = try self.folder.pack([name], into: "hostile.tar")
        let pattern = String(repeating: "*a", count: 60) + "*b"
        expect(try Launch("cat", "\(tar)#\(pattern)").run(), failsWith: "notFound", 66)
    }

    /// A container that can be read only once is not looked through before it is read.
    @Test(.enabled(if: isLinux)) func aNameWithWildcardsIsReadFromAPipe() throws {
        try self.folder.write("brackets", to: "a[1].txt")
        let bytes = try readFile(self.folder.pack(["a[1].txt"], into: "x.tar"))
        expect(try Launch("cat", "-#a[1].txt").run(input: bytes), prints: "brackets")
        expect(try Launch("cat", "-#missing").run(input: bytes), failsWith: "notFound", 66, saying: "missing")
    }

    /// An archive that is read only once is not looked through for a member of exactly this name.
    @Test(.enabled(if: isLinux)) func aPatternSelectsMembersOfAPipeInOnePass() throws {
        let bytes = try readFile(self.archive)
        expect(try Launch("cat", "-#site/*.json").run(input: bytes), prints: "12")
        expect(try Launch("cat", self.archive + "#site/z.txt", "-#site/*.json").run(input: bytes), prints: "z12")
        let sums = try Launch("sum", "-#site/*.json").run(input: bytes)
        #expect(sums.ending == .status(0) && sums.errors.isEmpty)
        let lines = sums.text.split(separator: "\n").map { $0.split(separator: "  ", maxSplits: 1)[1] }
        #expect(lines == ["stdin:#site/a.json", "stdin:#site/b.json"])
        for command in ["cat", "sum"] {
            let none = try Launch(command, "-#none/*").run(input: bytes)
            expect(none, failsWith: "notFound", 66, saying: "matches the pattern")
            // The checks at the archive's end are made.
            let cut = try Launch(command, "-#site/a*").run(input: bytes.dropLast(8))
            #expect(cut.ending == .status(65) && cut.text.count <= 1, "\(cut.errorText)")
        }
    }

    /// Members of archives in archives: as `tar -C folder .` names them, and with `#` for `!/`.
    @Test(.enabled(if: isLinux)) func anArchiveInAnArchiveIsFoundWithoutItsLeadingDot() throws {
        let outer = try self.folder.pack(["./site.tgz"], into: "outer.tgz")
        expect(try Launch("cat", "\(outer)#site.tgz!/site/z.txt").run(), prints: "z")
        expect(try Launch("cat", "\(outer)#site.tgz!/site/*.json").run(), prints: "12")
        let listed = try Launch("ls", self.archive).run().text
        expect(try Launch("ls", "\(outer)#site.tgz").run(), prints: listed)
        expect(try Launch("sum", "\(outer)#site.tgz!/none").run(), failsWith: "notFound", 66, saying: "'none'")
        expect(try Launch("ls", "\(outer)#none.tgz").run(), failsWith: "notFound", 66, saying: "'none.tgz'")
        let out = self.folder.path("out")
        expect(try Launch("extract", "\(outer)#site.tgz", "-C", out).run(), prints: "")
        #expect(self.folder.read("out/site/z.txt") == "z")
        // A second '#' is part of the name if a member has it, and otherwise stands for '!/'.
        expect(try Launch("cat", "\(outer)#site.tgz#site/z.txt").run(), prints: "z")
        expect(try Launch("cat", "\(outer)#site.tgz#none").run(), failsWith: "notFound", 66, saying: "'none'")
        try self.folder.write("plain", to: "site.tgz#z")
        let odd = try self.folder.pack(["site.tgz#z", "site.tgz"], into: "odd.tar")
        expect(try Launch("cat", "\(odd)#site.tgz#z").run(), prints: "plain")
        expect(
            try Launch("cat", "-#site.tgz#site/z.txt").run(input: readFile(outer)), failsWith: "notFound", 66,
            saying: "write '!/'")
    }

    /// Bytes that are not UTF-8 are not one and the same character.
    @Test(.enabled(if: isLinux)) func namesThatAreNotUTF8MatchByteByByte() throws {
        let script = """
            import io, sys, tarfile
            with tarfile.open(sys.argv[1], 'w', format=tarfile.GNU_FORMAT, encoding='latin-1') as archive:
                for name in ['\\xe9', '\\xe8', 'a\\xc3', 'a\\xc3\\xa9']:
                    member = tarfile.TarInfo(name)
                    member.size = 1
                    archive.addfile(member, io.BytesIO(name.encode('latin-1')[-1:]))
            """
        let archive = self.folder.path("latin.tar")
        try self.folder.run("python3", "-c", script, archive)
        for (pattern, bytes) in [
            ("%E9*", [0xE9]), ("%E8*", [0xE8]), ("?", [0xE9, 0xE8]), ("a?", [0xC3, 0xA9]), ("*%C3", [0xC3]),
            ("[é]*", []), ("a[é]", [0xA9]), ("[^a]", [0xE9, 0xE8]),
        ] as [(String, [UInt8])] {
            let outcome = try Launch("cat", "\(archive)#\(pattern)").run()
            #expect(outcome.output == bytes, "\(pattern): \(outcome.errorText)")
            #expect(outcome.ending == .status(bytes.isEmpty ? 66 : 0), "\(pattern)")
        }
    }

    /// A length that only the header states does not overflow the room for members that wait.
    @Test(.enabled(if: isLinux)) func aHugeMemberDoesNotTrap() throws {
        let script = """
            import io, sys, tarfile
            with tarfile.open(sys.argv[1], 'w:gz', format=tarfile.PAX_FORMAT) as archive:
                for name in 'bha':
                    member = tarfile.TarInfo(name)
                    member.size = 1
                    if name == 'h': member.pax_headers = {'GNU.sparse.realsize': str(2**63 - 1), 'GNU.sparse.major': '1',
                                                          'GNU.sparse.minor': '0', 'GNU.sparse.name': 'h'}
                    archive.addfile(member, io.BytesIO(b'x'))
            """
        let archive = self.folder.path("huge.tgz")
        try self.folder.run("python3", "-c", script, archive)
        let outcome = try Launch("cat", "\(archive)#a", "\(archive)#b", "\(archive)#h").run()
        #expect(outcome.ending == .status(65) && outcome.text.hasPrefix("xx"), "\(outcome.errorText)")
    }

    @Test func aPatternThatSelectsNothingIsToldAsOne() throws {
        let empty = self.folder.path("empty.zip")
        try self.folder.run("python3", "-c", "import sys, zipfile; zipfile.ZipFile(sys.argv[1], 'w').close()", empty)
        for command in ["sum", "cat"] {
            expect(
                try Launch(command, "\(empty)#**").run(), failsWith: "notFound", 66,
                saying: "The archive has no members.")
            expect(
                try Launch(command, "\(self.archive)#*.none").run(), failsWith: "notFound", 66,
                saying: "No member matches the pattern '*.none'")
        }
    }
}
#endif
