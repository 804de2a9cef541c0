#if Photos
import BlobStreams
import BlobTestSupport
import Foundation
import Testing

@testable import AssetLibrarySource

/// Journals that are written anew, and older catalogues beside them.
@Suite struct JournalRewritingTests {
    private let test: TestLibrary

    init() throws { self.test = try TestLibrary() }

    private var backup: String { self.test.path("backup") }

    private func backUp() throws {
        unlink(self.backup)
        try self.test.library.backUp(to: self.backup)
    }

    private func restoreBackup() throws {
        for suffix in ["-wal", "-shm"] { unlink(self.test.path("catalog.sqlite\(suffix)")) }
        try #require(rename(self.backup, self.test.path("catalog.sqlite")) == 0)
    }

    private func list(_ assets: [Asset], _ album: String = "plain") throws {
        for asset in assets { try self.test.library.addAsset(asset.id, toAlbum: album) }
    }

    private func listed() throws -> [UUID] { try self.test.open().assets(inAlbum: "plain").map(\.id) }

    /// Flips a bit of the last line that contains a text.
    private func damageLine(_ text: String) throws {
        let path = self.test.path("journal.jsonl")
        var bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
        let place = try #require(String(decoding: bytes, as: UTF8.self).range(of: text, options: .backwards))
        bytes[place.lowerBound.utf16Offset(in: String(decoding: bytes, as: UTF8.self))] ^= 1
        try write(bytes, to: path)
    }

    private func repair() throws -> [LibraryFinding] {
        var findings: [LibraryFinding] = []
        _ = try LibraryCheck(of: self.test.folder, isDeep: false, repairsProblems: true) { findings.append($0) }.run()
        return findings
    }

    @Test(arguments: [false, true]) func anOlderCatalogueDoesNotBringBackWhatWasRemoved(isLost: Bool) throws {
        let library = self.test.library
        let (removed, kept) = (try self.test.add([1], named: "long"), try self.test.add([2]))
        for name in ["plain", "gone"] { try library.makeAlbum(named: name) }
        try self.list([removed, kept])
        try self.backUp()
        try library.removeAsset(removed.id)
        try library.removeAsset(kept.id, fromAlbum: "plain")
        try library.removeAlbum(named: "gone")
        if isLost {
            try #require(unlink(self.test.path("journal.jsonl")) == 0)
            _ = try self.test.open()
        } else {
            // Twice, as each has to keep what that before has.
            for _ in 0..<2 { try library.rewriteJournal() }
        }
        try self.restoreBackup()
        let restored = try self.test.open()
        #expect(try restored.asset(removed.id) == nil && restored.asset(kept.id) != nil)
        guard !isLost else { return }
        #expect(try restored.albums().map(\.name) == ["plain"] && self.listed() == [])
    }

    @Test func aCancelledBackupLeavesNothing() throws {
        let context = BlobContext()
        context.cancellation.cancel()
        #expect(codeThrown { try self.test.library.backUp(to: self.backup, context: context) } == .cancelled)
        let names = try FileManager.default.contentsOfDirectory(atPath: self.test.folder.path)
        #expect(!names.contains { $0.hasPrefix("backup") })
    }

    @Test func theOrderOfAnAlbumIsThatOfTheJournal() throws {
        let assets = try (0..<3).map { try self.test.add([$0]) }
        try self.test.library.makeAlbum(named: "plain")
        try self.list(assets)
        try self.backUp()
        try self.test.library.removeAsset(assets[0].id, fromAlbum: "plain")
        let added = try self.test.add([3])
        try self.list([assets[0], added, assets[1]])
        let order = [assets[1], assets[2], assets[0], added].map(\.id)
        #expect(try self.listed() == order)
        try self.test.library.rewriteJournal()
        try self.restoreBackup()
        #expect(try self.listed() == order)
        for suffix in ["", "-wal", "-shm"] { unlink(self.test.path("catalog.sqlite\(suffix)")) }
        #expect(try self.repair().map(\.kind) == [.catalogue])
        #expect(try self.listed() == order)
    }

    @Test(arguments: ["unlist", "remove album", "list"])
    func aRepairOfADamagedLineDoesNotChangeAlbums(act: String) throws {
        let library = self.test.library
        let assets = try (0..<3).map { try self.test.add([$0]) }
        for name in ["plain", "gone"] { try library.makeAlbum(named: name) }
        try self.list(assets)
        try library.removeAlbum(named: "gone")
        for index in [1, 0] { try library.removeAsset(assets[index].id, fromAlbum: "plain") }
        try self.list([assets[1]])
        try self.damageLine("\"act\":\"\(act)\"")
        #expect(try self.repair().map(\.kind) == [.journal])
        #expect(try self.listed() == [assets[2].id, assets[1].id])
        #expect(try self.test.open().albums().map(\.name) == ["plain"])
        #expect(try self.repair().isEmpty)
    }

    @Test func aCommitIsFoundInARewrittenJournalAndNotInAnotherThatIsLonger() throws {
        let library = self.test.library
        let long = try self.test.add([1], named: String(repeating: "long", count: 500))
        try self.backUp()
        try library.removeAsset(long.id)
        try library.rewriteJournal()
        try self.test.add([2])
        let place = try library.catalogue.read(Catalogue.journalPlace)
        for _ in 0..<3 {
            try library.catalogue.confirm(place, of: library.journal)
            try library.rewriteJournal()
        }
        // Longer is not the same.
        let later = JournalPlace(byteCount: place.byteCount + 1, id: place.id)
        #expect(codeThrown { try library.catalogue.confirm(later, of: library.journal) } == .changed)
        try self.restoreBackup()
        #expect(codeThrown { try library.catalogue.confirm(place, of: library.journal) } == .changed)
    }
}
#endif
