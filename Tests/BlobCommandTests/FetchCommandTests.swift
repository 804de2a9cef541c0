#if Command
import BlobCore
import BlobTestSupport
import CryptoDigest
import Foundation
import Testing

/// Downloads by lists, and as `cat` writes them.
@Suite struct FetchCommandTests {
    private let folder: TemporaryFolder
    private let content = makeContent(3_000_000)

    init() throws {
        self.folder = try TemporaryFolder()
        try self.folder.write(self.content, to: "origin")
        try FileManager.default.createDirectory(atPath: self.folder.path("out"), withIntermediateDirectories: false)
    }

    private func fetch(metalink files: String) throws -> Outcome {
        try self.folder.write(
            "<?xml version='1.0'?><metalink xmlns='urn:ietf:params:xml:ns:metalink'>\(files)</metalink>",
            to: "list.META4")
        return try Launch("fetch", "--from-file", self.folder.path("list.META4"), "-C", self.folder.path("out")).run()
    }

    private func file(
        _ name: String, hash: [UInt8]? = nil, type: String = "sha-256", size: Int? = nil, _ urls: (String, Int?)...
    ) -> String {
        let size = size.map { "<size>\($0)</size>" } ?? ""
        let hash = hash.map { "<hash type='\(type)'>\($0.hexadecimal)</hash>" } ?? ""
        let all = urls.map { "<url\($0.1.map { " priority='\($0)'" } ?? "")>\n\(self.folder.path($0.0))</url>" }
        return "<file name='\(name)'>\(size)\(hash)\(all.joined())</file>"
    }

    private var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: self.folder.path("out")).sorted() }
    }

    @Test(arguments: [("sha-256", CryptoDigest.sha256), ("sha-512", .sha512), ("sha-1", .sha1), ("md5", .md5)])
    func aMetalinkHasNamesDigestsAndMirrors(type: String, digest: CryptoDigest) throws {
        let hash = digest.digest(of: self.content)
        let outcome = try self.fetch(
            metalink: self.file(
                "a", hash: hash, type: type, size: self.content.count, ("last", nil), ("origin", 2), ("missing", 1)))
        #expect(outcome.ending == .status(0))
        // The first mirror does not have it, and the last one is not asked.
        #expect(outcome.errorText.contains("notFound") && outcome.errorText.contains("missing"))
        #expect(!outcome.errorText.contains("last"))
        let isEqual = try readFile(self.folder.path("out/a")) == self.content
        #expect(isEqual)
        #expect(try self.names == ["a"])
    }

    @Test func aMirrorWithOtherBytesIsNotTaken() throws {
        try self.folder.write(Array(self.content.reversed()), to: "wrong")
        let hash = CryptoDigest.sha256.digest(of: self.content)
        let outcome = try self.fetch(metalink: self.file("a", hash: hash, ("wrong", 1), ("origin", 2)))
        #expect(outcome.ending == .status(0))
        #expect(outcome.errorText.contains("checksumMismatch"))
        let isEqual = try readFile(self.folder.path("out/a")) == self.content
        #expect(isEqual)
        expect(
            try self.fetch(metalink: self.file("b", hash: hash, ("wrong", 1))), failsWith: "checksumMismatch", 65)
        expect(try self.fetch(metalink: self.file("c", size: 5, ("origin", 1))), failsWith: "sizeMismatch", 65)
        #expect(try self.names == ["a"])
    }

    @Test(arguments: ["../a", "/a", "b/a", "..", ".", "", "a/"])
    func aMetalinkWritesOnlyInTheFolder(name: String) throws {
        expect(try self.fetch(metalink: self.file(name, ("origin", 1))), failsWith: "unsupported", 65)
        #expect(try self.names.isEmpty)
    }

    @Test func otherDocumentsAreNoMetalink() throws {
        expect(try self.fetch(metalink: "<file name='a'></file>"), failsWith: "unsupported", 65)
        expect(try self.fetch(metalink: "<file"), failsWith: "corrupted", 65)
        let hash = self.file("a", hash: [1, 2, 3], ("origin", 1))
        expect(try self.fetch(metalink: hash), failsWith: "corrupted", 65)
    }

    /// `cat --output --resume` continues a download of `fetch`; the file has no name before it is complete.
    @Test func catResumesAFile() throws {
        let output = self.folder.path("out/a")
        for command in [["cat", "--resume", "--output", output], ["fetch", "-o", output]] {
            let outcome = try Launch(command + [self.folder.path("origin")]).run()
            #expect(outcome.ending == .status(0))
            let isEqual = try readFile(output) == self.content
            #expect(isEqual)
            #expect(try self.names == ["a"])
        }
        for more in [["--offset", "1"], ["--verify-first"], ["--max-bytes", "1G"], [self.folder.path("origin")]] {
            let outcome = try Launch(["cat", "--resume", "-o", output, self.folder.path("origin")] + more).run()
            #expect(outcome.ending == .status(64), "\(more)")
        }
    }
}
#endif
