#if Photos
import BlobHelper
import BlobStreams
import BlobTestSupport
import Foundation
import Testing

@testable import AssetLibrarySource

/// Small pictures, and the cache in which they are found. The variable of the cache folder is one for all tests.
@Suite(.serialized) struct ThumbnailTests {
    static let hasVips = MediaProcessTests.hasVips

    /// Has a cache folder of its own in a process of its own.
    private static func withCache(_ body: (TemporaryFolder) throws -> Void) throws {
        let folder = try TemporaryFolder()
        setenv("XDG_CACHE_HOME", folder.path, 1)
        try body(folder)
    }

    @Test(.enabled(if: isLinux && hasVips)) func oneIsMadeOnceAndKept() async {
        await #expect(processExitsWith: .success) {
            try Self.withCache { folder in
                let test = try TestLibrary()
                let asset = try test.add(Pictures.picture, named: "a.png")
                let made = try test.library.thumbnail(of: asset.id, .small)
                try #require(made.origin == .generated)
                try #require(MediaDescription(HeaderBytes(Array(made.bytes))).pixelWidth == 4)
                let found = try test.library.thumbnail(of: asset.id, .small, helper: "/nowhere")
                try #require(found.origin == .cache && found.bytes == made.bytes)
                // Each size is a file of its own; the digest names it.
                _ = try test.library.thumbnail(of: asset.id, .large)
                let names = try FileManager.default.contentsOfDirectory(atPath: folder.path("blob-thumbnails"))
                try #require(names.count == 2 && names.allSatisfy { $0.hasPrefix(asset.sha256.hexadecimal) })
                // Nothing but a JPEG is taken from there.
                for name in names { try folder.write("", to: "blob-thumbnails/\(name)") }
                try #require(try test.library.thumbnail(of: asset.id, .small).origin == .generated)
            }
        }
    }

    @Test(.enabled(if: isLinux && hasVips)) func aDamagedOriginalAndANoteHaveNone() async {
        await #expect(processExitsWith: .success) {
            try Self.withCache { folder in
                let test = try TestLibrary()
                let note = try test.add(Array("note".utf8), named: "a.png")
                try #require(codeThrown { try test.library.thumbnail(of: note.id, .small) } == .unsupported)
                let asset = try test.add(Pictures.picture, named: "a.png")
                try overwrite(test.originalPath(of: asset), at: 50, with: [9])
                try #require(codeThrown { try test.library.thumbnail(of: asset.id, .small) } == .checksumMismatch)
                try #require(codeThrown { try test.library.thumbnail(of: UUID(), .small) } == .notFound)
                try #require(!FileManager.default.fileExists(atPath: folder.path("blob-thumbnails")))
            }
        }
    }
}
#endif
