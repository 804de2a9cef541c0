#if Photos
import BlobHelper
import BlobStreams
import BlobTestSupport
import FileSource
import Foundation
import Testing

@testable import AssetLibrarySource

/// Adjustments and albums in the journal: a catalogue that is made again from it has them.
@Suite struct JournalOfAlbumsTests {
    private let test: TestLibrary
    private let folder: TemporaryFolder
    private let picture = Pictures.jpeg(width: 400, height: 300, exif: nil)

    init() throws {
        self.test = try TestLibrary()
        self.folder = try TemporaryFolder()
    }

    /// What people see of adjustments and albums.
    private func view() throws -> [String] {
        let library = try self.test.open()
        var lines: [String] = []
        try library.forEachAsset { asset in
            lines.append("\(asset.id) \(asset.generation) \(try library.adjustment(of: asset))")
        }
        for album in try library.albums() {
            let assets = try library.assets(inAlbum: album.name)
            lines.append("\(album.name) \(album.isShared) \(album.creationDate) \(assets.map(\.id))")
            for asset in assets {
                lines.append("\(try readAll(library.source(for: asset.id, version: .original).open()))")
            }
        }
        return lines
    }

    private func removeCatalogue() {
        for suffix in ["", "-wal", "-shm"] { unlink(self.test.path("catalog.sqlite\(suffix)")) }
    }

    private func rebuild() throws {
        self.removeCatalogue()
        #expect(try LibraryCheck(of: self.test.folder, isDeep: true, repairsProblems: true) { _ in }.run())
    }

    private func fill() throws {
        let library = self.test.library
        try self.folder.write(Array("unknown".utf8), to: "b.aae")
        let assets = try ["a.jpg", "b.jpg"].enumerated().map { number, name in
            let path = try self.folder.write(self.picture + [UInt8(number)], to: name)
            return try library.importAsset(from: FileSource(path: path)).asset
        }
        let note = try self.test.add([1, 2, 3])
        try library.setAdjustment(AdjustmentRecipe([.orientation(6)]), of: assets[0].id)
        for name in ["plain", "old"] {
            try library.makeAlbum(named: name)
            for asset in assets { try library.addAsset(asset.id, toAlbum: name) }
        }
        try library.addAsset(note.id, toAlbum: "plain")
        try library.removeAsset(assets[0].id, fromAlbum: "plain")
        try library.removeAlbum(named: "old")
        try library.makeAlbum(named: "old", isShared: true)
        let items = try (0..<3).map { _ in try library.addAsset(note.id, toAlbum: "old") }
        try library.removeAsset(items[1].id, fromAlbum: "old")
        try library.removeAsset(note.id)
    }

    @Test func aLostCatalogueIsMadeAgainWithThem() throws {
        try self.fill()
        let before = try self.view()
        #expect(
            before.contains {
                $0.hasSuffix("\(Adjustment.renderable(AdjustmentRecipe([.orientation(6)])))")
            })
        #expect(before.contains { $0.hasSuffix("\(Adjustment.notRenderable(["AAE"]))") })
        try self.rebuild()
        #expect(try self.view() == before)
        var findings: [LibraryFinding] = []
        _ = try LibraryCheck(of: self.test.folder, isDeep: true, repairsProblems: false) { findings.append($0) }.run()
        #expect(findings.isEmpty, "\(findings)")
    }

    @Test func aJournalThatIsWrittenAnewHasThem() throws {
        try self.fill()
        let before = try self.view()
        try #require(unlink(self.test.path("journal.jsonl")) == 0)
        #expect(try self.view() == before)
        try self.rebuild()
        #expect(try self.view() == before)
    }

    @Test func anOlderCatalogueCatchesUpWithThem() throws {
        try self.test.library.makeAlbum(named: "old")
        let backup = self.test.path("backup")
        try self.test.library.backUp(to: backup)
        try self.fillAfterRemoving()
        let before = try self.view()
        self.removeCatalogue()
        try #require(rename(backup, self.test.path("catalog.sqlite")) == 0)
        #expect(try self.view() == before)
    }

    private func fillAfterRemoving() throws {
        try self.test.library.removeAlbum(named: "old")
        try self.fill()
    }

    @Test func aPictureWhoseEmbeddedDescriptionIsNotInTheJournalIsNoOriginal() throws {
        let xmp = """
            <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description \
            xmlns:crs="http://ns.adobe.com/camera-raw-settings/1.0/" crs:Contrast2012="20"/></rdf:RDF>
            """
        let segment = Array(EmbeddedXMP.packetName.utf8) + Array(xmp.utf8)
        var jpeg = self.picture
        jpeg.insert(contentsOf: [0xFF, 0xE1] + big(segment.count + 2, 2) + segment, at: 2)
        let asset = try self.test.add(jpeg)
        try self.rebuild()
        #expect(try self.test.open().adjustment(of: asset) == .notRenderable(["crs:Contrast2012"]))
    }

    @Test func aLongSidecarIsNotTakenForNone() throws {
        let asset = try self.test.add(self.picture)
        let long = [UInt8](repeating: 0x20, count: JournalAdjustment.sidecarByteLimit)
        try self.test.library.setAdjustment(of: asset.id, sidecar: self.folder.write(long, to: "long.AAE"))
        _ = try self.test.library.journal.append([.removed(UUID())])
        _ = try LibraryCheck(of: self.test.folder, isDeep: false, repairsProblems: true) { _ in }.run()
        let sql = "SELECT length(content) FROM sidecar"
        #expect(try self.test.sql(sql, Int.self) == long.count, "What the catalogue has stays.")
        try self.rebuild()
        #expect(try self.test.open().adjustment(of: asset) == .notRenderable(["AAE"]))
    }
}
#endif
