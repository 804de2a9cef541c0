#if Photos
import BlobHelper
import BlobStreams
import BlobTestSupport
import Foundation
import HelperExchange
import Testing

@testable import AssetLibrarySource

/// Pictures of which a part is missing: decoders put grey pixels there unless they are told not to.
@Suite(
    .enabled(if: MediaProcessTests.hasVips, "The helper or libvips is missing."),
    .enabled(if: (try? FinishedProcess("convert", ["-version"]))?.status == 0, "ImageMagick is missing."))
struct DamagedPictureTests {
    private let test = try? TestLibrary()
    private let folder = try? TemporaryFolder()

    /// The file of a noisy picture of 160 x 96 pixels.
    private func picture(_ name: String, _ options: [String] = []) throws -> [UInt8] {
        let path = try #require(self.folder).path(name)
        let made = try FinishedProcess(
            "convert",
            ["-seed", "1", "-size", "160x96", "plasma:red-blue", "-depth", "8", "-type", "TrueColor"] + options + [path]
        )
        try #require(made.status == 0, "\(made.errors)")
        return Array(try Data(contentsOf: URL(fileURLWithPath: path)))
    }

    /// A TIFF whose directory comes before its pixels; ImageMagick writes it behind them.
    private func tiff() throws -> [UInt8] {
        let pixels = Array(try self.picture("a.rgb"))
        try #require(pixels.count == 160 * 96 * 3)
        let small = { (number: Int, byteCount: Int) in [UInt8](big(number, byteCount).reversed()) }
        let start = 8 + 2 + 9 * 12 + 4
        let fields = [
            (256, 160), (257, 96), (258, 8), (259, 1), (262, 2), (273, start), (277, 3), (278, 96), (279, pixels.count),
        ]
        var bytes: [UInt8] = [0x49, 0x49, 0x2A, 0] + small(8, 4) + small(fields.count, 2)
        for (tag, value) in fields { bytes += small(tag, 2) + small(4, 2) + small(1, 4) + small(value, 4) }
        return bytes + small(0, 4) + pixels
    }

    /// The error of the picture with an adjustment.
    private func error(_ bytes: [UInt8], _ name: String, _ operations: [AdjustmentOperation]) throws -> BlobError? {
        let library = try #require(self.test).library
        let asset = try library.importAsset(from: MemorySource(Data(bytes)), name: name).asset
        try library.setAdjustment(AdjustmentRecipe(operations), of: asset.id)
        return #expect(throws: BlobError.self, "\(name) \(operations)") { try library.source(for: asset.id).open() }
    }

    private func formats() throws -> [(name: String, bytes: [UInt8])] {
        [
            ("a.jpg", try self.picture("a.jpg")),
            ("progressive.jpg", try self.picture("p.jpg", ["-interlace", "JPEG"])),
            ("a.png", try self.picture("a.png")), ("interlaced.png", try self.picture("i.png", ["-interlace", "PNG"])),
            ("a.webp", try self.picture("a.webp")), ("a.heic", try self.picture("a.heic")), ("a.tif", try self.tiff()),
        ]
    }

    @Test func aPictureThatIsCutShortIsNotRendered() throws {
        for (name, bytes) in try self.formats() {
            // The first is done row by row, the second without decoding a JPEG, if its blocks are whole.
            for operation in [AdjustmentOperation.exposure(1), .orientation(6)] {
                let error = try self.error(Array(bytes.prefix(bytes.count / 2)), name, [operation])
                #expect(error?.code == .truncated, "\(name): \(String(describing: error))")
            }
        }
    }

    @Test func aPictureThatIsCutShortHasNoThumbnail() async throws {
        let formats = try self.formats()
        let folder = try #require(self.folder)
        try await onThread {
            for (name, bytes) in formats {
                let path = try folder.write(Array(bytes.prefix(bytes.count / 2)), to: "half-\(name)")
                let process = try MediaProcess(for: .pictures, BlobContext())
                let file = open(path, O_RDONLY | O_CLOEXEC)
                defer { close(file) }
                #expect(codeThrown { try process.thumbnail(of: file, size: 64) } == .truncated, "\(name)")
            }
        }
    }

    /// The marker of the end in the middle: decoders only warn of what is missing.
    @Test func aJPEGThatEndsWithinItsPixelsIsNotRendered() throws {
        let bytes = try self.picture("a.jpg")
        for operation in [AdjustmentOperation.exposure(1), .orientation(6)] {
            let error = try self.error(bytes.prefix(bytes.count / 2) + [0xFF, 0xD9], "a.jpg", [operation])
            #expect(error?.code == .truncated)
        }
    }

    /// Cameras write such files, and nothing of the picture is missing.
    @Test func bytesBeforeTheEndOfAJPEGAreNoDamage() throws {
        let library = try #require(self.test).library
        let bytes = try self.picture("a.jpg").dropLast(2) + [0x12, 0x34, 0xFF, 0xD9]
        let asset = try library.importAsset(from: MemorySource(Data(bytes)), name: "a.jpg").asset
        for operation in [AdjustmentOperation.exposure(1), .orientation(6)] {
            try library.setAdjustment(AdjustmentRecipe([operation]), of: asset.id)
            #expect(try readAll(library.source(for: asset.id).open()).starts(with: [0xFF, 0xD8]))
        }
    }
}
#endif
