#if Photos
import BlobHelper
import BlobStreams
import BlobTestSupport
import Foundation
import Testing

@testable import AssetLibrarySource

/// The catalogues of digiKam and Shotwell, which those programs made; see the fixtures.
@Suite struct ManagerCatalogueTests {
    private let folder: TemporaryFolder

    init() throws { self.folder = try TemporaryFolder() }

    private func open(_ name: String) throws -> any AssetCatalogue {
        try AssetLibrary.catalogue(at: URL(fileURLWithPath: try ManagerFixtures.database(name, in: self.folder)))
    }

    @Test func digiKamsItemsAlbumsAndTagsAreListed() throws {
        let catalogue = try self.open("digikam4.db")
        let all = try catalogue.list()
        #expect(all.map(\.id) == ["1", "2", "3", "4", "5", "6"])
        #expect(all.map(\.name) == ["p1.jpg", "p2.jpg", "p3.jpg", "film.mp4", "s1.jpg", "s2.jpg"])
        #expect(all[0].path == self.folder.path("p1.jpg") && all[4].path == self.folder.path("Summer/s1.jpg"))
        #expect(all[4].byteCount == 3618 && all[4].media.orientation == 6 && all[4].media.pixelWidth == 96)
        #expect(all[0].media.captureDate == "2024:05:01 12:30:59")
        #expect(all[3].media.mediaType == "video/mp4")
        let collections = try catalogue.collections()
        #expect(
            collections.map { "\($0.id) \($0.name) \($0.itemCount ?? -1)" } == [
                "album/1 Pictures 3", "album/2 Pictures/Summer 3", "tag/4 People 0", "tag/5 People/Unknown 0",
                "tag/6 People/Anna 2", "tag/21 Sea 1", "tag/24 People/Unconfirmed 0", "tag/25 People/Ignored 0",
            ])
        #expect(try catalogue.list(in: "album/2").map(\.id) == ["4", "5", "6"])
        #expect(try catalogue.list(in: "tag/6").map(\.id) == ["1", "5"])
        for id in ["album/9", "tag/x", "event/1", "Sea"] {
            #expect(codeThrown { try catalogue.list(in: id) } == .notFound)
        }
    }

    @Test(arguments: ["nowhere", "volumeid:?label=CARD", "volumeid:?uuid=0000-0000"])
    func itemsOnAVolumeThatIsNotThereAreMissing(_ identifier: String) throws {
        let path = try ManagerFixtures.database("digikam4.db", in: self.folder)
        try ManagerFixtures.execute("UPDATE AlbumRoots SET identifier = '\(identifier)'", in: path)
        let all = try AssetLibrary.catalogue(at: URL(fileURLWithPath: path)).list()
        #expect(all.count == 6 && all.allSatisfy(\.isMissing))
    }

    /// A time of 0 is unknown.
    @Test func anEventWithoutANameHasItsFirstKnownDate() throws {
        let path = try ManagerFixtures.database("photo.db", in: self.folder)
        try ManagerFixtures.execute("UPDATE PhotoTable SET exposure_time = 0 WHERE id = 1", in: path)
        let events = try AssetLibrary.catalogue(at: URL(fileURLWithPath: path)).collections().dropFirst(3)
        #expect(events.map(\.name) == ["2024-07-10", "2024-05-01"])
    }

    @Test func timesBeyondTheNumbersAreTheNearest() {
        #expect(Date(nanoseconds: .max).nanoseconds == .max && Date(nanoseconds: .min).nanoseconds == .min)
    }

    @Test func shotwellsPhotosFilmsTagsAndEventsAreListed() throws {
        let catalogue = try self.open("photo.db")
        let all = try catalogue.list()
        #expect(
            all.map(\.id) == (1...5).map { "thumb000000000000000\($0)" } + ["video-0000000000000001"])
        #expect(all.map(\.name) == ["s1.jpg", "s2.jpg", "p3.jpg", "p2.jpg", "p1.jpg", "film.mp4"])
        #expect(all[4].path == self.folder.path("p1.jpg") && all[4].byteCount == 3942)
        let collections = try catalogue.collections()
        #expect(
            collections.map { "\($0.id) \($0.name)" }.prefix(3) == ["tag/1 People", "tag/2 People/Anna", "tag/3 Sea"])
        #expect(collections.dropFirst(3).map(\.name) == ["2024-07-10", "2024-05-01"])
        #expect(collections.dropFirst(3).map(\.itemCount) == [2, 1])
        #expect(try catalogue.list(in: "tag/2").map(\.name) == ["s1.jpg", "p1.jpg"])
        #expect(try catalogue.list(in: "event/1").map(\.name) == ["s1.jpg", "s2.jpg"])
        #expect(codeThrown { try catalogue.list(in: "tag/7") } == .notFound)
    }

    @Test func shotwellsCropsAndAnglesAreRecipesAndItsColoursAreNotRenderable() throws {
        let all = try self.open("photo.db").list()
        let byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name ?? "", $0.adjustment) })
        #expect(byName["s1.jpg"] == Adjustment.none)
        #expect(
            byName["p2.jpg"]
                == .renderable(
                    AdjustmentRecipe([
                        .crop(PictureRectangle(left: 20, top: 4, width: 57, height: 57)), .orientation(1),
                    ])))
        #expect(byName["p3.jpg"] == .notRenderable(["org.gnome.shotwell.adjustments"]))
        guard case .renderable(let recipe)? = byName["p1.jpg"], recipe.operations.count == 3,
            case .affine(_, width: 104, height: 76) = recipe.operations[0]
        else {
            Issue.record("\(String(describing: byName["p1.jpg"]))")
            return
        }
        #expect(recipe.operations[1] == .crop(PictureRectangle(left: 11, top: 11, width: 81, height: 53)))
        #expect(recipe.operations[2] == .orientation(6))
    }

    @Test(arguments: ["digikam4.db", "photo.db"]) func aLookUpGivesTheAssetOfTheList(_ name: String) throws {
        let catalogue = try self.open(name)
        for asset in try catalogue.list() {
            let found = try #require(try catalogue.cataloguedAsset(asset.id))
            #expect(found.path == asset.path && found.media == asset.media && found.adjustment == asset.adjustment)
            #expect(found.isMissing == (asset.path.contains("Summer")))
        }
        for id in ["0", "7", "01", "-1", "thumb0", "thumb000000000000000A", "video-0000000000000002", "", "1 "] {
            #expect(try catalogue.cataloguedAsset(id) == nil)
        }
    }

    @Test(arguments: [
        ("digikam4.db", "UPDATE Images SET name = 'p1.mov', album = 1 WHERE name = 'film.mp4'"),
        ("photo.db", "UPDATE VideoTable SET filename = replace(filename, 'Summer/film.mp4', 'p1.mov')"),
    ])
    func theFilmOfALivePhotoIsItsPair(_ name: String, sql: String) throws {
        let path = try ManagerFixtures.database(name, in: self.folder)
        try ManagerFixtures.execute(sql, in: path)
        try self.folder.write("film", to: "p1.mov")
        let catalogue = try AssetLibrary.catalogue(at: URL(fileURLWithPath: path))
        let photo = try #require(try catalogue.list().first { $0.name == "p1.jpg" })
        let pair = try #require(try catalogue.cataloguedAsset(photo.id)?.pairID)
        let film = try catalogue.cataloguedAsset(pair)
        #expect(film?.name == "p1.mov" && film?.pairID == photo.id)
        #expect(try catalogue.list().filter { $0.name == "p2.jpg" }.map(\.pairID) == [nil])
    }

    /// As Shotwell records a file that it opened in another program.
    @Test func aPhotoThatAnotherProgramEditedIsItsEditedFile() async throws {
        let path = try ManagerFixtures.database("photo.db", in: self.folder)
        let edited = try Data(contentsOf: self.folder.url("p3.jpg"))
        try self.folder.write([UInt8](edited), to: "p1_modified.jpg")
        try ManagerFixtures.execute(
            """
            CREATE TABLE BackingPhotoTable (id INTEGER PRIMARY KEY, filepath TEXT UNIQUE NOT NULL, timestamp INTEGER,
                filesize INTEGER, width INTEGER, height INTEGER, original_orientation INTEGER, file_format INTEGER,
                time_created INTEGER);
            INSERT INTO BackingPhotoTable
                VALUES (7, '\(self.folder.path("p1_modified.jpg"))', 1, \(edited.count), 96, 64, 1, 0, 1);
            UPDATE PhotoTable SET editable_id = 7, orientation = 1, transformations = NULL WHERE id = 5;
            """, in: path)
        let catalogue = try AssetLibrary.catalogue(at: URL(fileURLWithPath: path))
        let all = try catalogue.list()
        #expect(all.map(\.name) == ["s1.jpg", "s2.jpg", "p3.jpg", "p2.jpg", "p1_modified.jpg", "film.mp4"])
        #expect(all[4].byteCount == edited.count && all[4].media.pixelWidth == 96)
        #expect(all[4].adjustment == Adjustment.none)
        #expect(try catalogue.cataloguedAsset(all[4].id)?.path == all[4].path)
        #expect(try await catalogue.source(for: all[4].id).data(upTo: 10_000) == edited)
    }

    @Test(arguments: ["digikam4.db", "photo.db"]) func anAssetIsReadByItsURL(_ name: String) async throws {
        let path = try ManagerFixtures.database(name, in: self.folder)
        var registry = BlobRegistry()
        try registry.register(.assetLibrary(at: URL(fileURLWithPath: path)))
        let catalogue = try AssetLibrary.catalogue(at: URL(fileURLWithPath: path))
        let asset = try #require(try catalogue.list().first { $0.name == "p3.jpg" })
        let source = try registry.source(for: BlobLocator("\(asset.locator.text)&unrenderable=original"))
        let expected = try Data(contentsOf: self.folder.url("p3.jpg"))
        #expect(try await source.data(upTo: 10_000) == expected)
    }
}
#endif
