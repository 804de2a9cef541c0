#if Photos
import AssetLibrarySource
import BlobStreams
import BlobTestSupport
import Foundation
import Testing

/// Importing bytes that the library has, when its own copy is no longer right.
@Suite struct RepairTests {
    private let test: TestLibrary
    /// More than two blocks.
    private let bytes = makeContent(5 << 18 | 5)

    init() throws { self.test = try TestLibrary() }

    enum Damage: CaseIterable {
        case bit, lastBit, length, nothingLeft, link
    }

    private func damage(_ asset: Asset, _ damage: Damage) throws {
        let path = try self.test.originalPath(of: asset)
        switch damage {
        case .bit: try overwrite(path, at: 1_100_000, with: [self.bytes[1_100_000] ^ 1])
        case .lastBit: try overwrite(path, at: Int64(self.bytes.count) - 1, with: [(self.bytes.last ?? 0) ^ 128])
        case .length: try #require(truncate(path, off_t(self.bytes.count) - 1) == 0)
        case .nothingLeft: try #require(unlink(path) == 0)
        case .link: try #require(unlink(path) == 0 && symlink("/etc/passwd", path) == 0)
        }
    }

    @Test(arguments: Damage.allCases, [AssetLibrary.DuplicatePolicy.reuseAsset, .addAsset])
    func aGoodCopyTakesThePlaceOfADamagedOriginal(
        damage: Damage, duplicates: AssetLibrary.DuplicatePolicy
    ) throws {
        let asset = try self.test.add(self.bytes)
        try self.damage(asset, damage)
        let rotten = try? Data(contentsOf: URL(fileURLWithPath: self.test.originalPath(of: asset)))
        let result = try self.test.library.importAsset(
            from: MemorySource(Data(self.bytes)), duplicates: duplicates)
        #expect(result.isNew == (duplicates == .addAsset))
        for id in [asset.id, result.asset.id] {
            let isEqual = try readAll(self.test.library.source(for: id).open()) == self.bytes
            #expect(isEqual)
        }
        // The damaged one is kept for whoever wants to look at it.
        let aside = self.test.files.filter { $0.hasPrefix(".quarantine/") }
        let isKept = damage != .nothingLeft && damage != .link
        #expect(aside.count == (isKept ? 1 : 0))
        if isKept, let name = aside.first {
            let kept = try Data(contentsOf: URL(fileURLWithPath: self.test.path("originals/\(name)")))
            #expect(kept == rotten)
        }
        #expect(!self.test.files.contains { $0.hasPrefix(".incoming/") })
        #expect(try self.test.library.recover().missingCount == 0)
    }

    @Test func aGoodOriginalIsNotReplaced() throws {
        let asset = try self.test.add(self.bytes)
        let path = try self.test.originalPath(of: asset)
        var before = stat()
        try #require(stat(path, &before) == 0)
        for duplicates in [AssetLibrary.DuplicatePolicy.reuseAsset, .addAsset] {
            _ = try self.test.library.importAsset(from: MemorySource(Data(self.bytes)), duplicates: duplicates)
        }
        var after = stat()
        try #require(stat(path, &after) == 0)
        #expect(before.st_ino == after.st_ino)
        #expect(self.test.files.count == 1)
    }
}
#endif
