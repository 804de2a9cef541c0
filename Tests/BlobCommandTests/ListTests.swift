#if Command
import BlobTestSupport
import Foundation
import Testing

/// What `ls` prints, and that it is accepted back.
@Suite struct ListTests {
    private let folder: TemporaryFolder

    init() throws { self.folder = try TemporaryFolder() }

    private static let names = ["plain", "a b/é", "100%", "new\nline", "a#b!c", "@1", "dir/"]

    /// An archive of the new format of cpio, whose members hold their own names.
    private func archive() throws -> String {
        var bytes: [UInt8] = []
        for (name, mode) in Self.names.map({ ($0, $0.hasSuffix("/") ? 0o040755 : 0o100640) }) + [("TRAILER!!!", 0)] {
            let content = mode & 0o100000 == 0 ? [] : Array(name.utf8)
            let fields = [
                1, mode, 0, 0, 1, 1_700_000_000, content.count, 0, 0, 0, 0, name.utf8.count + 1, 0,
            ]
            let digits = fields.map {
                String(repeating: "0", count: 8 - String($0, radix: 16).count) + String($0, radix: 16)
            }
            for part in [Array(("070701" + digits.joined() + name + "\0").utf8), content] {
                bytes += part + Array(repeating: 0, count: (4 - part.count % 4) % 4)
            }
        }
        return try self.folder.write(bytes, to: "a.cpio")
    }

    @Test func aZipFromAPipeIsCopiedUpToTheLimit() throws {
        let empty: [UInt8] = [0x50, 0x4B, 5, 6] + Array(repeating: 0, count: 18)
        expect(try Launch("ls", "-", "--spool-limit", "22").run(input: empty), prints: [])
        expect(
            try Launch("ls", "-", "--spool-limit", "21").run(input: empty), failsWith: "limitExceeded", 65,
            saying: "21 bytes")
    }

    @Test func aTimeOutsideOfTheCalendarIsSaidAndNotInvented() throws {
        // The fields of ustar, the time in base 256.
        func header(_ name: String, _ time: UInt64) -> [UInt8] {
            var block = [UInt8](repeating: 0, count: 512)
            func put(_ bytes: some Collection<UInt8>, _ place: Int) {
                block.replaceSubrange(place..<(place + bytes.count), with: bytes)
            }
            put(name.utf8, 0)
            put("0000644\0".utf8, 100)
            put("00000000000\0".utf8, 124)
            put([0x80, 0, 0, 0] + withUnsafeBytes(of: time.bigEndian) { Array($0) }, 136)
            put("        0".utf8, 148)
            put("ustar\u{0}00".utf8, 257)
            let sum = String(block.reduce(0) { $0 + Int($1) }, radix: 8)
            put((String(repeating: "0", count: 6 - sum.count) + sum + "\0 ").utf8, 148)
            return block
        }
        let times: [(String, UInt64)] = [("last", 253_402_300_799), ("after", 253_402_300_800), ("no", 1 << 60)]
        let archive = times.flatMap { header($0.0, $0.1) } + Array(repeating: 0, count: 1024)
        let path = try self.folder.write(archive, to: "times.tar")
        let lines = try Launch("ls", "-l", path).run().text.split(separator: "\n")
        #expect(lines.map { $0.hasSuffix("9999-12-31 23:59 @0 last") } == [true, false, false])
        #expect(lines.count == 3 && lines[1].hasSuffix("outside calendar @1 after"))
        #expect(lines[2].hasSuffix(" - @2 no"))
        let json = try Launch("ls", "--json", path).run().text.split(separator: "\n")
        #expect(json.map { $0.contains("\"modification_time\"") } == [true, false, false])
        #expect(json.map { $0.contains("\"modification_seconds\":253402300800") } == [false, true, false])
        #expect(json[0].contains("\"modification_time\":\"9999-12-31T23:59:59Z\""))
        let info = try Launch("info", "\(path)#after").run().text
        #expect(info.contains("modification time: 253402300800.0 seconds from 1970, outside the calendar\n"))
    }

    @Test func namesArePrintedInTheFormThatIsAcceptedBack() throws {
        let path = try self.archive()
        let listing = try Launch("ls", path).run()
        expect(listing, prints: "plain\na b/é\n100%25\nnew%0Aline\na%23b%21c\n%401\ndir/\n")
        for (line, name) in zip(listing.text.split(separator: "\n"), Self.names.dropLast()) {
            expect(try Launch("cat", "\(path)#\(line)").run(), prints: name)
        }
        expect(try Launch("cat", "\(path)#@5").run(), prints: "@1")
        expect(try Launch("cat", "cpio+\(path)#plain").run(), prints: "plain")
    }

    @Test func theLongFormTellsKindLengthTimeAndIndex() throws {
        let lines = try Launch("ls", "-l", self.archive()).run().text.split(separator: "\n")
        #expect(lines.first == "-rw-r-----            5 2023-11-14 22:13 @0 plain")
        #expect(lines.last == "drwxr-xr-x            - 2023-11-14 22:13 @6 dir/")
    }

    @Test func jsonHasOneObjectALine() throws {
        let lines = try Launch("ls", "--json", self.archive()).run().text.split(separator: "\n")
        #expect(lines.count == Self.names.count)
        let first = try #require(try JSONSerialization.jsonObject(with: Data(lines[3].utf8)) as? [String: Any])
        #expect(first["name"] as? String == "new%0Aline")
        #expect(first["byte_count"] as? Int == 8)
        #expect(first["member_index"] as? Int == 3)
        #expect(first["kind"] as? String == "file")
        #expect(first["modification_time"] as? String == "2023-11-14T22:13:20Z")
    }

    @Test func progressGoesToStandardErrorAlone() throws {
        let path = try self.archive()
        let listing = try Launch("ls", path).run()
        #expect(listing.errors.isEmpty)
        let outcome = try Launch("ls", path, "--progress", "always").run()
        #expect(outcome.ending == .status(0))
        #expect(outcome.output == listing.output)
        #expect(outcome.errorText.hasPrefix("\r1 member"))
        // Its line is taken away at the end.
        #expect(outcome.errorText.hasSuffix(" \r"))
        #expect(!outcome.errors.contains(UInt8(ascii: "\n")))
        for mode in ["auto", "never"] {
            expect(try Launch("ls", path, "--progress", mode).run(), prints: listing.output)
        }
    }

    @Test func anErrorFollowsTheProgressOnALineOfItsOwn() throws {
        let cut = try self.folder.write(Array(readFile(self.archive()).prefix(300)), to: "cut.cpio")
        let outcome = try Launch("ls", cut, "--progress", "always").run()
        #expect(outcome.ending == .status(65))
        let parts = outcome.errorText.split(separator: "\r")
        #expect(parts.last?.hasPrefix("blob: truncated: ") ?? false)
        #expect(parts.dropLast().last?.allSatisfy { $0 == " " } ?? false)
    }

    @Test func whatIsNoContainerIsAnError() throws {
        let path = try self.folder.write("hello", to: "text")
        expect(try Launch("ls", path).run(), failsWith: "unsupported", 65, saying: path)
        expect(try Launch("ls", self.folder.path("missing")).run(), failsWith: "notFound", 66)
    }

    @Test func aListingThatIsCutOffPrintsWhatItFoundAndFails() throws {
        let cut = try self.folder.write(Array(readFile(self.archive()).prefix(300)), to: "cut.cpio")
        expect(try Launch("ls", cut).run(), failsWith: "truncated", 65, after: Array("plain\na b/é\n".utf8))
    }

    @Test(.enabled(if: isLinux)) func theLongFormTellsSetBitsAndSpecialFiles() throws {
        let script = """
            import sys, tarfile
            kinds = [("u", 0o4755, tarfile.REGTYPE), ("g", 0o2644, tarfile.REGTYPE), ("t", 0o1777, tarfile.DIRTYPE),
                ("p", 0o644, tarfile.FIFOTYPE), ("c", 0o600, tarfile.CHRTYPE), ("b", 0o660, tarfile.BLKTYPE),
                ("h", 0o644, tarfile.LNKTYPE), ("l", 0o777, tarfile.SYMTYPE)]
            with tarfile.open(sys.argv[1], "w") as archive:
                for name, mode, type in kinds:
                    info = tarfile.TarInfo(name)
                    info.mode, info.type, info.linkname = mode, type, "u"
                    archive.addfile(info)
            """
        let path = self.folder.path("modes.tar")
        try self.folder.run("python3", "-c", script, path)
        let expected = [
            "-rwsr-xr-x", "-rw-r-Sr--", "drwxrwxrwt", "prw-r--r--", "crw-------", "brw-rw----", "hrw-r--r--",
            "lrwxrwxrwx",
        ]
        let modes = { (outcome: Outcome) in outcome.text.split(separator: "\n").map { String($0.prefix(10)) } }
        #expect(try modes(Launch("ls", "-l", path).run()) == expected)
        // Also from the table of an index.
        let index = self.folder.path("modes.index")
        _ = try Launch("index", "build", "-o", index, path).run()
        #expect(try modes(Launch("ls", "-l", "--index", index, path).run()) == expected)
    }

    @Test func anArchiveThatCannotBeReadHasNoHeader() throws {
        let (path, missing) = (try self.archive(), self.folder.path("missing"))
        let names = try Launch("ls", path).run().text
        let outcome = try Launch("ls", missing, path, missing, path).run()
        #expect(outcome.ending == .status(66))
        #expect(outcome.text == "\(path):\n\(names)\n\(path):\n\(names)")
    }

    @Test(arguments: ["empty", "empty.tar", "empty.tgz"]) func whatIsEmptyIsNoArchive(name: String) throws {
        let path = try self.folder.write("", to: name)
        for arguments in [["ls"], ["extract", "-C", self.folder.path("out")]] {
            let outcome = try Launch(arguments + [path]).run()
            #expect(outcome.ending == .status(65) && outcome.errorText.contains("archive: the data is empty"))
            #expect(self.folder.names == [name])
        }
        let pipe = try Launch("ls", "-").run()
        expect(pipe, failsWith: "unsupported", 65, saying: "Not an archive: the data is empty.")
        expect(
            try Launch("ls", "tar+-").run(), failsWith: "truncated", 65,
            saying: "Not a tar archive: the data is empty")
        // One without members is whole.
        expect(try Launch("ls", "tar+-").run(input: Array(repeating: 0, count: 1024)), prints: "")
    }

    /// Each printed name is an argument again.
    @Test func theFilesOfAFolderAreListed() throws {
        try self.folder.makeFolder("d/sub")
        for name in ["d/a b", "d/sub/#?%41", "d/new\nline"] { try self.folder.write(name, to: name) }
        try self.folder.write(Array("bytes".utf8), to: Array("d/".utf8) + [0xFF])
        let (plain, path) = (try Launch("ls", "d").inFolder(self.folder).run(), self.folder.path)
        let expected = ["d/a b", "file://\(path)/d/new%0Aline", "d/sub/#?%41", "file://\(path)/d/%FF"]
        #expect(plain.ending == .status(0) && plain.errors.isEmpty)
        #expect(plain.text.split(separator: "\n").map(String.init) == expected)
        for (name, content) in zip(expected, ["d/a b", "d/new\nline", "d/sub/#?%41", "bytes"]) {
            expect(try Launch("cat", name).inFolder(self.folder).run(), prints: content)
        }
        #expect(try Launch("ls", "d/").inFolder(self.folder).run().output == plain.output)
        let absolute = try Launch("ls", self.folder.path("d/sub"), self.folder.path("d/none")).run()
        #expect(absolute.ending == .status(66) && absolute.text.hasSuffix("\n\(path)/d/sub/#?%41\n"))
        let json = try Launch("ls", "--json", self.folder.path("d/sub")).run().text
        #expect(json.hasPrefix(#"{"byte_count":11,"kind":"file","modification_time":""#), "\(json)")
        #expect(try Launch("ls", "-l", "d").inFolder(self.folder).run().text.hasPrefix("-rw-r--r--            5 "))
    }

    /// The other files are listed all the same.
    @Test func aFileOfAFolderThatCannotBeExaminedIsAnError() throws {
        try self.folder.makeFolder("d")
        symlink("nowhere", self.folder.path("d/dangling"))
        try self.folder.write("x", to: "d/x")
        let outcome = try Launch("ls", self.folder.path("d")).run()
        #expect(outcome.ending == .status(66) && outcome.text == "\(self.folder.path("d/x"))\n")
        #expect(outcome.errorText.hasPrefix("blob: notFound: ") && outcome.errorText.contains("d/dangling"))
    }
}
#endif
