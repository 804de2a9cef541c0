#if Command
import BlobStreams
import BlobTestSupport
import Foundation
import Testing

/// The folder of indexes, and whether an index is right.
@Suite struct IndexCareTests {
    private let folder: TemporaryFolder
    private let content = makeContent(3_000_000)
    private let gzip: String

    init() throws {
        self.folder = try TemporaryFolder()
        // A folder for caches that is missing is not made.
        try self.folder.makeFolder("caches")
        try self.folder.write(self.content, to: "content")
        try self.folder.run("gzip", "-k", "content")
        self.gzip = self.folder.path("content.gz")
    }

    private func run(_ arguments: String...) throws -> Outcome {
        try Launch(arguments).with { $0.caches = self.folder.path("caches") }.run()
    }

    @Test func theFolderIsListedAndEmptied() throws {
        expect(try self.run("index", "ls"), prints: "")
        expect(try self.run("index", "remove", "--all"), prints: "")
        let path = try self.run("index", "build", self.gzip).text.dropLast()
        let byteCount = try readFile(String(path)).count
        let lines = try self.run("index", "ls").text.split(separator: "\n")
        #expect(lines.count == 1)
        #expect(try #require(lines.first).hasSuffix("Z \(byteCount) file://\(self.gzip)"))
        let json = try self.run("index", "ls", "--json").text
        #expect(json.hasPrefix("{\"byte_count\":\(byteCount),\"last_use\":\"2"))
        #expect(json.hasSuffix("Z\",\"locator\":\"file://\(self.gzip)\",\"path\":\"\(path)\"}\n"))
        // What is no index of this version has no locator.
        try Data("old".utf8).write(to: URL(fileURLWithPath: "\(self.folder.path("caches"))/blob-indexes/0.blobindex"))
        #expect(try self.run("index", "ls").text.contains("Z 3 -\n"))
        try Data("mine".utf8).write(to: URL(fileURLWithPath: "\(self.folder.path("caches"))/blob-indexes/notes"))
        #expect(try self.run("index", "remove", "--all").text.split(separator: "\n").count == 2)
        expect(try self.run("index", "ls"), prints: "")
        let rest = try FileManager.default.contentsOfDirectory(atPath: "\(self.folder.path("caches"))/blob-indexes")
        #expect(rest == ["notes"])
    }

    /// The limit of 1 GiB, with sparse files.
    @Test func theFolderForCachesHoldsAGibibyte() throws {
        let path = try self.run("index", "build", self.gzip).text.dropLast()
        let indexes = "\(self.folder.path("caches"))/blob-indexes"
        for (number, name) in ["older", "old", "new"].enumerated() {
            let file = "\(indexes)/\(name).blobindex"
            try #require(FileManager.default.createFile(atPath: file, contents: nil))
            try #require(truncate(file, 500 << 20) == 0)
            let then = Date(timeIntervalSinceNow: TimeInterval(number - 10_000))
            try FileManager.default.setAttributes([.modificationDate: then], ofItemAtPath: file)
        }
        try FileManager.default.removeItem(atPath: String(path))
        expect(try self.run("index", "build", self.gzip), prints: "\(path)\n")
        let names = try FileManager.default.contentsOfDirectory(atPath: indexes).filter { $0.count < 20 }
        #expect(names.sorted() == ["new.blobindex", "old.blobindex"])
        #expect(FileManager.default.fileExists(atPath: String(path)))
    }

    @Test func verifyNamesWhatIsWrong() throws {
        let path = self.folder.path("x.idx")
        expect(try self.run("index", "verify", self.gzip, "-o", path), failsWith: "notFound", 66)
        expect(try self.run("index", "build", self.gzip, "-o", path), prints: "\(path)\n")
        let outcome = try self.run("index", "verify", self.gzip, "-o", path)
        #expect(outcome.ending == .status(0) && outcome.text.hasSuffix(" restart points are correct.\n"))
        // A window: the windows follow the header of 18 bytes and the points.
        let whole = try readFile(path)
        let sections = try self.run("index", "show", self.gzip, "-o", path).text.split(separator: "\n")
        let byteCounts = sections.dropFirst().compactMap { Int($0.split(separator: " ")[2]) }
        try #require(byteCounts.count == 3 && sections.last?.contains(" PRTS ") == true)
        let bytes = whole.flipping(at: 18 + byteCounts[0] + byteCounts[1] / 2)
        try write(bytes, to: path)
        let damaged = try self.run("index", "verify", self.gzip, "-o", path)
        #expect(damaged.ending == .status(65), "\(damaged.errorText)")
        #expect(damaged.text.hasPrefix("Restart point ") && damaged.errorText.contains(" is incorrect (faults: 1, "))
        #expect(try readFile(path) == bytes)
        // The section by which a copy is recognised.
        try write(whole.flipping(at: 18 + byteCounts[0] + byteCounts[1] + byteCounts[2] / 2), to: path)
        let unlike = try self.run("index", "verify", self.gzip, "-o", path)
        #expect(unlike.ending == .status(65) && unlike.text == "Section PRTS: the checksum is wrong.\n")
        // A copy of the content has the index; other content has not.
        try write(whole, to: path)
        let copy = try self.folder.write(readFile(self.gzip), to: "copy")
        #expect(try self.run("index", "verify", copy, "-o", path).ending == .status(0))
        #expect(try self.run("index", "show", copy, "-o", path).text.contains(" PNTS "))
        #expect(try !self.run("index", "show", copy, "-o", path).text.contains("stale"))
        try self.folder.run("gzip", "-k", "x.idx")
        let other = self.folder.path("x.idx.gz")
        expect(try self.run("index", "verify", other, "-o", path), failsWith: "inconsistent", 65)
    }
}
#endif
