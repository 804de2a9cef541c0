#if Photos
import BlobStreams
import BlobTestSupport
import Foundation
import Testing

@testable import AssetLibrarySource

/// Shotwell's adjustments as they are rendered here, beside what Shotwell exported.
@Suite(
    .enabled(if: MediaProcessTests.hasVips, "The helper or libvips is missing."),
    .enabled(if: (try? FinishedProcess("compare", ["-version"]))?.status == 0, "ImageMagick is missing."))
struct ShotwellRenderingTests {
    /// Both are JPEG, at 93 and at 90; pixels that are moved by one give less than 25 dB.
    @Test(arguments: [("p1.jpg", "p1-exported.jpg"), ("p2.jpg", "p2-exported.jpg")])
    func aPictureIsTheOneThatShotwellExports(name: String, exported: String) async throws {
        let folder = try TemporaryFolder()
        let path = try ManagerFixtures.database("photo.db", in: folder)
        let catalogue = try AssetLibrary.catalogue(at: URL(fileURLWithPath: path))
        let asset = try #require(try catalogue.list().first { $0.name == name })
        let bytes = try await catalogue.source(for: asset.id).data(upTo: 1 << 20)
        try folder.write([UInt8](bytes), to: "ours.jpg")
        let upright = folder.path("upright.png")
        let source = ManagerFixtures.folder.appendingPathComponent(exported).path
        #expect(try FinishedProcess("convert", [source, "-auto-orient", upright]).status == 0)
        let compared = try FinishedProcess(
            "compare", ["-metric", "PSNR", folder.path("ours.jpg"), upright, "null:"])
        let decibels = try #require(Double(compared.errors), "\(compared.errors)")
        #expect(decibels > 35)
        // The original is what it was.
        let original = try await catalogue.source(for: asset.id, version: .original).data(upTo: 1 << 20)
        let expected = try Data(contentsOf: folder.url(name))
        #expect(original == expected)
    }
}
#endif
