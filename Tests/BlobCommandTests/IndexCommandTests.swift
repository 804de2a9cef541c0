#if Command
import ArchiveSource
import BlobIndex
import BlobStreams
import BlobTestSupport
import FileSource
import Foundation
import GzipSource
import Testing

/// `blob index` on any content, with sections that the tests make.
@Suite struct IndexCommandTests {
    private let folder: TemporaryFolder
    private let file: String
    private let key = IndexSection.Key(layer: "gzip", kind: .restartPoints)

    init() throws {
        self.folder = try TemporaryFolder()
        self.file = try self.folder.write("hello", to: "a")
    }

    private func index(_ path: String) throws -> IndexFile { try #require(IndexFile(.file(path), for: nil)) }

    private func writeIndex(_ path: String) throws {
        let content = try #require(try IndexedContent.read(from: FileSource(path: self.file), BlobContext()))
        try self.index(path).write([NewIndexSection(self.key, bytes: [1, 2, 3])], for: content)
    }

    @Test func showTellsWhetherASectionIsValid() throws {
        let path = self.folder.path("x.idx")
        try self.writeIndex(path)
        for options in [["--output", path], ["--index", path]] {
            expect(try Launch(["index", "show", self.file] + options).run(), prints: "\(path)\ngzip PNTS 3 valid\n")
        }
        expect(
            try Launch("index", "show", self.file, "--json", "-o", path).run(),
            prints:
                "{\"path\":\"\(path)\",\"sections\":[{\"byte_count\":3,\"is_valid\":true,\"kind\":\"PNTS\",\"layer\":\"gzip\"}]}\n"
        )
        try self.folder.write("other", to: "a")
        expect(
            try Launch("index", "show", self.file, "--output", path).run(), prints: "\(path)\ngzip PNTS 3 stale\n")
    }

    @Test func allLayersOfAnOriginHaveOnePlaceInTheFolderForCaches() throws {
        let paths = try ["\(self.file)", "gzip+\(self.file)", "tar+gzip+file://\(self.file)"].map { locator in
            let outcome = try Launch("index", "show", locator).with { $0.caches = self.folder.path }.run()
            expect(outcome, failsWith: "notFound", 66, saying: "No index found at \(self.folder.path)/blob-indexes/")
            return try #require(outcome.errorText.firstMatch(of: /[^ ]*\.blobindex/)?.output)
        }
        #expect(Set(paths).count == 1)
    }

    @Test func dropRemovesTheFileOnce() throws {
        let path = self.folder.path("x.idx")
        try self.writeIndex(path)
        expect(try Launch("index", "remove", self.file, "--output", path).run(), prints: "\(path)\n")
        expect(try Launch("index", "remove", self.file, "--output", path).run(), prints: "")
        #expect(self.folder.names == ["a"])
    }

    @Test func whatIsNoIndexIsNotDropped() throws {
        expect(
            try Launch("index", "remove", self.file, "--output", self.file).run(), failsWith: "inconsistent", 65,
            saying: self.file)
        expect(try Launch("cat", self.file).run(), prints: "hello")
    }

    @Test func whatCannotBeIndexedIsUnsupported() throws {
        expect(try Launch("index", "build", self.file).run(), failsWith: "unsupported", 65, saying: "indexed")
        expect(try Launch("index", "build", "-").run(input: [1, 2, 3]), failsWith: "unsupported", 65)
        expect(try Launch("index", "build", self.folder.path("none")).run(), failsWith: "notFound", 66)
    }

    @Test func everyCommandThatReadsTakesAnIndex() throws {
        for command in ["cat", "info", "sum"] {
            for index in ["auto", "none", self.folder.path("x.idx")] {
                let outcome = try Launch(command, self.file, "--index", index).run()
                #expect(outcome.ending == .status(0), "\(outcome.errorText)")
            }
        }
        #expect(self.folder.names == ["a"])
    }
}

/// `blob index` on a gzip and on a compressed archive.
@Suite struct BuiltIndexTests {
    private let folder: TemporaryFolder
    private let content = makeContent(3_000_000)
    private let gzip: String
    private let tarGzip: String
    private let path: String

    init() throws {
        self.folder = try TemporaryFolder()
        try self.folder.write(self.content, to: "content")
        try self.folder.run("gzip", "-k", "content")
        self.gzip = self.folder.path("content.gz")
        self.tarGzip = try self.folder.pack(["content"], into: "content.tgz")
        self.path = self.folder.path("x.idx")
    }

    /// Builds the index of `locator`, and expects it to be valid; returns its sections.
    private func build(_ locator: String) throws -> [Substring] {
        expect(try Launch("index", "build", locator, "--output", self.path).run(), prints: "\(self.path)\n")
        let lines = try Launch("index", "show", locator, "--output", self.path).run().text.split(separator: "\n")
        #expect(lines.first.map(String.init) == self.path)
        #expect(lines.count > 1)
        for line in lines.dropFirst() { #expect(line.hasSuffix(" valid")) }
        return Array(lines.dropFirst())
    }

    private func expectPart(of locator: String) throws {
        for index in [self.path, "none"] {
            expect(
                try Launch("cat", locator, "--offset", "2900000", "--length", "5000", "--index", index).run(),
                prints: Array(self.content[2_900_000..<2_905_000]))
        }
    }

    @Test func theIndexOfAGzipIsBuiltAndServes() throws {
        let sections = try self.build("gzip+\(self.gzip)")
        #expect(sections.contains { $0.hasPrefix("gzip PNTS ") })
        try self.expectPart(of: "gzip+\(self.gzip)")
        let info = try Launch("info", "gzip+\(self.gzip)", "--index", self.path).run().text
        #expect(info.contains("\nbytes: 3000000\n"))
        #expect(info.contains("\nmembers: 1\n"))
        #expect(info.contains("\noriginal name: content\n"))
        let json = try Launch("info", "--json", "gzip+\(self.gzip)", "--index", self.path).run().text
        #expect(
            json.contains("\"facts\":[{\"") && json.contains("\"layer\":\"gzip\"") && json.contains("\"members\":1"))
    }

    @Test func theBlocksOfABzip2AreIndexed() throws {
        let path = self.folder.path("content.bz2")
        let script = "import bz2; open('content.bz2', 'wb').write(bz2.compress(open('content', 'rb').read(), 1))"
        try self.folder.run("python3", "-c", script)
        #expect(try self.build(path).contains { $0.hasPrefix("bzip2 BLKS ") })
        try self.expectPart(of: "bzip2+\(path)")
        #expect(try Launch("info", "bzip2+\(path)", "--index", self.path).run().text.contains("\nbytes: 3000000\n"))
        let verified = try Launch("index", "verify", path, "--output", self.path).run().text
        #expect(verified.hasSuffix(" restart points are correct.\n"))
        expect(try Launch("index", "remove", path, "--output", self.path).run(), prints: "\(self.path)\n")
    }

    @Test func aPlainPathIsLookedInto() throws {
        #expect(try self.build(self.gzip).contains { $0.hasPrefix("gzip PNTS ") })
    }

    @Test func theIndexOfACompressedArchiveIsBuiltAndServes() throws {
        for locator in [self.tarGzip, "tar+gzip+\(self.tarGzip)"] {
            let sections = try self.build(locator)
            #expect(sections.contains { $0.contains(" PNTS ") })
            #expect(sections.contains { $0.contains(" MEMB ") })
            try self.expectPart(of: "\(locator)#content")
            expect(try Launch("ls", locator, "--index", self.path).run(), prints: "content\n")
            expect(try Launch("index", "remove", locator, "--output", self.path).run(), prints: "\(self.path)\n")
        }
    }

    @Test func aStaleIndexIsBuiltAgain() throws {
        _ = try self.build("gzip+\(self.gzip)")
        let other = Array("other content".utf8)
        try self.folder.write(other, to: "content")
        try self.folder.run("gzip", "-kf", "content")
        expect(try Launch("cat", "gzip+\(self.gzip)", "--index", self.path).run(), prints: other)
        _ = try self.build("gzip+\(self.gzip)")
        expect(try Launch("cat", "gzip+\(self.gzip)", "--index", self.path).run(), prints: other)
    }

    @Test func aDamagedIndexNeverGivesWrongBytes() throws {
        _ = try self.build("gzip+\(self.gzip)")
        let bytes = try readFile(self.path)
        for byteOffset in stride(from: 0, to: bytes.count, by: max(1, bytes.count / 12)) {
            try self.folder.write(bytes.flipping(0x10, at: byteOffset), to: "x.idx")
            let outcome = try Launch(
                "cat", "gzip+\(self.gzip)", "--offset", "2900000", "--length", "5000", "--index", self.path
            ).run()
            // What never was an index is left alone; everything else is built again or not needed.
            expect(outcome, prints: Array(self.content[2_900_000..<2_905_000]))
        }
    }

    @Test func aFullDiskLeavesNothingBehind() throws {
        // Files of more than one block are refused; the signal is ignored, so that the error is seen.
        let outcome = try Launch("index", "build", "gzip+\(self.gzip)", "--output", self.path).with {
            $0.prelude = "trap '' XFSZ; ulimit -f 1"
        }.run()
        #expect(outcome.ending == .status(74), "\(outcome.errorText)")
        #expect(self.folder.names == ["content", "content.gz", "content.tgz"])
    }

    @Test func aFolderThatCannotBeWrittenIsNoErrorUnlessAsked() throws {
        // The folder for caches of these tests is below a device.
        expect(try Launch("cat", "gzip+\(self.gzip)").run(), prints: self.content)
        let outcome = try Launch("index", "build", "gzip+\(self.gzip)").run()
        #expect(outcome.ending != .status(0))
        #expect(outcome.errorText.hasPrefix("blob: "))
    }
}
#endif
