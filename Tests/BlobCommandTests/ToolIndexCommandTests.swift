#if Command
import BlobTestSupport
import Foundation
import Testing

/// `blob index` on indexes that other tools made.
@Suite struct ToolIndexCommandTests {
    private let folder: TemporaryFolder

    init() throws {
        self.folder = try TemporaryFolder()
        for name in ["text.gz", "text.rapidgzip", "blocks.gz", "blocks.gzi"] {
            try self.folder.write(readFile(fixture(name, of: "GzipSourceTests").path), to: name)
        }
    }

    @Test(arguments: [
        ("text.gz", "text.rapidgzip", "indexed_gzip", 32857, 3), ("blocks.gz", "blocks.gzi", "bgzip", 56, 3),
    ])
    func anIndexIsNamedVerifiedAndImported(
        _ data: String, _ index: String, _ tool: String, _ byteCount: Int, _ pointCount: Int
    ) throws {
        let (data, index) = (self.folder.path(data), self.folder.path(index))
        expect(
            try Launch("index", "show", data, "--index", index).run(),
            prints: "\(index)\ngzip \(tool) \(byteCount) foreign\n")
        let json = try Launch("index", "show", "--json", data, "--index", index).run().text
        #expect(json.contains("\"is_foreign\":true"))
        expect(
            try Launch("index", "verify", data, "--index", index).run(),
            prints: "\(pointCount) restart points are correct.\n")
        let own = self.folder.path("own")
        expect(try Launch("index", "build", data, "--from", index, "--output", own).run(), prints: "\(own)\n")
        #expect(try Launch("index", "show", data, "--index", own).run().text.contains("gzip PNTS "))
        let parts = try [index, own, "none"].map { place in
            let outcome = try Launch("cat", "gzip+\(data)", "--offset", "150000", "--index", place).run()
            #expect(outcome.ending == .status(0), "\(outcome.errorText)")
            return outcome.output
        }
        #expect(parts[0] == parts[2] && parts[1] == parts[2])
        #expect(try Launch("index", "remove", data, "--index", index).run().ending == .status(65))
    }

    @Test func anIndexOfOtherDataIsAnError() throws {
        let (data, other) = (self.folder.path("text.gz"), self.folder.path("blocks.gzi"))
        let own = self.folder.path("own")
        expect(
            try Launch("index", "build", data, "--from", other, "-o", own).run(), failsWith: "inconsistent", 65,
            saying: "bgzip")
        #expect(try Launch("index", "verify", data, "--index", other).run().ending == .status(65))
        expect(
            try Launch("index", "build", data, "--from", data, "-o", own).run(), failsWith: "unsupported", 65)
        expect(
            try Launch("index", "build", data, "--from", own, "-o", own).run(), failsWith: "notFound", 66)
        #expect(!self.folder.names.contains("own"))
    }
}
#endif
