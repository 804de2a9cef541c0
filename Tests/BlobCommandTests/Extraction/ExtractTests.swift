#if Command
import BlobTestSupport
import Foundation
import Testing

/// `blob extract`.
@Suite struct ExtractTests {
    private let folder: TemporaryFolder

    init() throws { self.folder = try TemporaryFolder() }

    /// Makes an archive of Python's `tarfile` or `zipfile`.
    ///
    /// - Parameter program: Writes to `archive`, with `add(name, content, mode, type, target)` for a tar.
    private func make(_ name: String, _ program: String) throws -> String {
        let path = self.folder.path(name)
        let preamble = """
            import io, sys, tarfile, zipfile
            archive = zipfile.ZipFile(sys.argv[1], "w") if ".zip" in sys.argv[1] else tarfile.open(sys.argv[1], "w:gz")
            def add(name, content=b"", mode=0o644, type=tarfile.REGTYPE, target=""):
                info = tarfile.TarInfo(name)
                info.size, info.mode, info.type, info.linkname, info.mtime = len(content), mode, type, target, 1000000000
                archive.addfile(info, io.BytesIO(content))

            """
        try self.folder.run("python3", "-c", preamble + program + "\narchive.close()", path)
        return path
    }

    private func sample() throws -> String {
        try self.make(
            "a.tgz",
            """
            add("./", type=tarfile.DIRTYPE, mode=0o755)
            add("./d/b.txt", b"b")
            add("./d/deep/c.json", b"c")
            add("./x.sh", b"#!", mode=0o4755)
            add("./l", type=tarfile.SYMTYPE, target="d/b.txt")
            add("./h", type=tarfile.LNKTYPE, target="./x.sh")
            """)
    }

    /// The bytes of a file, with another first byte of a text.
    private func withAnotherByte(in text: String, of path: String) throws -> [UInt8] {
        let bytes = try readFile(path)
        return bytes.flipping(at: try #require(bytes.firstRange(of: Array(text.utf8))?.lowerBound))
    }

    private func extract(_ arguments: String...) throws -> Outcome {
        try Launch(["extract"] + arguments + ["-C", self.folder.path("out")]).run()
    }

    private var names: [String] {
        (FileManager.default.enumerator(atPath: self.folder.path("out"))?.compactMap { $0 as? String } ?? []).sorted()
    }

    @Test func verboseNamesEachMemberThatIsExtracted() throws {
        let path = try self.make(
            "v.tgz",
            """
            add("d/", type=tarfile.DIRTYPE, mode=0o755)
            add("d/b\\n.txt", b"b")
            add("../outside", b"o")
            add("l", type=tarfile.LNKTYPE, target="none")
            """)
        let all = try self.extract("-v", path)
        #expect(all.text == "d/\nd/b%0A.txt\nl\n")
        #expect(all.errorText.contains("hard link to 'none'") && all.errorText.contains("\nblob:   "))
        #expect(try self.extract("-v", "--overwrite", path, "d/*").text == "d/\nd/b%0A.txt\n")
    }

    @Test func membersAreFilesWithTheirTimesAndPermissions() throws {
        let path = try self.sample()
        expect(try self.extract(path), prints: "")
        #expect(self.names == ["d", "d/b.txt", "d/deep", "d/deep/c.json", "h", "l", "x.sh"])
        #expect(self.folder.read("out/l") == "b" && self.folder.read("out/h") == "#!")
        #expect(try self.folder.mode("out/x.sh") & 0o7700 == 0o700)
        let attributes = try FileManager.default.attributesOfItem(atPath: self.folder.path("out/d/b.txt"))
        #expect(attributes[.modificationDate] as? Date == Date(timeIntervalSince1970: 1_000_000_000))
    }

    @Test func anArchiveInAnotherOneAndOneFromAPipeAreExtracted() throws {
        let inner = try self.make("inner.zip", "archive.writestr('dir/in.txt', b'inside')")
        let outer = try self.make("outer.tgz", "add('inner.zip', open('\(inner)', 'rb').read())")
        expect(try self.extract("\(outer)#inner.zip"), prints: "")
        #expect(self.folder.read("out/dir/in.txt") == "inside")
        expect(try Launch("extract", "-", "-C", self.folder.path("out")).run(input: readFile(outer)), prints: "")
        #expect(self.names == ["dir", "dir/in.txt", "inner.zip"])
    }

    @Test func theLocatorOfOneMemberExtractsIt() throws {
        let inner = try self.make("inner.zip", "archive.writestr('d/[1]*', b'one'); archive.writestr('d/1', b'other')")
        let outer = try self.make("outer.tgz", "add('inner.zip', open('\(inner)', 'rb').read())")
        for locator in ["\(inner)#d/%5B1%5D%2A", "\(outer)#inner.zip!/d/%5B1%5D%2A"] {
            expect(try self.extract(locator, "--overwrite"), prints: "")
            #expect(self.names == ["d", "d/[1]*"] && self.folder.read("out/d/[1]*") == "one")
            try FileManager.default.removeItem(atPath: self.folder.path("out"))
        }
        expect(try self.extract("\(inner)#d/2"), failsWith: "notFound", 66, saying: "Did you mean 'd/1'?")
        expect(try self.extract(inner, "d/2"), failsWith: "notFound", 66, saying: "Did you mean 'd/1'?")
        let listed = try Launch("ls", "\(outer)#innr.zip").run()
        expect(listed, failsWith: "notFound", 66, saying: "Did you mean 'inner.zip'?")
    }

    @Test(arguments: [
        (["**/*.json"], ["d", "d/deep", "d/deep/c.json"]), (["d"], ["d", "d/b.txt", "d/deep", "d/deep/c.json"]),
        (["*.txt"], []), (["d/*.txt", "?.sh"], ["d", "d/b.txt", "x.sh"]), (["[lx]%2Esh"], ["x.sh"]), (["%2A"], []),
        (["./d/**/b.txt"], ["d", "d/b.txt"]),
    ])
    func globsSelectMembers(_ globs: [String], _ expected: [String]) throws {
        let outcome = try Launch(["extract", self.sample()] + globs + ["-C", self.folder.path("out")]).run()
        #expect(self.names == expected)
        if expected.isEmpty {
            expect(outcome, failsWith: "notFound", 66, saying: globs[0])
        } else {
            expect(outcome, prints: "")
        }
    }

    /// Members without bytes used to be made, and nothing was said.
    @Test(arguments: ["type=tarfile.DIRTYPE", "type=tarfile.SYMTYPE, target='a'", "b''", "b'bytes'"])
    func aMemberWithADamagedHeaderIsReported(_ member: String) throws {
        let path = try self.make(
            "a.tgz", "add('x', b'12 nonsense', type=tarfile.XHDTYPE); add('m', \(member)); add('n')")
        expect(try self.extract(path), failsWith: "corrupted", 65, saying: "The header of the member is not valid")
        #expect(self.names == ["n"])
    }

    @Test func existingFilesAreKeptUnlessAsked() throws {
        let path = try self.make("a.tgz", "add('a', b'new'); add('b', b'b')")
        expect(try self.extract(path), prints: "")
        try self.folder.write("mine", to: "out/a")
        let outcome = try self.extract(path, "b", "a")
        #expect(outcome.ending == .status(74))
        #expect(outcome.errorText.contains("a already exists; skipped"))
        #expect(self.folder.read("out/a") == "mine")
        expect(try self.extract(path, "--overwrite"), prints: "")
        #expect(self.folder.read("out/a") == "new")
    }

    @Test func aSecondMemberOfANameReplacesNothingUnlessAsked() throws {
        let path = try self.make("a.tgz", "add('a', b'first'); add('./a', b'second'); add('b', b'')")
        expect(try self.extract(path), failsWith: "io", 74, saying: "a already exists; skipped")
        #expect(self.folder.read("out/a") == "first" && self.folder.read("out/b") == "")
        expect(try self.extract(path, "--overwrite"), prints: "")
        #expect(self.folder.read("out/a") == "second")
    }

    @Test func aBadMemberIsReportedAndTheOthersAreExtracted() throws {
        let path = try self.make(
            "a.zip", "for name in ['a', 'b', 'c\\n']: archive.writestr(name, b'content of ' + name.encode())")
        let bytes = try self.withAnotherByte(in: "content of b", of: path)
        try self.folder.write(bytes, to: "a.zip")
        expect(try self.extract(path), failsWith: "checksumMismatch", 65, saying: "#b")
        #expect(self.names == ["a", "c\n"])
        let again = try self.folder.write(bytes, to: "b.zip")
        let outcome = try Launch("extract", again, "-C", self.folder.path("two"), "--fail-fast").run()
        expect(outcome, failsWith: "checksumMismatch", 65)
        #expect(try FileManager.default.contentsOfDirectory(atPath: self.folder.path("two")) == ["a"])
        // Names are printed on one line.
        let kept = try self.extract(path)
        #expect(kept.errorText.contains("c%0A already exists") && kept.errorText.split(separator: "\n").count == 3)
    }

    @Test func anArchiveThatIsCutOffGivesWholeFilesAlone() throws {
        let path = try self.make(
            "a.tgz", "import os\nfor n in range(9): add(f'{n}', os.urandom(100000))")
        let bytes = try readFile(path)
        for count in [1, 100, 200_000, bytes.count / 2, bytes.count - 9, bytes.count - 1] {
            let out = self.folder.path("cut\(count)")
            let cut = try self.folder.write(Array(bytes.prefix(count)), to: "cut.tgz")
            let outcome = try Launch("extract", cut, "-C", out).run()
            #expect(outcome.ending == .status(65) && outcome.errorText.hasPrefix("blob: "))
            #expect(outcome.errorText.split(separator: "\n").count <= 2)
            for name in (try? FileManager.default.contentsOfDirectory(atPath: out)) ?? [] {
                #expect(FileManager.default.contents(atPath: "\(out)/\(name)")?.count == 100_000)
            }
        }
    }

    @Test func bytesRatioAndNumberOfMembersAreLimited() throws {
        let path = try self.make("a.tgz", "add('a', bytes(3 << 20)); add('b/c/d', b'd')")
        for arguments in [["--max-bytes", "3145727"], ["--max-ratio", "100"], ["--max-members", "0"]] {
            let outcome = try Launch(["extract", path, "-C", self.folder.path("out")] + arguments).run()
            expect(outcome, failsWith: "limitExceeded", 65, saying: arguments[1])
            #expect(self.names.isEmpty)
        }
        // Folders count, too: the one that a member would be the second of.
        expect(try self.extract(path, "--max-members", "2"), prints: "")
        let deep = try self.make("deep.tgz", "add('e/f/g/h', b''); add('i', b'')")
        expect(try self.extract(deep, "--max-members", "2"), failsWith: "limitExceeded", 65)
    }

    @Test func aKilledExtractionLeavesWholeFilesAloneAndTheNextRemovesTheRest() throws {
        let path = try self.make("a.tgz", "import os\nfor n in range(3): add(f'{n}', os.urandom(1 << 20))")
        let bytes = try readFile(path)
        let process = try Launch("extract", "-", "-C", self.folder.path("out")).start()
        process.write(Array(bytes.prefix(3 << 19)))
        // The second file is being written when the first has its name.
        process.wait { self.folder.read("out/0") != nil && self.names.contains { $0.hasSuffix("/file") } }
        process.send(SIGKILL)
        #expect(process.finish().ending == .signal(SIGKILL))
        #expect(self.names.filter { !$0.hasPrefix(".blob-extract-") } == ["0"])
        expect(try self.extract(path, "1", "2"), prints: "")
        #expect(self.names == ["0", "1", "2"])
    }

    @Test func progressGoesToStandardErrorAlone() throws {
        let outcome = try self.extract(self.sample(), "--progress", "always")
        #expect(outcome.ending == .status(0) && outcome.output.isEmpty)
        #expect(outcome.errorText.hasPrefix("\r") && outcome.errorText.hasSuffix(" \r"))
    }

    /// Every eleventh archive of the script that makes them all; `make faults` extracts more.
    @Test(.timeLimit(.minutes(10))) func hostileArchivesChangeNothingOutsideOfTheFolder() throws {
        let script = projectFolder.appendingPathComponent("Tests/hostile_archives.py").path
        let run = try FinishedProcess("python3", [script, Launch.blob, "--every", "11"])
        #expect(run.status == 0, "\(run.errors.suffix(2000))")
    }

    @Test func aPatternBehindAMarkSelectsMembers() throws {
        let path = try self.sample()
        expect(try self.extract("\(path)#d/**/*.json"), prints: "")
        #expect(self.names == ["d", "d/deep", "d/deep/c.json"])
        let bytes = try readFile(path)
        expect(try Launch("extract", "-#d/*.txt", "-C", self.folder.path("out")).run(input: bytes), prints: "")
        #expect(self.names == ["d", "d/b.txt", "d/deep", "d/deep/c.json"])
        expect(try self.extract("\(path)#d/*", "x.sh"), failsWith: "invalidArgument", 64)
    }

    @Test func aFolderMadeForNothingIsRemoved() throws {
        let path = try self.sample()
        for arguments in [[path, "none"], ["\(path)#none*"]] {
            let outcome = try Launch(["extract"] + arguments + ["-C", self.folder.path("out")]).run()
            expect(outcome, failsWith: "notFound", 66)
            #expect(self.folder.names == ["a.tgz"])
        }
        try self.folder.makeFolder("out")
        expect(try self.extract(path, "none"), failsWith: "notFound", 66)
        #expect(self.folder.names == ["a.tgz", "out"])
    }

    @Test func whatIsCompressedAndNoArchiveIsToldAsByTheListing() throws {
        try self.folder.run("gzip", self.folder.write("text", to: "text"))
        let gzip = self.folder.path("text.gz")
        for arguments in [["ls", gzip], ["extract", gzip, "-C", self.folder.path("out")]] {
            expect(
                try Launch(arguments).run(), failsWith: "unsupported", 65,
                saying: "This is gzip, not an archive: read it with 'blob cat -z'.")
        }
        #expect(self.folder.names == ["text.gz"])
    }

    @Test func aPipeThatIsCutOffHasOneError() throws {
        let path = try self.make("a.tgz", "import os\nfor n in range(5): add(f'{n}', os.urandom(100000))")
        let bytes = try readFile(path).prefix(250_000)
        let outcome = try Launch("extract", "-", "-C", self.folder.path("out")).run(input: Array(bytes))
        expect(outcome, failsWith: "truncated", 65, saying: "#2")
        #expect(self.names == ["0", "1"])
    }

    @Test func theErrorOfAHardLinkIsAboutItsTarget() throws {
        let path = try self.make("a.tgz", "add('h', type=tarfile.LNKTYPE, target='../x')")
        let outcome = try self.extract(path)
        #expect(outcome.ending == .status(1))
        #expect(outcome.errorText.contains("The target of this hard link contains '..'"))
    }

    /// As in a package of Debian, where one link of many members is absolute.
    private func package() throws -> String {
        try self.make(
            "data.tgz",
            """
            add("./usr/bin/tool", b"tool", mode=0o755)
            add("./usr/lib/tool/conf", type=tarfile.SYMTYPE, target="/etc/tool.conf")
            add("./etc/tool.conf", b"conf")
            add("./top", type=tarfile.SYMTYPE, target="/usr/./bin//tool")
            add("./root", type=tarfile.SYMTYPE, target="/")
            """)
    }

    @Test func absoluteLinksAreSkippedAndReportedAtTheEnd() throws {
        let outcome = try self.extract(self.package())
        #expect(outcome.ending == .status(1))
        #expect(self.names == ["etc", "etc/tool.conf", "usr", "usr/bin", "usr/bin/tool"])
        let lines = outcome.errorText.split(separator: "\n")
        #expect(lines.count == 4 && lines.last == "blob: 3 members were skipped for safety.")
        #expect(lines[0].contains("unsupported: This symbolic link to '/etc/tool.conf' may lead out of the folder."))
        #expect(lines[0].contains("#./usr/lib/tool/conf"))
    }

    @Test func absoluteLinksBecomeRelativeWhenAsked() throws {
        expect(try self.extract(self.package(), "--absolute-links", "relative"), prints: "")
        let target = { (name: String) in
            try FileManager.default.destinationOfSymbolicLink(atPath: self.folder.path("out/\(name)"))
        }
        #expect(try target("usr/lib/tool/conf") == "../../../etc/tool.conf")
        #expect(self.folder.read("out/usr/lib/tool/conf") == "conf")
        #expect(try target("top") == "usr/bin/tool" && self.folder.read("out/top") == "tool")
        #expect(try target("root") == ".")
        // Whatever leads upward is not certain to stay beneath the folder.
        let odd = try self.make(
            "odd.tgz",
            "add('l', type=tarfile.SYMTYPE, target='/a/../../x'); add('m', type=tarfile.SYMTYPE, target='../x')")
        let outcome = try self.extract(odd, "--absolute-links=relative")
        #expect(outcome.ending == .status(1) && outcome.errorText.contains("2 members were skipped for safety."))
        #expect(!self.names.contains("l") && !self.names.contains("m"))
    }

    @Test func anErrorComesBeforeTheStatusOfWhatWasSkipped() throws {
        let path = try self.make(
            "a.zip",
            """
            link = zipfile.ZipInfo('l'); link.external_attr, link.create_system = 0o120777 << 16, 3
            archive.writestr(link, b'/etc/passwd'); archive.writestr('b', b'content of b'); archive.writestr('../c', b'')
            """)
        let damaged = try self.folder.write(self.withAnotherByte(in: "content of b", of: path), to: "b.zip")
        let both = try self.extract(damaged)
        #expect(both.ending == .status(65) && both.errorText.hasPrefix("blob: checksumMismatch: "))
        #expect(both.errorText.hasSuffix("blob: 2 members were skipped for safety.\n"))
        let outcome = try self.extract(path, "--fail-fast")
        expect(outcome, failsWith: "unsupported", 65, saying: "may lead out of the folder")
    }

    @Test func ofManySkippedMembersTheFirstAreReported() throws {
        let path = try self.make("a.tgz", "for n in range(50): add(f'/{n}'); add(f'f{n}', type=tarfile.FIFOTYPE)")
        let outcome = try self.extract(path)
        #expect(outcome.ending == .status(1))
        let lines = outcome.errorText.split(separator: "\n")
        #expect(lines.count == 21)
        #expect(lines.last == "blob: 100 members were skipped for safety; the first 20 are listed above.")
        // The folder was made for nothing.
        #expect(self.folder.names == ["a.tgz"])
    }

    /// As by tar(1), the folders of hard links too.
    @Test func foldersAreRemovedFromNames() throws {
        let path = try self.make(
            "a.tgz",
            """
            add("p/", type=tarfile.DIRTYPE, mode=0o755)
            add("p/a", b"a")
            add("p/d/b", b"b")
            add("p/d/h", type=tarfile.LNKTYPE, target="p/d/b")
            add("top", b"t")
            add("p/../../x", b"x")
            """)
        let outcome = try self.extract(path, "--strip-components", "1")
        #expect(outcome.ending == .status(1) && outcome.errorText.contains("#p/../../x"), "\(outcome.errorText)")
        #expect(self.names == ["a", "d", "d/b", "d/h"])
        #expect(self.folder.read("out/d/h") == "b")
        try FileManager.default.removeItem(atPath: self.folder.path("out"))
        expect(try self.extract(path, "--strip-components=2", "p/d/b"), prints: "")
        #expect(self.names == ["b"])
        expect(try self.extract(path, "--strip-components=-1"), failsWith: "invalidArgument", 64)
    }

    @Test func membersAreExcludedByPatterns() throws {
        let path = try self.sample()
        expect(try self.extract(path, "--exclude", "d/deep", "--exclude", "**/*.sh", "--exclude", "h"), prints: "")
        #expect(self.names == ["d", "d/b.txt", "l"])
        try FileManager.default.removeItem(atPath: self.folder.path("out"))
        expect(try self.extract(path, "d", "--exclude", "d/*.txt"), prints: "")
        #expect(self.names == ["d", "d/deep", "d/deep/c.json"])
    }

    @Test func aDryRunPrintsWhatWouldBeWritten() throws {
        let outcome = try self.extract(
            self.make("a.tgz", "add('p/a', b'a'); add('p/b', b'b'); add('/c', b'c'); add('p/d', b'd')"), "--dry-run",
            "--strip-components", "0", "--exclude", "p/b")
        #expect(outcome.ending == .status(1) && outcome.text == "p/a\np/d\n", "\(outcome)")
        #expect(outcome.errorText.hasSuffix("blob: 1 member was skipped for safety.\n"))
        #expect(self.folder.names == ["a.tgz"])
    }

    @Test func aFolderIsCreatedWithItsParents() throws {
        let path = try self.sample()
        let deep = { (name: String, globs: String...) in
            try Launch(["extract", path] + globs + ["-C", self.folder.path(name)]).run()
        }
        for name in ["1/2/3", "4/5/"] {
            expect(try deep(name, "d/b.txt"), prints: "")
            #expect(self.folder.read("\(name)/d/b.txt") == "b")
        }
        // Without a member, nothing remains of them.
        expect(try deep("6/7/8", "none"), failsWith: "notFound", 66)
        #expect(self.folder.names == ["1", "4", "a.tgz"])
        try self.folder.write("", to: "file")
        expect(try deep("file/x", "d"), failsWith: "notFound", 66)
    }

    @Test func aFolderBehindAMarkNeedsNoSlash() throws {
        let path = try self.sample()
        for argument in ["\(path)#d/deep", "\(path)#d/deep/"] {
            expect(try self.extract(argument, "--overwrite"), prints: "")
            #expect(self.names == ["d", "d/deep", "d/deep/c.json"])
        }
        expect(try self.extract("\(path)#none"), failsWith: "notFound", 66, saying: "'none'")
    }

    @Test func aPatternForOneFolderSaysHowToMatchInAll() throws {
        let path = try self.sample()
        expect(
            try self.extract(path, "*.json"), failsWith: "notFound", 66,
            saying: "No member matches '*.json'. '*' does not match '/': try '**/*.json'.")
        expect(try self.extract(path, "**/*.json"), prints: "")
        for command in ["cat", "sum", "ls", "test"] {
            let outcome = try Launch(command, "\(path)#*.json").run()
            #expect(outcome.ending == .status(66))
            #expect(outcome.errorText.contains("'*.json'. '*' does not match '/': try '**/*.json'."), "\(command)")
            #expect(try !Launch(command, "\(path)#x/*.json").run().errorText.contains("try"), "\(command)")
        }
    }
}
#endif
