#if Photos
import BlobStreams
import BlobTestSupport
import Foundation
import Testing

@testable import AssetLibrarySource

/// Clearing away after a crash, in folders that hold other people's files and links too.
@Suite struct RecoveryTests {
    private let test: TestLibrary
    /// Somebody's pictures, beside the library.
    private let pictures: URL

    init() throws {
        self.test = try TestLibrary()
        self.pictures = self.test.folder.appendingPathComponent("pictures")
        try FileManager.default.createDirectory(at: self.pictures, withIntermediateDirectories: true)
        for name in self.names { try write(Array(name.utf8), to: self.pictures.appendingPathComponent(name).path) }
    }

    /// Some have the names that imports give.
    private let names = [
        "summer.jpg", "D28C0A2C-1E0F-4E8B-9B9C-0F8C5A1E7B11", "D28C0A2C-1E0F-4E8B-9B9C-0F8C5A1E7B11.part",
        "D28C0A2C-1E0F-4E8B-9B9C-0F8C5A1E7B11.jpg",
    ]

    private func expectPicturesAreThere(_ comment: Comment? = nil) throws {
        let found = try FileManager.default.contentsOfDirectory(atPath: self.pictures.path)
        #expect(Set(found) == Set(self.names), comment)
    }

    /// What a crash leaves, so that opening for writing recovers.
    private func leaveTrace() throws {
        try write([], to: self.test.path("originals/.incoming/\(UUID().uuidString)"))
    }

    private func makeFolder(_ path: String) throws {
        try FileManager.default.createDirectory(atPath: self.test.path(path), withIntermediateDirectories: true)
    }

    #if os(Linux)
    /// As one that was started a moment ago has them, before it runs its program.
    @Test func copiesOfDescriptorsInOtherProcessesHoldNoLock() throws {
        let library = LibraryFolder(self.pictures)
        let path = library.lockPath
        var lock = try LibraryLock.exclusive(library)
        try #require(lock != nil)
        let descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap {
            CInt($0)
        }
        let own = try #require(
            descriptors.first {
                (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")) == path
            })
        let copy = dup(own)
        defer { close(copy) }
        lock = nil
        #expect(try LibraryLock.exclusive(library) != nil)
    }
    #endif

    @Test(arguments: [".incoming", ".quarantine"])
    func aLinkInThePlaceOfAFolderIsNotFollowed(name: String) throws {
        try self.test.add([1])
        try self.leaveTrace()
        try write([2], to: self.test.path("originals/AA-stray"))
        let path = self.test.path("originals/\(name)")
        try FileManager.default.removeItem(atPath: path)
        try #require(symlink(self.pictures.path, path) == 0)
        #expect(codeThrown { try self.test.open() } == .unsupported)
        #expect(codeThrown { try self.test.library.recover() } == .unsupported)
        #expect(codeThrown { try self.test.add([3]) } == .unsupported)
        try self.expectPicturesAreThere()
        #expect(try self.test.assets.count == 1)
        // Reading needs none of them.
        #expect(try self.test.open(.reading).asset(UUID()) == nil)
    }

    @Test(arguments: ["ZZ", "D2"])
    func aLinkAmongTheOriginalsIsLeftAlone(name: String) throws {
        try self.leaveTrace()
        let path = self.test.path("originals/\(name)")
        try #require(symlink(self.pictures.path, path) == 0)
        #expect(try self.test.open().recover().quarantinedCount == 0)
        try self.expectPicturesAreThere()
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: path) == self.pictures.path)
    }

    @Test func anImportDoesNotWriteBehindALink() throws {
        for byte in 0...255 {
            try #require(
                symlink(self.pictures.path, self.test.path("originals/" + String(format: "%02X", byte))) == 0)
        }
        #expect(codeThrown { try self.test.add([1]) } == .unsupported)
        try self.expectPicturesAreThere()
    }

    @Test func aRemovalDoesNotUnlinkBehindALink() throws {
        let asset = try self.test.add([1], named: "a.jpg")
        let parent = self.test.path("originals/\(asset.id.uuidString.prefix(2))")
        try FileManager.default.removeItem(atPath: parent)
        let name = "\(asset.id.uuidString).jpg"
        try write([1], to: self.pictures.appendingPathComponent(name).path)
        try #require(symlink(self.pictures.path, parent) == 0)
        try self.test.library.removeAsset(asset.id)
        #expect(FileManager.default.fileExists(atPath: self.pictures.appendingPathComponent(name).path))
    }

    @Test func orphansOfOneNameAreAllKept() throws {
        let name = "D28C0A2C-1E0F-4E8B-9B9C-0F8C5A1E7B11.jpg"
        try self.makeFolder("originals/D2")
        for content in 1...3 {
            try write([UInt8(content)], to: self.test.path("originals/D2/\(name)"))
            #expect(try self.test.library.recover().quarantinedCount == 1)
        }
        let kept = self.test.files.filter { $0.hasPrefix(".quarantine/") }
        let contents = try kept.map { name in
            try [UInt8](Data(contentsOf: URL(fileURLWithPath: self.test.path("originals/\(name)"))))
        }
        #expect(Set(contents) == [[1], [2], [3]])
    }

    @Test func foldersAndFilesOfOthersStayWhereTheyAre() throws {
        let foreign = [
            "2020/summer.jpg", "2021/summer.jpg", "AB/notes.txt", "AB/album/summer.jpg", "CD/album/winter.jpg",
            "stray.jpg", ".incoming/notes.txt", ".quarantine/summer.jpg", "AB/D28C0A2C-1E0F-4E8B-9B9C-0F8C5A1E7B11.jpg",
            "D2/D28C0A2C-1E0F-4E8B-9B9C-0F8C5A1E7B11.JPG", "D2/d28c0a2c-1e0f-4e8b-9b9c-0f8c5a1e7b11.jpg",
        ]
        for path in foreign {
            try self.makeFolder("originals/\(path.prefix(upTo: path.lastIndex(of: "/") ?? path.startIndex))")
            try write(Array(path.utf8), to: self.test.path("originals/\(path)"))
        }
        try self.makeFolder("originals/D2/D28C0A2C-1E0F-4E8B-9B9C-0F8C5A1E7B11.jpg")
        for _ in 0..<2 {
            try self.leaveTrace()
            #expect(try self.test.open().recover() == .init())
            #expect(self.test.files == foreign.sorted())
        }
        let asset = try self.test.add([1, 2])
        #expect(try readAll(self.test.library.source(for: asset.id).open()) == [1, 2])
    }

    @Test func whatImportsLeftIsClearedAway() throws {
        let id = "D28C0A2C-1E0F-4E8B-9B9C-0F8C5A1E7B11"
        try write([], to: self.test.path("originals/.incoming/\(id)"))
        try write([1], to: self.test.path("originals/.incoming/\(id).part"))
        try self.makeFolder("originals/D2")
        try write([2], to: self.test.path("originals/D2/\(id)"))
        _ = try self.test.open()
        #expect(self.test.files == [".quarantine/\(id)"])
    }

    @Test(arguments: ["originals/2020/summer.jpg", "summer.jpg", "originals/summer.jpg", ".hidden"])
    func noLibraryIsMadeInAFolderOfOthers(path: String) throws {
        let folder = self.test.folder.appendingPathComponent("mine")
        let file = folder.appendingPathComponent(path)
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try write([1], to: file.path)
        let before = try FileManager.default.subpathsOfDirectory(atPath: folder.path)
        let error = #expect(throws: BlobError.self) { try AssetLibrary.create(at: folder) }
        #expect(error?.code == .invalidArgument)
        #expect(try FileManager.default.subpathsOfDirectory(atPath: folder.path) == before)
    }

    @Test func aLibraryIsMadeInAnEmptyFolderAndWhereACreationWasCutOff() throws {
        let folder = self.test.folder.appendingPathComponent("mine")
        for leftover in ["", "originals", "originals/.incoming", "originals/.quarantine"] {
            try FileManager.default.createDirectory(
                at: folder.appendingPathComponent(leftover), withIntermediateDirectories: true)
            _ = try AssetLibrary.create(at: folder)
            try FileManager.default.removeItem(at: folder)
        }
    }
}
#endif
