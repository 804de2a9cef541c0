#if Photos
import AssetLibrarySource
import BlobStreams
import BlobTestSupport
import Foundation
import GRDB
import Testing

/// A library that the first version made, whose catalogue has no digests of blocks.
@Suite struct OlderVersionTests {
    private let folder: URL
    private let contents: [String: [UInt8]] = [
        "note.TXT": Array("hello".utf8), "empty": [], "large.bin": makeContent(1 << 20 | 5),
    ]

    init() throws {
        self.folder = FileManager.default.temporaryDirectory.appendingPathComponent("old-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
        let catalogue = fixture("version1.sqlite", of: "AssetLibrarySourceTests")
        try FileManager.default.copyItem(at: catalogue, to: self.folder.appendingPathComponent("catalog.sqlite"))
        let sql = "SELECT original_filename, path FROM asset JOIN original ON original_id = original.id"
        for (name, path) in try self.rows(sql) {
            let file = self.folder.appendingPathComponent(path)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try BlobTestSupport.write(try #require(self.contents[name]), to: file.path)
        }
    }

    private func rows(_ sql: String) throws -> [(String, String)] {
        let queue = try DatabaseQueue(path: self.folder.appendingPathComponent("catalog.sqlite").path)
        defer { try? queue.close() }
        return try queue.write { db in try Row.fetchAll(db, sql: sql).map { ($0[0] ?? "", $0[1] ?? "") } }
    }

    private func withLibrary(_ access: AssetLibrary.Access, _ body: (AssetLibrary, [Asset]) throws -> Void) throws {
        defer { try? FileManager.default.removeItem(at: self.folder) }
        let library = try AssetLibrary(at: self.folder, for: access)
        var assets: [Asset] = []
        try library.forEachAsset { assets.append($0) }
        try #require(assets.count == 3)
        try body(library, assets)
    }

    private func path(of asset: Asset) throws -> String {
        let id = asset.id.uuidString
        let rows = try self.rows(
            "SELECT uuid, path FROM asset JOIN original ON original_id = original.id WHERE uuid = '\(id)'")
        return self.folder.appendingPathComponent(try #require(rows.first?.1)).path
    }

    private let digestCount = "SELECT count(block_sha256) || '', user_version || '' FROM original, pragma_user_version"

    @Test(arguments: [AssetLibrary.Access.reading, .writing])
    func itsAssetsAreReadAndTheDigestsOfTheirBlocksStored(access: AssetLibrary.Access) throws {
        try self.withLibrary(access) { library, assets in
            for asset in assets {
                let isEqual = try readAll(library.source(for: asset.id).open()) == self.contents[asset.name ?? ""]
                #expect(isEqual)
            }
            let stored = try self.rows(self.digestCount)
            #expect(stored.first?.0 == "3" && stored.first?.1 == "7")
            // Only what was stored is compared now: damage in another block is none of this range.
            let large = try #require(assets.first { $0.name == "large.bin" })
            try overwrite(self.path(of: large), at: 0, with: [9, 9, 9, 9])
            let source = try AssetLibrary(at: self.folder).source(for: large.id)
            #expect(try readAll(source.open(at: 1 << 20)).count == 5)
            #expect(codeThrown { try readAll(source.open(at: 7)) } == .checksumMismatch)
        }
    }

    @Test(arguments: [AssetLibrary.Access.reading, .writing])
    func anOriginalThatWasDamagedBeforeIsFound(access: AssetLibrary.Access) throws {
        try self.withLibrary(access) { library, assets in
            let large = try #require(assets.first { $0.name == "large.bin" })
            try overwrite(self.path(of: large), at: 5, with: [9])
            for start in [0, 6, 1 << 20] as [Int64] {
                #expect(
                    codeThrown { try readAll(library.source(for: large.id).open(at: start)) } == .checksumMismatch)
            }
        }
    }

    @Test func digestsThatCannotBeStoredAreKept() throws {
        try self.withLibrary(.reading) { _, assets in
            // As on a medium that cannot be written.
            _ = try AssetLibrary(at: self.folder, for: .writing)
            _ = try self.rows(
                "CREATE TRIGGER no BEFORE UPDATE OF block_sha256 ON original BEGIN SELECT RAISE(ABORT, 'no'); END")
            let library = try AssetLibrary(at: self.folder)
            let large = try #require(assets.first { $0.name == "large.bin" })
            #expect(try readAll(library.source(for: large.id).open(at: 1 << 20)).count == 5)
            #expect(try self.rows(self.digestCount).first?.0 == "0")
            try overwrite(self.path(of: large), at: 0, with: [9])
            #expect(try readAll(library.source(for: large.id).open(at: 1 << 20)).count == 5)
        }
    }

    @Test func itIsImportedIntoAndRecovered() throws {
        try self.withLibrary(.writing) { library, assets in
            let again = try library.importAsset(from: MemorySource(Data(self.contents["large.bin"] ?? [])))
            #expect(!again.isNew && assets.contains(again.asset))
            #expect(try library.importAsset(from: MemorySource(Data([1, 2]))).isNew)
            #expect(try library.recover().quarantinedCount == 0)
        }
    }

    @Test(arguments: ["zeroblob(192)", "zeroblob(191)", "'text'", "x''", "substr(block_sha256, 1, 160)"])
    func digestsThatAreDamagedAreComputedAnew(damage: String) throws {
        try self.withLibrary(.writing) { library, assets in
            let large = try #require(assets.first { $0.name == "large.bin" })
            _ = try readAll(library.source(for: large.id).open())
            let digests = "SELECT hex(block_sha256), '' FROM original WHERE byte_size > 1000"
            let stored = try self.rows(digests)
            // The table is strict, where a text is no damage but a forgery.
            let value = damage == "'text'" ? "CAST('text' AS BLOB)" : damage
            _ = try self.rows("UPDATE original SET block_sha256 = \(value) WHERE byte_size > 1000")
            let isEqual = try readAll(library.source(for: large.id).open()) == self.contents["large.bin"]
            #expect(isEqual)
            #expect(try self.rows(digests).first?.0 == stored.first?.0)
        }
    }
}
#endif
