import BlobStreams
import BlobTestSupport
import Foundation
import Testing

@testable import BlobIndex

/// Whoever else may write to a disk has no say in what is read, and nothing of theirs is written to.
@Suite struct IndexOwnershipTests {
    private static var points: NewIndexSection { NewIndexSection(.points, bytes: [1, 2, 3]) }

    /// Times of changes come and go with files; the length and all else may be the same.
    @Test func contentWhoseStatusChangedIsAnother() throws {
        let folder = try TemporaryFolder()
        let index = try folder.index()
        let contents = [nil, 5, 6].map {
            IndexedContent(byteCount: 1000, validator: "strong:a", statusChangeTime: $0, edgeChecksum: 7)
        }
        for content in contents {
            try index.write([Self.points], for: content)
            for other in contents {
                #expect(try (index.section(.points, for: other) != nil) == (other == content))
            }
        }
    }

    private func mode(_ path: String) throws -> mode_t {
        var status = stat()
        try #require(lstat(path, &status) == 0)
        return status.st_mode
    }

    @Test func indexFilesAreForTheUserAlone() throws {
        let folder = try TemporaryFolder()
        let index = try folder.index()
        try index.write([Self.points], for: .sample)
        #expect(try self.mode(index.path) & 0o7777 == 0o600)
    }

    @Test func aLinkInTheFolderIsNeitherReadNorFollowed() throws {
        let folder = try TemporaryFolder()
        let index = try folder.index()
        try index.write([Self.points], for: .sample)
        // A whole index, which is not to be read through the link; then a letter, which is not to be replaced.
        try FileManager.default.moveItem(atPath: index.path, toPath: folder.path("target"))
        try #require(symlink(folder.path("target"), index.path) == 0)
        #expect(try index.section(.points, for: .sample) == nil)
        try folder.write(Array("Dear reader".utf8), to: "target")
        try index.write([Self.points], for: .sample)
        #expect(try read(folder.path("target")) == Array("Dear reader".utf8))
        #expect(try self.mode(index.path) & S_IFMT == S_IFREG)
        #expect(try index.section(.points, for: .sample)?.bytes() == [1, 2, 3])
    }

    @Test func anIndexThatOthersMayWriteIsNotUsed() throws {
        let folder = try TemporaryFolder()
        let index = try folder.index()
        for mode: mode_t in [0o620, 0o602] {
            try index.write([Self.points], for: .sample)
            try #require(chmod(index.path, mode) == 0)
            #expect(try index.section(.points, for: .sample) == nil)
        }
        try index.write([Self.points], for: .sample)
        #expect(try self.mode(index.path) & 0o7777 == 0o600)
    }

    @Test(.enabled(if: geteuid() == 0, "Only the superuser gives files away."))
    func anIndexOfAnotherOwnerIsNotUsed() throws {
        let folder = try TemporaryFolder()
        let index = try folder.index()
        let named = try #require(IndexFile(.file(folder.path("named")), for: nil))
        for file in [index, named] {
            try file.write([Self.points], for: .sample)
            try #require(chown(file.path, 12_345, 12_345) == 0)
            #expect(try file.section(.points, for: .sample) == nil)
            #expect(file.sections() == [])
        }
        // The folder is ours, and what lies there is replaced; what was named is not.
        try index.write([Self.points], for: .sample)
        #expect(try index.section(.points, for: .sample)?.bytes() == [1, 2, 3])
        let error = #expect(throws: BlobError.self) { try named.write([Self.points], for: .sample) }
        #expect(error?.code == .inconsistent)
        #expect((#expect(throws: BlobError.self) { try named.remove() })?.code == .inconsistent)
    }

    @Test(arguments: ["others may write", "a link", "of another owner"]) func aFolderThatIsNotOursAloneIsNotUsed(
        reason: String
    ) throws {
        let folder = try TemporaryFolder()
        let path = folder.path("indexes")
        let policy = BlobIndexPolicy.folder(path, maximumByteCount: 1 << 20)
        let index = try #require(IndexFile(policy, for: BlobLocator("file:///a")))
        try index.write([Self.points], for: .sample)
        switch reason {
        case "others may write": try #require(chmod(path, 0o777) == 0)
        case "a link":
            try FileManager.default.moveItem(atPath: path, toPath: folder.path("elsewhere"))
            try #require(symlink(folder.path("elsewhere"), path) == 0)
        default:
            guard geteuid() == 0 else { return }
            try #require(chown(path, 12_345, 12_345) == 0)
        }
        #expect(try index.section(.points, for: .sample) == nil)
        let error = #expect(throws: BlobError.self) { try index.write([Self.points], for: .sample) }
        #expect(error?.code == .permissionDenied)
    }

    /// The folder for caches is made, and not what it lies in.
    @Test func aHomeThatIsMissingIsNotMade() throws {
        let folder = try TemporaryFolder()
        for home in ["home", "a/home/"] {
            let indexes = try #require(
                IndexFolder.automatic(UserCacheFolder { $0 == "HOME" ? folder.path(home) : nil }))
            #expect((#expect(throws: BlobError.self) { try indexes.create() })?.code == .notFound)
            #expect(try indexes.open() == nil)
        }
        #expect(folder.names == [])
        let indexes = try #require(IndexFolder.automatic(UserCacheFolder { $0 == "HOME" ? folder.path : nil }))
        _ = try indexes.create()
        #expect(try self.mode(indexes.path) & 0o7777 == 0o700)
        #expect(IndexFolder.automatic(UserCacheFolder { _ in nil }) == nil)
        #expect(IndexFolder.automatic(UserCacheFolder { _ in "relative" }) == nil)
    }

    #if !canImport(Darwin)
    @Test func aFolderForCachesIsMadeWithThoseAboveIt() throws {
        let folder = try TemporaryFolder()
        let caches = folder.path("a/caches")
        let indexes = try #require(IndexFolder.automatic(UserCacheFolder { $0 == "XDG_CACHE_HOME" ? caches : nil }))
        #expect(try indexes.open() == nil)
        _ = try indexes.create()
        for path in [folder.path("a"), caches, indexes.path] { #expect(try self.mode(path) & 0o7777 == 0o700) }
    }
    #endif

    /// Only what builds on purpose replaces what the user named.
    @Test func aNamedFileThatIsThereIsNotReplacedByTheWay() throws {
        let folder = try TemporaryFolder()
        let index = try #require(IndexFile(.file(folder.path("x")), for: nil))
        for found in [[], Array("Dear reader".utf8)] as [[UInt8]] {
            try write(found, to: index.path)
            try index.write([Self.points], for: .sample, isReplacing: false)
            #expect(try read(index.path) == found)
        }
        try #require(unlink(index.path) == 0)
        try index.write([Self.points], for: .sample, isReplacing: false)
        // What a reading made it may complete.
        try index.write([NewIndexSection(.members, bytes: [4])], for: .sample, isReplacing: false)
        #expect(index.sections().count == 2)
        // Another file in its place is not.
        try write([], to: index.path)
        try index.write([Self.points], for: .sample, isReplacing: false)
        #expect(try read(index.path) == [])
    }

    @Test(.enabled(if: geteuid() != 0, "The superuser reads everything."))
    func aNamedFileThatMayNotBeReadIsAnError() throws {
        let folder = try TemporaryFolder()
        let index = try #require(IndexFile(.file(folder.path("x")), for: nil))
        try index.write([Self.points], for: .sample)
        try #require(chmod(index.path, 0) == 0)
        let error = #expect(throws: BlobError.self) { try index.section(.points, for: .sample) }
        #expect(error?.code == .permissionDenied)
    }
}
