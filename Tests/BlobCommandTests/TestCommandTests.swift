#if Command
import BlobTestSupport
import Foundation
import Testing

/// `blob test`.
@Suite struct TestCommandTests {
    private let folder: TemporaryFolder

    init() throws { self.folder = try TemporaryFolder() }

    /// Makes files with Python's modules; `path(name)` is a path in the folder.
    private func make(_ program: String) throws {
        let preamble = """
            import bz2, gzip, io, lzma, os, struct, sys, tarfile, zipfile, zlib
            def path(name): return os.path.join(sys.argv[1], name)
            def write(name, content):
                with open(path(name), "wb") as file: file.write(content)
            def read(name):
                with open(path(name), "rb") as file: return file.read()
            def tar(mode="w", count=3):
                output = io.BytesIO()
                with tarfile.open(fileobj=output, mode=mode) as archive:
                    for number in range(count):
                        info = tarfile.TarInfo(f"d/{number}.txt")
                        info.size = 1000
                        archive.addfile(info, io.BytesIO(os.urandom(1000)))
                return output.getvalue()
            def zip(method=zipfile.ZIP_DEFLATED):
                output = io.BytesIO()
                with zipfile.ZipFile(output, "w", method) as archive:
                    archive.writestr("d/", b"")
                    for number in range(3): archive.writestr(f"d/{number}.txt", b"content" * 100)
                return output.getvalue()

            """
        try self.folder.run("python3", "-c", preamble + program, self.folder.path)
    }

    /// Runs the command in the folder.
    private func test(_ arguments: String..., input: [UInt8] = []) throws -> Outcome {
        try Launch(["test"] + arguments).inFolder(self.folder).run(input: input)
    }

    @Test func eachFormatNamesItsChecksum() throws {
        try self.make(
            """
            write("a.gz", gzip.compress(b"hello"))
            write("a.zz", zlib.compress(b"hello"))
            write("a.bz2", bz2.compress(b"hello"))
            write("crc64.xz", lzma.compress(b"hello"))
            write("crc32.xz", lzma.compress(b"hello", check=lzma.CHECK_CRC32))
            write("sha256.xz", lzma.compress(b"hello", check=lzma.CHECK_SHA256))
            write("none.xz", lzma.compress(b"hello", check=lzma.CHECK_NONE))
            write("both.xz", lzma.compress(b"hello", check=lzma.CHECK_NONE) + lzma.compress(b"hello"))
            write("a.lzma", lzma.compress(b"hello", format=lzma.FORMAT_ALONE))
            write("a.txt", b"hello")
            write("empty", b"")
            """)
        expect(
            try self.test(
                "a.gz", "zlib+a.zz", "a.bz2", "crc64.xz", "crc32.xz", "sha256.xz", "none.xz", "a.lzma",
                "a.txt", "empty"),
            prints: """
                a.gz: OK, 5 bytes, gzip CRC-32
                zlib+a.zz: OK, 5 bytes, zlib Adler-32
                a.bz2: OK, 5 bytes, bzip2 CRC-32
                crc64.xz: OK, 5 bytes, xz CRC-64
                crc32.xz: OK, 5 bytes, xz CRC-32
                sha256.xz: OK, 5 bytes, xz SHA-256
                none.xz: OK, 5 bytes, no checksum
                a.lzma: OK, 5 bytes, no checksum
                a.txt: OK, 5 bytes, no checksum
                empty: OK, 0 bytes, no checksum

                """)
        // libarchive, in a build without liblzma, does not report the checks of each stream.
        let both = try self.test("both.xz")
        #expect(
            both.ending == .status(0)
                && ["xz CRC-64, 5 bytes without a checksum", "no checksum"].map { "both.xz: OK, 10 bytes, \($0)\n" }
                    .contains(both.text),
            "\(both.text)")
    }

    @Test func archivesNameTheChecksumsAroundTheirMembersAndTheirOwn() throws {
        try self.make(
            """
            write("a.tar", tar())
            write("a.tgz", tar("w:gz"))
            write("a.tar.xz", tar("w:xz"))
            write("a.zip", zip())
            write("a.zip.gz", gzip.compress(zip()))
            write("deep.zip", zip(zipfile.ZIP_LZMA))
            """)
        expect(
            try self.test("a.tar", "a.tgz", "a.tar.xz", "a.zip", "a.zip.gz", "deep.zip"),
            prints: """
                a.tar: OK, 3 members, no checksum
                a.tgz: OK, 3 members, gzip CRC-32
                a.tar.xz: OK, 3 members, xz CRC-64
                a.zip: OK, 4 members, zip CRC-32
                a.zip.gz: OK, 4 members, gzip CRC-32, zip CRC-32
                deep.zip: OK, 4 members, zip CRC-32

                """)
        expect(
            try self.test("--members", "a.tgz", "a.zip#d/[01]*"),
            prints: """
                a.tgz#d/0.txt: OK, 1000 bytes, no checksum of its own
                a.tgz#d/1.txt: OK, 1000 bytes, no checksum of its own
                a.tgz#d/2.txt: OK, 1000 bytes, no checksum of its own
                a.tgz: OK, 3 members, gzip CRC-32
                a.zip#d/0.txt: OK, 700 bytes, zip CRC-32
                a.zip#d/1.txt: OK, 700 bytes, zip CRC-32
                a.zip#d/[01]*: OK, 2 members, zip CRC-32

                """)
        expect(try self.test("-q", "a.tar", "a.zip"), prints: "")
    }

    @Test func damageOfAMemberLeavesTheOthers() throws {
        try self.make(
            """
            bytes = bytearray(zip(zipfile.ZIP_STORED))
            bytes[bytes.find(b"content") + 700 + 200] ^= 1
            write("bad.zip", bytes)
            write("good.zip", zip())
            """)
        let outcome = try self.test("bad.zip", "good.zip")
        expect(
            outcome, failsWith: "checksumMismatch", 65, saying: "bad.zip#d/1.txt", "(at byte 700)",
            after: Array(
                """
                bad.zip#d/1.txt: FAILED, checksumMismatch at byte 700
                bad.zip: FAILED, 1 of 4 members
                good.zip: OK, 4 members, zip CRC-32

                """.utf8))
        let first = try self.test("--fail-fast", "bad.zip", "good.zip")
        expect(first, failsWith: "checksumMismatch", 65, saying: "bad.zip#d/1.txt")
        expect(
            try self.test("-q", "bad.zip", "good.zip"), failsWith: "checksumMismatch", 65,
            after: Array(
                "bad.zip#d/1.txt: FAILED, checksumMismatch at byte 700\nbad.zip: FAILED, 1 of 4 members\n".utf8))
    }

    @Test func aTarIsNotWholeWithoutTheChecksumAroundIt() throws {
        try self.make(
            """
            whole = tar("w:gz", 100)
            write("cut.tgz", whole[:len(whole) // 2])
            write("sum.tgz", whole[:-8] + bytes([whole[-8] ^ 1]) + whole[-7:])
            write("a.gz", b"")
            write("b.gz", b"no gzip at all")
            """)
        let cut = try self.test("cut.tgz")
        #expect(cut.ending == .status(65))
        let half = try self.byteCount("cut.tgz")
        #expect(cut.text.contains(".txt: FAILED, truncated at byte \(half)\n"), "\(cut.text)")
        #expect(cut.text.contains("\ncut.tgz: FAILED, truncated at byte \(half), 1 of "), "\(cut.text)")
        #expect(cut.errorText.split(separator: "\n").count == 1, "\(cut.errorText)")
        let sum = try self.test("sum.tgz")
        expect(
            sum, failsWith: "checksumMismatch", 65, saying: "CRC-32",
            after: Array(
                "sum.tgz: FAILED, checksumMismatch at byte \(try self.byteCount("sum.tgz") - 8), after 100 members\n"
                    .utf8
            ))
        expect(try self.test("a.gz"), failsWith: "truncated", 65, after: Array("a.gz: FAILED, truncated\n".utf8))
        expect(try self.test("b.gz"), failsWith: "unsupported", 65, after: Array("b.gz: FAILED, unsupported\n".utf8))
    }

    /// The first bytes identify the tar, so that the damage may be within what is read for that: 36 KiB.
    @Test func membersBeforeEarlyDamageOfAFilterAreTested() throws {
        try self.make(
            """
            whole = tar("w:gz", 4)
            write("cut.tgz", whole[:len(whole) - 1000])
            write("sum.tgz", whole[:-8] + bytes([whole[-8] ^ 1]) + whole[-7:])
            write("tiny.tgz", whole[:30])
            """)
        let cut = try self.test("--members", "cut.tgz")
        let count = try self.byteCount("cut.tgz")
        #expect(cut.ending == .status(65))
        #expect(cut.text.hasPrefix("cut.tgz#d/0.txt: OK, 1000 bytes, no checksum of its own\n"), "\(cut.text)")
        #expect(cut.text.contains("\ncut.tgz: FAILED, truncated at byte \(count), 1 of 4 members\n"), "\(cut.text)")
        #expect(cut.errorText.split(separator: "\n").count == 1, "\(cut.errorText)")
        let sumByteCount = try self.byteCount("sum.tgz")
        expect(
            try self.test("sum.tgz"), failsWith: "checksumMismatch", 65, saying: "CRC-32",
            after: Array("sum.tgz: FAILED, checksumMismatch at byte \(sumByteCount - 8), after 4 members\n".utf8))
        expect(
            try self.test("tiny.tgz"), failsWith: "truncated", 65,
            after: Array("tiny.tgz: FAILED, truncated at byte 30\n".utf8))
    }

    private func byteCount(_ name: String) throws -> Int { try self.folder.bytes(name).count }

    @Test func severalMembersOfAnArchiveAreReadInOnePass() throws {
        try self.make("write('a.tgz', tar('w:gz'))")
        try self.folder.write("a.tgz#d/1.txt\na.tgz#d/none\na.tgz#d/0.txt\n", to: "list")
        let outcome = try self.test("--from-file", "list")
        #expect(outcome.ending == .status(66) && outcome.errorText.contains("Line 2 of list"), "\(outcome.errorText)")
        #expect(
            outcome.text == """
                a.tgz#d/1.txt: OK, 1000 bytes, gzip CRC-32
                a.tgz#d/none: FAILED, notFound
                a.tgz#d/0.txt: OK, 1000 bytes, gzip CRC-32

                """)
    }

    @Test func whatIsInAnArchiveIsReadAsBytesUnlessItIsNamed() throws {
        try self.make(
            """
            output = io.BytesIO()
            inner = bytearray(zip(zipfile.ZIP_STORED))
            inner[inner.find(b"content")] ^= 1
            with zipfile.ZipFile(output, "w") as archive:
                archive.writestr("in.zip", bytes(inner))
                archive.writestr("in.gz", gzip.compress(b"hello")[:-1])
            write("out.zip", output.getvalue())
            """)
        expect(try self.test("out.zip"), prints: "out.zip: OK, 2 members, zip CRC-32\n")
        expect(
            try self.test("out.zip#in.zip"), failsWith: "checksumMismatch", 65, saying: "out.zip#in.zip!/d/0.txt",
            after: Array(
                """
                out.zip#in.zip!/d/0.txt: FAILED, checksumMismatch at byte 700
                out.zip#in.zip: FAILED, 1 of 4 members

                """.utf8))
        let decoded = try self.test("-z", "out.zip")
        #expect(decoded.ending == .status(65) && decoded.text.contains("out.zip#in.gz: FAILED, truncated"))
    }

    @Test func standardInputIsTested() throws {
        try self.make("write('a.tgz', tar('w:gz'))")
        expect(try self.test("-", input: self.folder.bytes("a.tgz")), prints: "-: OK, 3 members, gzip CRC-32\n")
        expect(try self.test(input: Array("hello".utf8)), prints: "-: OK, 5 bytes, no checksum\n")
    }

    @Test func whatCannotBeReadIsNotTested() throws {
        let locked = fixture("pyzipper-ae2.zip", of: "ArchiveSourceTests").path
        let without = try self.test(locked)
        #expect(without.ending == .status(65) && without.text.contains(": not tested, encrypted"), "\(without.text)")
        let password = try self.folder.write("pässwörd€\n", to: "password")
        let with = try self.test(locked, "--password-file", password)
        #expect(with.ending == .status(0) && with.text.hasSuffix("zip HMAC-SHA1\n"), "\(with.text)\(with.errorText)")
    }

    @Test func aLimitOfAllBytesEndsTheCommand() throws {
        try self.make("write('a.zip', zip())")
        let outcome = try self.test("--max-bytes", "1000", "a.zip", "a.zip")
        #expect(outcome.ending == .status(65) && outcome.errorText.hasPrefix("blob: limitExceeded: "))
        #expect(outcome.errorText.split(separator: "\n").count == 1)
    }

    @Test func resultsAsJSONNameTheChecks() throws {
        try self.make("write('a.zip.gz', gzip.compress(zip()))")
        let outcome = try self.test("--json", "a.zip.gz")
        let lines = outcome.text.split(separator: "\n").map(String.init)
        #expect(outcome.ending == .status(0) && lines.count == 5)
        #expect(
            lines[1]
                == #"{"byte_count":700,"checks":[{"byte_count":700,"check":"CRC-32","layer":"zip"}],"index":1,"#
                + #""locator":"a.zip.gz#d/0.txt","status":"ok"}"#)
        let last = try #require(
            try JSONSerialization.jsonObject(with: Data(lines[4].utf8)) as? [String: Any])
        #expect(last["member_count"] as? Int == 4 && last["without_checksum_count"] as? Int == 0)
        #expect((last["checks"] as? [[String: Any]])?.map { $0["layer"] as? String } == ["gzip", "zip"])
    }

    @Test func theFormerCommandNamesThisOne() throws {
        expect(try Launch("check", "x").run(), failsWith: "invalidArgument", 64, saying: "blob test", "violations")
        expect(try Launch("help", "check").run(), failsWith: "invalidArgument", 64, saying: "blob test")
    }
}
#endif
