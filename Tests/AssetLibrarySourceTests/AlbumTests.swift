#if Photos
import AssetLibrarySource
import BlobStreams
import BlobTestSupport
import Foundation
import Testing

/// Albums, shared streams, and the URLs of PhotoKit.
@Suite struct AlbumTests {
    private let test: TestLibrary
    private let assets: [Asset]

    init() throws {
        self.test = try TestLibrary()
        let test = self.test
        self.assets = try (1...3).map { try test.add([UInt8($0), 9], named: "photo\($0).JPG") }
    }

    private var library: AssetLibrary { self.test.library }

    private func bytes(of id: UUID) throws -> [UInt8] { try readAll(self.library.source(for: id).open()) }

    @Test func anAlbumHasAssetsInTheOrderOfAdding() throws {
        try self.library.makeAlbum(named: "Journey")
        for number in [2, 0, 2] {
            #expect(try self.library.addAsset(self.assets[number].id, toAlbum: "Journey") == self.assets[number])
        }
        #expect(try self.library.assets(inAlbum: "Journey") == [self.assets[2], self.assets[0]])
        let album = try #require(try self.library.albums().first)
        #expect(album.name == "Journey" && album.itemCount == 2 && !album.isShared)
        try self.library.removeAsset(self.assets[2].id, fromAlbum: "Journey")
        #expect(codeThrown { try self.library.removeAsset(self.assets[2].id, fromAlbum: "Journey") } == .notFound)
        try self.library.removeAsset(self.assets[0].id)
        #expect(try self.library.assets(inAlbum: "Journey").isEmpty)
        try self.library.removeAlbum(named: "Journey")
        #expect(try self.library.albums().isEmpty)
        #expect(try self.test.assets.count == 2)
    }

    @Test func anItemOfASharedStreamIsFoundWhenThereIsNoSuchAsset() throws {
        try self.library.makeAlbum(named: "Family", isShared: true)
        let item = try self.library.addAsset(self.assets[0].id, toAlbum: "Family")
        #expect(item.id != self.assets[0].id && item.sha256 == self.assets[0].sha256)
        #expect(item.name == "photo1.JPG" && item.fileExtension == "JPG" && item.generation == 1)
        #expect(try self.bytes(of: item.id) == [1, 9])
        #expect(try self.library.assets(inAlbum: "Family") == [item])
        #expect(try self.library.asset(item.id) == item)
        // An item is no asset, and is not listed as one.
        #expect(try self.test.assets.count == 3)
        // A second one of the same asset is another item.
        #expect(try self.library.addAsset(self.assets[0].id, toAlbum: "Family").id != item.id)
        // In another process, which opens the library for reading.
        #expect(try readAll(self.test.open(.reading).source(for: item.id).open()) == [1, 9])
    }

    @Test func anItemKeepsTheOriginalUntilItIsRemoved() throws {
        try self.library.makeAlbum(named: "Family", isShared: true)
        let item = try self.library.addAsset(self.assets[0].id, toAlbum: "Family")
        let files = self.test.files.count
        _ = try self.test.sql(
            "UPDATE asset SET generation = 2, adjustment = '{}' WHERE uuid = '\(self.assets[0].id)'", Int.self)
        try self.library.removeAsset(self.assets[0].id)
        #expect(self.test.files.count == files)
        #expect(try self.bytes(of: item.id) == [1, 9])
        #expect(codeThrown { try self.bytes(of: self.assets[0].id) } == .notFound)
        try self.library.removeAsset(item.id, fromAlbum: "Family")
        #expect(self.test.files.count == files - 1)
        #expect(codeThrown { try self.bytes(of: item.id) } == .notFound)
        let others = try (1...2).map { try self.library.addAsset(self.assets[$0].id, toAlbum: "Family") }
        for asset in self.assets[1...2] { try self.library.removeAsset(asset.id) }
        #expect(try self.bytes(of: others[1].id) == [3, 9])
        try self.library.removeAlbum(named: "Family")
        #expect(self.test.files.isEmpty)
        #expect(try self.library.albums().isEmpty)
    }

    @Test func importingWhatOnlyAnItemNamesAddsAnAsset() throws {
        try self.library.makeAlbum(named: "Family", isShared: true)
        let item = try self.library.addAsset(self.assets[0].id, toAlbum: "Family")
        try self.library.removeAsset(self.assets[0].id)
        let asset = try self.test.add([1, 9])
        #expect(try self.bytes(of: asset.id) == [1, 9])
        #expect(try self.bytes(of: item.id) == [1, 9])
    }

    @Test func itemsAreInTheJournalOfChanges() async throws {
        let watch = try self.library.watch()
        var changes = watch.changes().makeAsyncIterator()
        try self.library.makeAlbum(named: "Family", isShared: true)
        let item = try self.library.addAsset(self.assets[0].id, toAlbum: "Family")
        _ = try self.test.sql(
            "UPDATE original SET state = 'missing' WHERE id = (SELECT original_id FROM album_item)", Int.self)
        try self.library.removeAsset(item.id)
        var seen: [AssetChange.Kind] = []
        while seen.count < 3, let change = try await changes.next() {
            if change.assetID == item.id { seen.append(change.kind) }
        }
        #expect(seen == [.inserted, .moved, .removed])
    }

    @Test func namesAreChecked() throws {
        try self.library.makeAlbum(named: "A")
        #expect(codeThrown { try self.library.makeAlbum(named: "A", isShared: true) } == .invalidArgument)
        for name in ["", "a\0b"] { #expect(codeThrown { try self.library.makeAlbum(named: name) } == .invalidArgument) }
        #expect(codeThrown { _ = try self.library.assets(inAlbum: "B") } == .notFound)
        #expect(codeThrown { try self.library.addAsset(self.assets[0].id, toAlbum: "B") } == .notFound)
        #expect(codeThrown { try self.library.addAsset(UUID(), toAlbum: "A") } == .notFound)
        #expect(codeThrown { try self.library.removeAlbum(named: "B") } == .notFound)
        let reading = try self.test.open(.reading)
        #expect(codeThrown { try reading.makeAlbum(named: "C") } == .permissionDenied)
        #expect(codeThrown { try reading.addAsset(self.assets[0].id, toAlbum: "A") } == .permissionDenied)
        #expect(codeThrown { try reading.removeAlbum(named: "A") } == .permissionDenied)
    }

    @Test(arguments: [
        "UPDATE album_item SET original_filename = x'FF'", "UPDATE album_item SET uuid = 'x'",
        "UPDATE album SET name = x'FF'", "UPDATE album SET is_shared = 7", "UPDATE album_item SET added_at = 'x'",
    ])
    func aDamagedAlbumIsAnErrorAndNoCrash(sql: String) throws {
        try self.library.makeAlbum(named: "Family", isShared: true)
        let item = try self.library.addAsset(self.assets[0].id, toAlbum: "Family")
        // Without the types of a strict table, as a forged catalogue may be.
        try? self.test.execute("PRAGMA ignore_check_constraints = 1; \(sql)")
        _ = codeThrown { _ = try self.library.albums() }
        _ = codeThrown { _ = try self.library.assets(inAlbum: "Family") }
        _ = codeThrown { _ = try self.bytes(of: item.id) }
    }

    @Test func anAssetIsNamedAsPhotoKitDoes() throws {
        var registry = BlobRegistry()
        try registry.register(.assetLibrary(at: self.test.folder))
        let id = self.assets[1].id
        for text in ["ph://\(id)", "ph://\(id)/L0/001", "ph://\(id.uuidString.lowercased())"] {
            #expect(try readAll(registry.source(for: text).open()) == [2, 9], "\(text)")
        }
        // Each of these is the identifier, or an error; none crashes.
        let whole = "ph://\(id)/L0/001"
        let right = [whole, "ph://\(id)"]
        var wrong = (0..<whole.count).map { String(whole.prefix($0)) }.filter { !right.contains($0) }
        wrong += ["\(whole)/x", "ph://x/L0/001", "ph://\(id)?a=b"]
        for text in wrong where text.hasPrefix("ph:") {
            #expect(codeThrown { _ = try registry.source(for: text) } == .invalidLocator, "\(text)")
        }
        for place in 0..<whole.utf8.count {
            for bit in 0..<7 {
                var bytes = Array(whole.utf8)
                bytes[place] ^= 1 << bit
                let locator = try? BlobLocator(String(decoding: bytes, as: UTF8.self))
                if let found = try? locator?.assetID() { #expect(found == id || place >= 5 && place < 41) }
            }
        }
    }
}
#endif
