#if Photos
import AssetLibrarySource
import BlobStreams
import BlobTestSupport
import FileSource
import Foundation
import GRDB
import Testing

/// Making and opening libraries, and finding assets by their URLs.
@Suite struct LibraryTests {
    private let test: TestLibrary

    init() throws { self.test = try TestLibrary() }

    @Test func aLibraryIsThereOnceOnly() throws {
        #expect(codeThrown { try AssetLibrary.create(at: self.test.folder) } == .invalidArgument)
        #expect(try self.test.open(.reading).asset(UUID()) == nil)
    }

    @Test func thereIsNoLibraryWhereNoneWasMade() throws {
        let none = self.test.folder.appendingPathComponent("none")
        for access in [AssetLibrary.Access.reading, .writing] {
            #expect(codeThrown { try AssetLibrary(at: none, for: access) } == .notFound)
        }
        #expect(!FileManager.default.fileExists(atPath: none.path))
    }

    @Test func aCreationThatWasCutOffCanBeDoneAgain() throws {
        let folder = self.test.folder.appendingPathComponent("half")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try write([], to: folder.path + "/catalog.sqlite")
        #expect(codeThrown { try AssetLibrary(at: folder) } == .unsupported)
        #expect(try AssetLibrary.create(at: folder).asset(UUID()) == nil)
    }

    @Test func whatIsNoCatalogueIsSaidSo() throws {
        let folder = self.test.folder.appendingPathComponent("other")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try write(makeContent(8192), to: folder.path + "/catalog.sqlite")
        for access in [AssetLibrary.Access.reading, .writing] {
            #expect(codeThrown { try AssetLibrary(at: folder, for: access) } == .corrupted)
        }
        try FileManager.default.removeItem(atPath: folder.path + "/catalog.sqlite")
        let queue = try DatabaseQueue(path: folder.path + "/catalog.sqlite")
        try queue.write { try $0.execute(sql: "CREATE TABLE t (a)") }
        try queue.close()
        for access in [AssetLibrary.Access.reading, .writing] {
            #expect(codeThrown { try AssetLibrary(at: folder, for: access) } == .unsupported)
        }
        #expect(codeThrown { try AssetLibrary.create(at: folder) } == .invalidArgument)
    }

    @Test func aCatalogueOfANewerVersionIsLeftAlone() throws {
        _ = try self.test.sql("INSERT INTO grdb_migrations VALUES ('999')", Int.self)
        for access in [AssetLibrary.Access.reading, .writing] {
            #expect(codeThrown { try self.test.open(access) } == .unsupported)
        }
    }

    @Test func aDamagedCatalogueIsAnErrorAndNoCrash() throws {
        let asset = try self.test.add(makeContent(10))
        for change in ["uuid = 'x'", "sha256 = zeroblob(32)", "byte_size = 11"] {
            let table = change.hasPrefix("uuid") ? "asset" : "original"
            _ = try self.test.sql("UPDATE \(table) SET \(change)", Int.self)
            let code = codeThrown { try readAll(self.test.library.source(for: asset.id).open()) }
            #expect(code != nil)
        }
        _ = try self.test.sql("DROP TABLE asset", Int.self)
        #expect(codeThrown { try self.test.open(.reading).asset(asset.id) } == .inconsistent)
    }

    @Test func whoReadsCannotWrite() throws {
        let library = try self.test.open(.reading)
        let asset = try self.test.add([1])
        #expect(codeThrown { try library.importAsset(from: MemorySource(Data([2]))) } == .permissionDenied)
        #expect(codeThrown { try library.removeAsset(asset.id) } == .permissionDenied)
        #expect(codeThrown { try library.recover() } == .permissionDenied)
        #expect(try self.test.assets == [asset] && self.test.files.count == 1)
    }

    @Test func anAssetIsFoundByItsLocator() throws {
        let asset = try self.test.add([1, 2, 3], named: "x.jpg")
        var registry = BlobRegistry()
        try registry.register(.assetLibrary(at: self.test.folder))
        let source = try registry.source(for: asset.locator)
        #expect(source.locator == asset.locator)
        #expect(try readAll(source.open()) == [1, 2, 3])
        let id = asset.id.uuidString
        for text in [
            "ASSETS-LIBRARY://asset/asset.JPG?id=\(id)&ext=JPG", "assets-library://asset/asset?id=\(id.lowercased())",
            "assets-library://asset/asset.png?ext=png&id=\(id)",
        ] {
            #expect(try readAll(registry.source(for: text).open()) == [1, 2, 3])
        }
    }

    @Test(arguments: [
        "assets-library:", "assets-library://asset/asset.JPG", "assets-library://asset/asset.JPG?id=1",
        "assets-library://asset/asset.JPG?ext=JPG", "assets-library://other/asset.JPG?id=%@", "assets-library:%@",
        "assets-library://asset/asset.JPG?id=%@x",
    ])
    func aLocatorThatNamesNoAssetIsInvalid(_ text: String) throws {
        var registry = BlobRegistry()
        try registry.register(.assetLibrary(at: self.test.folder))
        let text = text.replacingOccurrences(of: "%@", with: UUID().uuidString)
        #expect(codeThrown { try registry.source(for: text) } == .invalidLocator)
    }

    @Test func anAssetThatIsNotThereIsNotFound() throws {
        var registry = BlobRegistry()
        try registry.register(.assetLibrary(at: self.test.folder))
        let locator = "assets-library://asset/asset.JPG?id=\(UUID().uuidString)&ext=JPG"
        let error = #expect(throws: BlobError.self) { try registry.source(for: locator).open() }
        #expect(error?.code == .notFound && error?.locator == locator)
    }

    @Test func aLibraryThatIsNotThereIsNotFound() throws {
        var registry = BlobRegistry()
        try registry.register(.assetLibrary(at: self.test.folder.appendingPathComponent("none")))
        let locator = "assets-library://asset/asset.JPG?id=\(UUID().uuidString)&ext=JPG"
        #expect(codeThrown { try registry.source(for: locator) } == .notFound)
    }

    @Test func theCatalogueIsADatabaseOfThisVersionWithALog() throws {
        #expect(try self.test.sql("PRAGMA journal_mode", String.self) == "wal")
        #expect(try self.test.sql("PRAGMA user_version", Int.self) == 7)
        #expect(try self.test.sql("PRAGMA integrity_check", String.self) == "ok")
    }
}
#endif
