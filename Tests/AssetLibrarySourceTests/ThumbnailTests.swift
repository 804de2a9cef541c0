import BlobStreams
import BlobTestSupport
import CryptoDigest
import Foundation
import Testing

@testable import AssetLibrarySource

/// Small pictures, and the caches in which they are found. The variable of the cache folder is one for all tests.
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
                try #require(made.origin == .made)
                try #require(MediaDescription(HeaderBytes(Array(made.bytes))).pixelWidth == 4)
                let found = try test.library.thumbnail(of: asset.id, .small, helper: "/nowhere")
                try #require(found.origin == .cache && found.bytes == made.bytes)
                // Each size is a file of its own; the digest names it.
                _ = try test.library.thumbnail(of: asset.id, .large)
                let names = try FileManager.default.contentsOfDirectory(atPath: folder.path("blob-thumbnails"))
                try #require(names.count == 2 && names.allSatisfy { $0.hasPrefix(asset.sha256.hexadecimal) })
                // Nothing but a JPEG is taken from there.
                for name in names { try folder.write("", to: "blob-thumbnails/\(name)") }
                try #require(try test.library.thumbnail(of: asset.id, .small).origin == .made)
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

    /// A PNG of the full size whose texts name the file and its time; `change` makes it one of another file.
    @Test(.enabled(if: isLinux), arguments: ["", "uri", "time", "size", "content"])
    func theDesktopsIsTakenIfItFits(change: String) async {
        await #expect(processExitsWith: .success) { [change] in
            try Self.withCache { folder in
                let test = try TestLibrary()
                let asset = try test.add(Pictures.picture, named: "a.png")
                let path = try test.originalPath(of: asset)
                let uri = "file://\(path)"
                let time = try FileManager.default.attributesOfItem(atPath: path)[.modificationDate] as? Date
                let seconds = Int64((time ?? .distantPast).timeIntervalSince1970)
                let chunk = { (type: String, content: [UInt8]) in
                    big(content.count, 4) + type.utf8 + content + [0, 0, 0, 0]
                }
                let head =
                    Array(Pictures.picture.prefix(8))
                    + chunk("IHDR", big(change == "size" ? 255 : 256, 4) + big(9, 4) + [8, 2, 0, 0, 0])
                let texts = [
                    "Thumb::URI\0\(change == "uri" ? "file:///x" : uri)",
                    "Thumb::MTime\0\(change == "time" ? 0 : seconds)",
                ]
                let png = head + texts.flatMap { chunk("tEXt", Array($0.utf8)) } + chunk("IEND", [])
                var hasher = CryptoDigest.md5.makeHasher()
                Array(uri.utf8).withUnsafeBytes { hasher.update($0) }
                try FileManager.default.createDirectory(
                    atPath: folder.path("thumbnails/large"), withIntermediateDirectories: true)
                try folder.write(png, to: "thumbnails/large/\(hasher.finalize().hexadecimal).png")
                if change == "content" {
                    try overwrite(path, at: 50, with: [9])
                    try FileManager.default.setAttributes([.modificationDate: time as Any], ofItemAtPath: path)
                }
                let found = Result { try test.library.thumbnail(of: asset.id, .small, helper: "/nowhere") }
                if change.isEmpty {
                    try #require(
                        try found.get().origin == .desktop && Array(found.get().bytes) == head + chunk("IEND", []))
                } else {
                    try #require(codeThrown { try found.get() } == .unavailable)
                }
            }
        }
    }
}
