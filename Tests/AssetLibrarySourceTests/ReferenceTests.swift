#if Photos
import BlobStreams
import BlobTestSupport
import FileSource
import Foundation
import Testing

@testable import AssetLibrarySource

/// Files that are read before they are copied, that are not copied at all, and that are remembered.
@Suite struct ReferenceTests {
    private let test: TestLibrary
    private let bytes = makeContent(700_000)
    private let pictures: TemporaryFolder
    private let path: String

    init() throws {
        self.test = try TestLibrary()
        self.pictures = try TemporaryFolder()
        self.path = self.pictures.path("photo.jpg")
        try write(self.bytes, to: self.path)
    }

    private func origin(isReference: Bool) throws -> ImportOrigin {
        var origin = try ImportOrigin(path: Array(self.path.utf8))
        origin.isReference = isReference
        return origin
    }

    @discardableResult
    private func add(isReference: Bool = true, _ library: AssetLibrary? = nil) throws -> AssetLibrary.ImportResult {
        var result: AssetLibrary.ImportResult?
        let group = try (library ?? self.test.library).makeImport { result = $0 }
        try group.add(FileSource(path: self.path), name: nil, from: self.origin(isReference: isReference))
        try group.finish()
        return try #require(result)
    }

    /// Gives the file an age with which its status identifies its content.
    private func settle() throws {
        while try self.origin(isReference: true).unchangedOrigin == nil { sched_yield() }
    }

    @Test func ofADuplicateFileNothingIsWritten() throws {
        let steps = Locked<[ImportStep]>([])
        let library = try AssetLibrary(at: self.test.folder, for: .writing) { step in steps.withLock { $0.append(step) }
        }
        let first = try library.importAsset(from: FileSource(path: self.path))
        #expect(steps.exchange([]) == ImportStep.allCases)
        let again = try library.importAsset(from: FileSource(path: self.path))
        #expect(!again.isNew && again.asset == first.asset)
        #expect(steps.exchange([]) == [.named, .inserted, .committed])
        // Of the same length with other bytes, and damaged, it is copied.
        try overwrite(self.path, at: 5, with: [self.bytes[5] ^ 1])
        #expect(try library.importAsset(from: FileSource(path: self.path)).isNew)
        try overwrite(self.path, at: 5, with: [self.bytes[5]])
        try overwrite(self.test.originalPath(of: first.asset), at: 7, with: [self.bytes[7] ^ 1])
        #expect(try library.importAsset(from: FileSource(path: self.path)).isRepaired)
    }

    @Test func aCopyOfAReferencedFileIsNotTheFileItself() throws {
        let asset = try self.add().asset
        try self.settle()
        _ = try self.add()
        #expect(try self.test.library.importedAsset(self.origin(isReference: true))?.id == asset.id)
        #expect(try self.test.library.importedAsset(self.origin(isReference: false)) == nil)
        let copy = try self.add(isReference: false)
        #expect(copy.asset.id == asset.id && !copy.isNew && !copy.isRepaired)
        try #require(unlink(self.path) == 0)
        #expect(try readAll(self.test.library.source(for: asset.id).open()) == self.bytes)
    }

    @Test func aBackUpCatchesUpWithAPathThatHasAnotherContentNow() throws {
        let first = try self.add().asset
        let backup = self.test.path("backup")
        try self.test.library.backUp(to: backup)
        try overwrite(self.path, at: 0, with: [self.bytes[0] ^ 1])
        let second = try self.add().asset
        #expect(second.id != first.id)
        for suffix in ["", "-wal", "-shm"] { unlink(self.test.path("catalog.sqlite\(suffix)")) }
        try #require(rename(backup, self.test.path("catalog.sqlite")) == 0)
        let library = try self.test.open()
        #expect(try readAll(library.source(for: second.id).open()).first == self.bytes[0] ^ 1)
        #expect(try library.asset(first.id)?.isMissing == true)
    }

    @Test func theFilesOfTheLibraryAreNotImportedIntoIt() throws {
        let path = self.test.path("catalog.sqlite")
        #expect(codeThrown { try self.test.library.importAsset(from: FileSource(path: path)) } == .invalidArgument)
        #expect(self.test.library.contains(path: Array(path.utf8)))
        #expect(!self.test.library.contains(path: Array(self.path.utf8)))
    }

    @Test func anErrorOfAFileDoesNotEndAnImport() throws {
        let folder = self.pictures.path("photo.xmp")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let jpeg = Pictures.jpeg(width: 4, height: 3, exif: nil)
        try write(jpeg, to: self.path)
        let error = #expect(throws: BlobError.self) { try self.add(isReference: false) }
        #expect(error?.operation != "write")
    }

    @Test func duplicatesInAGroupAreCopiedOnce() throws {
        let copied = Locked(0)
        let library = try AssetLibrary(at: self.test.folder, for: .writing) { step in
            if step == .copied { copied.withLock { $0 += 1 } }
        }
        var results: [AssetLibrary.ImportResult] = []
        let group = try library.makeImport { results.append($0) }
        for _ in 0..<3 { try group.add(FileSource(path: self.path)) }
        try group.finish()
        #expect(results.map(\.isNew) == [true, false, false] && Set(results.map(\.asset.id)).count == 1)
        #expect(copied.withLock { $0 } == 1)
    }

    @Test func aFileByReferenceStaysWhereItIs() throws {
        let asset = try self.add().asset
        #expect(self.test.files.isEmpty && asset.name == "photo.jpg" && asset.byteCount == self.bytes.count)
        let isEqual = try readAll(self.test.library.source(for: asset.id).open()) == self.bytes
        #expect(isEqual)
        #expect(try self.test.library.recover() == .init())
        #expect(try JournalState(self.test.library.journal).assets.map(\.path) == [asset.storedPath])
        try overwrite(self.path, at: 300_000, with: [self.bytes[300_000] ^ 1])
        #expect(codeThrown { try readAll(self.test.library.source(for: asset.id).open()) } == .checksumMismatch)
        try self.test.library.removeAsset(asset.id)
        #expect(FileManager.default.fileExists(atPath: self.path))
    }

    @Test func anotherContentOfAReferencedFileIsAnotherAsset() throws {
        let first = try self.add().asset
        try overwrite(self.path, at: 5, with: [self.bytes[5] ^ 1])
        let second = try self.add()
        #expect(second.isNew && second.asset.id != first.id)
        #expect(try self.test.library.asset(first.id)?.isMissing == true)
        #expect(codeThrown { try readAll(self.test.library.source(for: first.id).open()) } == .notFound)
        #expect(try readAll(self.test.library.source(for: second.asset.id).open()).count == self.bytes.count)
        #expect(try Set(JournalState(self.test.library.journal).assets.map(\.path)).count == 2)
        // The first content again, as a copy.
        try overwrite(self.path, at: 5, with: [self.bytes[5]])
        #expect(try self.add(isReference: false).isRepaired)
        let isEqual = try readAll(self.test.library.source(for: first.id).open()) == self.bytes
        #expect(isEqual)
    }

    @Test func aFileOfTheLibraryIsNoReference() throws {
        let asset = try self.test.add([1, 2])
        let path = try self.test.originalPath(of: asset)
        try overwrite(path, at: 0, with: [3])
        let group = try self.test.library.makeImport { _ in }
        var origin = try ImportOrigin(path: Array(path.utf8))
        origin.isReference = true
        #expect(codeThrown { try group.add(FileSource(path: path), name: nil, from: origin) } == .invalidArgument)
    }

    @Test(arguments: [true, false])
    func anUntouchedFileIsRemembered(isReference: Bool) throws {
        try self.settle()
        let asset = try self.add(isReference: isReference).asset
        let find = { try self.test.library.importedAsset(self.origin(isReference: isReference))?.id }
        #expect(try find() == asset.id)
        // A change of each kind is looked at again.
        try #require(chmod(self.path, 0o600) == 0)
        #expect(try find() == nil)
        try self.settle()
        try self.add(isReference: isReference)
        #expect(try find() == asset.id)
        try overwrite(self.path, at: 5, with: [self.bytes[5] ^ 1])
        #expect(try find() == nil)
        // One that changes while it is imported is not remembered.
        try self.add(isReference: isReference)
        #expect(try find() == nil)
        try self.settle()
        let changed = try self.add(isReference: isReference).asset
        #expect(try find() == changed.id)
        try self.test.library.removeAsset(changed.id)
        #expect(try find() == nil)
    }

    @Test func whatAFileDoesNotSayIsGiven() throws {
        var origin = try self.origin(isReference: false)
        origin.captureDate = "2020:01:02 03:04:05"
        origin.location = (48.5, -2.25)
        let group = try self.test.library.makeImport { _ in }
        try group.add(FileSource(path: self.path), name: "Title.jpg", from: origin)
        try group.finish()
        let asset = try #require(try self.test.assets.first)
        #expect(asset.name == "Title.jpg" && asset.media.captureDate == "2020:01:02 03:04:05")
        #expect(
            try self.test.sql("SELECT gps_latitude || ' ' || gps_longitude FROM original", String.self) == "48.5 -2.25")
        let kept = try #require(try JournalState(self.test.library.journal).assets.first)
        #expect(kept.captureDate == asset.media.captureDate && kept.latitude == 48.5 && kept.longitude == -2.25)
    }
}
#endif
