#if Command
import BlobTestSupport
import Foundation
import Testing

private let gzip = "/usr/bin/gzip"

/// The commands on what the system's own `gzip` compressed.
@Suite(.enabled(if: FileManager.default.isExecutableFile(atPath: gzip))) struct GzipCommandTests {
    private let folder: TemporaryFolder
    private let content = makeContent(300_000)
    private let compressed: [UInt8]
    private let file: String

    init() throws {
        self.folder = try TemporaryFolder()
        try self.folder.write(self.content, to: "content")
        // With the name in the header.
        try self.folder.run(gzip, "-k", "content")
        self.file = self.folder.path("content.gz")
        self.compressed = try readFile(self.file)
    }

    @Test func catPrintsTheDecodedBytes() throws {
        expect(try Launch("cat", "gzip+\(self.file)").run(), prints: self.content)
        expect(try Launch("cat", "gzip+file://\(self.file)").run(), prints: self.content)
        expect(try Launch("cat", "gzip+-").run(input: self.compressed), prints: self.content)
        let part = Array(self.content[70_000..<70_010])
        expect(try Launch("cat", "gzip+\(self.file)", "--offset", "70000", "--length", "10").run(), prints: part)
    }

    @Test func allMembersArePrintedAndGzipInGzip() throws {
        let twice = try self.folder.write(self.compressed + self.compressed, to: "twice.gz")
        expect(try Launch("cat", "gzip+\(twice)").run(), prints: self.content + self.content)
        let nested = try self.folder.write([UInt8](self.folder.run(gzip, "-c", self.file).output), to: "nested.gz.gz")
        expect(try Launch("cat", "gzip+gzip+\(nested)").run(), prints: self.content)
    }

    @Test func infoSaysWhatIsKnownAndSumAgrees() throws {
        let text = try Launch("info", "gzip+\(self.file)").run().text
        #expect(text.contains("\nchain: gzip of file\nbytes: unknown\n"))
        #expect(text.contains("\nname: content\n") && text.contains("\ncan: concurrent readers, repeatable\n"))
        let plain = try Launch("sum", self.folder.path("content")).run().text.prefix(64)
        #expect(try Launch("sum", "gzip+\(self.file)").run().text.prefix(64) == plain)
    }

    /// CSI as one byte of Latin-1, which some terminals obey, an escape, and text beyond ASCII.
    @Test func controlCharactersOfANameAreEscapedByInfo() throws {
        var bytes = self.compressed
        let name = Array("content\0".utf8)
        let place = try #require(bytes.indices.first { bytes[$0...].starts(with: name) })
        bytes.replaceSubrange(place..<(place + 5), with: [0x9B, 0x1B, 0xE9, 0x25, 0x85])
        let path = try self.folder.write(bytes, to: "controls.gz")
        let text = try Launch("info", "gzip+\(path)").run().text
        #expect(text.contains("name: %C2%9B%1Bé%25%C2%85nt\n"), "\(text)")
        #expect(text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control || $0 == "\n" })
        let json = try Launch("info", "--json", "gzip+\(path)").run()
        #expect(json.text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control || $0 == "\n" })
        #expect(json.text.contains("\\u009b\\u001bé%\\u0085nt"), "\(json.text)")
        let object = try #require(try JSONSerialization.jsonObject(with: Data(json.output)) as? [String: Any])
        #expect("\(object)".contains("é%"))
    }

    @Test func damageIsAnErrorAfterTheGoodBytes() throws {
        let short = try self.folder.write(Array(self.compressed.dropLast()), to: "short.gz")
        expect(
            try Launch("cat", "gzip+\(short)").run(), failsWith: "truncated", 65,
            saying: "[\(short)] (at byte \(self.compressed.count - 1))", after: self.content)
        let bytes = self.compressed.flipping(at: self.compressed.count - 5)
        let wrong = try self.folder.write(bytes, to: "wrong.gz")
        expect(
            try Launch("cat", "gzip+\(wrong)").run(), failsWith: "checksumMismatch", 65,
            saying: "(at byte \(self.compressed.count - 8))", after: self.content)
        let junk = try self.folder.write(self.compressed + Array("junk".utf8), to: "junk.gz")
        expect(
            try Launch("cat", "gzip+\(junk)").run(), failsWith: "trailingData", 65,
            saying: "(at byte \(self.compressed.count))", after: self.content)
    }
}
#endif
