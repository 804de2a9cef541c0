#if Photos
import BlobStreams
import BlobTestSupport
import Foundation
import Testing

@testable import AssetLibrarySource

/// A folder of photos by reference, as a catalogue.
@Suite struct FolderCatalogueTests {
    private let folder: TemporaryFolder
    private let catalogue: any AssetCatalogue

    init() throws {
        self.folder = try TemporaryFolder()
        for name in ["DCIM/100APPLE", "2019/Ü & Q", ".hidden", "DCIM/.thumbs"] {
            try FileManager.default.createDirectory(at: self.folder.url(name), withIntermediateDirectories: true)
        }
        for name in [
            "DCIM/100APPLE/IMG_1.HEIC", "DCIM/100APPLE/IMG_1.MOV", "DCIM/100APPLE/IMG_1.AAE", "DCIM/100APPLE/IMG_2.JPG",
            "2019/Ü & Q/a=1%.jpg", "2019/Ü & Q/a=1%.jpg.json", "2019/b.nef", "2019/b.jpg", "2019/b.xmp", "top.png",
            ".hidden/x.jpg", "DCIM/.thumbs/y.jpg", ".z.jpg",
        ] { try self.folder.write("content of \(name)", to: name) }
        symlink("/etc/hostname", self.folder.path("2019/link.jpg"))
        symlink("/etc", self.folder.path("2019/etc"))
        self.catalogue = try AssetLibrary.catalogue(at: self.folder.url)
    }

    private func list(in collection: String? = nil) throws -> [CataloguedAsset] {
        var all: [CataloguedAsset] = []
        try self.catalogue.forEachCataloguedAsset(in: collection) { all.append($0) }
        return all
    }

    @Test func filesAreListedInTheOrderOfTheirPathsWithPairsAndSidecars() throws {
        let all = try self.list()
        #expect(
            all.map(\.id) == [
                "top.png", "2019/b.jpg", "2019/b.nef", "2019/%C3%9C%20%26%20Q/a%3D1%25.jpg",
                "DCIM/100APPLE/IMG_1.HEIC", "DCIM/100APPLE/IMG_1.MOV", "DCIM/100APPLE/IMG_2.JPG",
            ])
        let byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name ?? "", $0) })
        let names = { (asset: CataloguedAsset?) in
            asset?.sidecarPaths.map { String($0.dropFirst(self.folder.path("").count)) }
        }
        #expect(byName["IMG_1.HEIC"]?.pairID == "DCIM/100APPLE/IMG_1.MOV")
        #expect(byName["IMG_1.MOV"]?.pairID == "DCIM/100APPLE/IMG_1.HEIC")
        #expect(names(byName["IMG_1.HEIC"]) == ["DCIM/100APPLE/IMG_1.AAE"])
        #expect(names(byName["b.nef"]) == ["2019/b.xmp"])
        #expect(names(byName["b.jpg"]) == [])
        #expect(names(byName["a=1%.jpg"]) == ["2019/Ü & Q/a=1%.jpg.json"])
        #expect(byName["top.png"]?.media.mediaType == "image/png")
        #expect(byName["top.png"]?.byteCount == 18 && byName["top.png"]?.sha256 == nil)
    }

    @Test func aLookUpGivesWhatTheListGives() throws {
        for asset in try self.list() {
            let found = try self.catalogue.cataloguedAsset(asset.id)
            #expect(found == asset)
        }
    }

    @Test(arguments: [
        "../secret", "2019/../top.png", "/etc/hostname", "", ".", "2019", "2019/", "2019//b.jpg", ".z.jpg",
        "2019/link.jpg", "2019/etc/hostname", "2019/b.xmp", "top.png%00", "top.png/x", "%zz", "%FF.jpg", "nothing",
    ])
    func anIdentifierOfNoAssetFindsNone(_ id: String) throws {
        let found = try self.catalogue.cataloguedAsset(id)
        #expect(found == nil)
    }

    /// Characters that no URL has, and those that it has for itself.
    @Test(arguments: ["a b.jpg", "ü.jpg", "a&b#c.jpg", "100%.jpg", "%zz", "?"])
    func anIdentifierThatIsNotEncodedIsNoTrap(_ id: String) throws {
        let code = codeThrown { try self.catalogue.source(for: id).info() }
        #expect(code == .notFound)
        #expect(!CataloguedAsset(id: id, path: "/x", byteCount: 0).locator.text.contains(" "))
        try self.folder.write("there", to: "a b.jpg")
        let source = self.catalogue.source(for: "a b.jpg")
        #expect(try source.data(upTo: 10) == Data("there".utf8))
        #expect(source.locator?.text.contains("id=a%20b.jpg") == true)
    }

    @Test func errorsOfTheCallerAreItsOwn() throws {
        let own = BlobError(.notFound, "mine")
        let error = #expect(throws: BlobError.self) {
            try self.catalogue.forEachCataloguedAsset(in: "2019") { _ in throw own }
        }
        #expect(error?.message == "mine")
    }

    @Test func foldersAreCollections() throws {
        let found = try self.catalogue.collections()
        #expect(found.map(\.name) == ["2019", "2019/Ü & Q", "DCIM/100APPLE"])
        #expect(found.map(\.itemCount) == [2, 1, 3])
        #expect(try self.list(in: found[1].id).map(\.name) == ["a=1%.jpg"])
        let code = codeThrown { try self.list(in: "2019/etc") }
        #expect(code == .notFound)
    }

    @Test func anAssetIsReadByItsURLAndKnownByItsDigestThen() async throws {
        let asset = try #require(try self.list().first { $0.name == "a=1%.jpg" })
        var registry = BlobRegistry()
        try registry.register(.assetLibrary(at: self.folder.url))
        let source = try registry.source(for: asset.locator)
        #expect(try await source.data(upTo: 100) == Data("content of 2019/Ü & Q/a=1%.jpg".utf8))
        let found = try #require(try self.catalogue.cataloguedAsset(asset.id))
        #expect(try source.info().validator == .strong("sha256:\(try #require(found.sha256).hexadecimal)"))
        // The look-up by the URL of our own library knows UUIDs alone.
        #expect(throws: BlobError.self) { try asset.locator.assetID() }
    }

    @Test func aFileThatIsReplacedWhileItIsReadIsChanged() throws {
        let bytes = [UInt8](repeating: 7, count: 3 * AssetSource.windowByteCount)
        try self.folder.write(bytes, to: "big.jpg")
        let reader = try self.catalogue.source(for: "big.jpg").open()
        defer { reader.close() }
        var buffer = [UInt8](repeating: 0, count: 1000)
        #expect(try buffer.withUnsafeMutableBytes { try reader.readBlocking(into: $0) } == 1000)
        try overwrite(self.folder.path("big.jpg"), at: 2 << 18, with: [1])
        let code = codeThrown {
            while try buffer.withUnsafeMutableBytes({ try reader.readBlocking(into: $0) }) > 0 {}
        }
        #expect(code == .changed)
    }

    @Test func aFileThatIsMovedAwayIsReadToItsEnd() throws {
        let bytes = [UInt8](repeating: 7, count: 3 * AssetSource.windowByteCount)
        try self.folder.write(bytes, to: "big.jpg")
        let events = Events()
        let reader = try self.catalogue.source(for: "big.jpg").open(context: events.context)
        defer { reader.close() }
        #expect(rename(self.folder.path("big.jpg"), self.folder.path("2019/big.jpg")) == 0)
        var (buffer, count) = ([UInt8](repeating: 0, count: 10_000), 0)
        while case let read = try buffer.withUnsafeMutableBytes({ try reader.readBlocking(into: $0) }), read > 0 {
            count += read
        }
        #expect(count == bytes.count)
        #expect(events.all.contains { $0.kind == .recovered })
    }

    @Test func aSidecarAdjustsAPictureAndAnEditOfItIsSeen() throws {
        let picture = Pictures.jpeg(width: 64, height: 32, exif: nil)
        try self.folder.write(picture, to: "IMG_9.JPG")
        let backend = self.catalogue.backend
        let before = try #require(try backend.asset(named: "IMG_9.JPG", BlobContext()))
        #expect(try backend.adjustment(of: before) == .none)
        let record = try backend.record(of: "IMG_9.JPG", .current)
        try self.folder.write("no adjustment data", to: "IMG_9.AAE")
        #expect(try backend.adjustment(of: before) == .notRenderable(["AAE"]))
        #expect(try backend.record(of: "IMG_9.JPG", .current) != record)
        #expect(try backend.record(of: "IMG_9.JPG", .original) == backend.record(of: "IMG_9.JPG", .original))
        let code = codeThrown { try self.catalogue.source(for: "IMG_9.JPG").info() }
        #expect(code == .unsupported)
        let info = try self.catalogue.source(for: "IMG_9.JPG", unrenderable: .original).info()
        #expect(info.byteCount == Int64(picture.count))
    }
}
#endif
