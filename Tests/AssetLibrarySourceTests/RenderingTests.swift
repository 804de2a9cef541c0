#if Photos
import BlobHelper
import BlobStreams
import BlobStreamsTesting
import BlobTestSupport
import Foundation
import Testing

@testable import AssetLibrarySource

/// Rendered pictures, beside those of ImageMagick.
///
/// The bounds are in steps of 8 bits, the largest and the mean difference of a sample: those of JPEG at quality 1.
@Suite(
    .enabled(if: MediaProcessTests.hasVips, "The helper or libvips is missing."),
    .enabled(if: (try? FinishedProcess("convert", ["-version"]))?.status == 0, "ImageMagick is missing."))
struct RenderingTests {
    private let test = try? TestLibrary()
    private let folder = try? TemporaryFolder()

    /// The samples of a picture: red, green and blue of each pixel.
    private struct Pixels {
        let width: Int
        let height: Int
        let samples: [UInt8]

        /// Decodes a file, after options of `convert`.
        init(_ arguments: [String]) throws {
            let bytes = try FinishedProcess("convert", arguments + ["-depth", "8", "ppm:-"]).output
            let head = bytes.prefix(20).split(separator: UInt8(ascii: "\n"), maxSplits: 3)
            let size = String(decoding: try #require(head.dropFirst().first), as: UTF8.self).split(separator: " ")
            (self.width, self.height) = (try #require(Int(size[0])), try #require(Int(size[1])))
            self.samples = Array(bytes.suffix(self.width * self.height * 3))
        }

        /// Returns the largest and the mean difference, `border` pixels from the edges.
        func difference(from other: Pixels, border: Int = 0) throws -> (largest: Int, mean: Double) {
            try #require(self.width == other.width && self.height == other.height)
            var (largest, sum, count) = (0, 0, 0)
            for y in border..<(self.height - border) {
                for place in ((y * self.width + border) * 3)..<(((y + 1) * self.width - border) * 3) {
                    let difference = abs(Int(self.samples[place]) - Int(other.samples[place]))
                    (largest, sum, count) = (max(largest, difference), sum + difference, count + 1)
                }
            }
            return (largest, Double(sum) / Double(max(1, count)))
        }
    }

    /// A smooth picture with three landmarks: no symmetry maps it to itself.
    private func makePicture(_ name: String = "a.png", _ options: [String] = []) throws -> String {
        let path = try #require(self.folder).path(name)
        let made = try FinishedProcess(
            "convert",
            [
                "-size", "168x120", "gradient:#203040-#f0c0a0", "-fill", "#c02020", "-draw", "circle 40,30 52,30",
                "-fill",
                "#20c020", "-draw", "circle 120,40 126,40", "-fill", "#2020c0", "-draw", "circle 60,90 69,90", "-blur",
                "0x2", "-depth", "8", "-type", "TrueColor",
            ] + options + [path])
        try #require(made.status == 0, "\(made.errors)")
        return path
    }

    /// Imports a picture, sets a recipe, and returns the path of the rendered version.
    private func render(
        _ path: String, _ operations: [AdjustmentOperation], quality: Double = 1
    ) throws -> String {
        let library = try #require(self.test).library
        let asset = try library.importAsset(
            from: MemorySource(try Data(contentsOf: URL(fileURLWithPath: path))), name: "a.png"
        ).asset
        try library.setAdjustment(AdjustmentRecipe(operations), of: asset.id)
        let output = try #require(self.folder).path("rendered.jpg")
        try library.source(for: asset.id, quality: quality).write(to: URL(fileURLWithPath: output))
        return output
    }

    @Test(arguments: [0.5, -1, 2]) func aCropWithExposureIsThatOfImageMagick(exposure: Double) throws {
        let path = try self.makePicture()
        let output = try self.render(
            path, [.crop(PictureRectangle(left: 21, top: 13, width: 99, height: 71)), .exposure(exposure)])
        let expected = try Pixels([
            path, "-crop", "99x71+21+13", "+repage", "-colorspace", "RGB", "-evaluate", "multiply", "\(exp2(exposure))",
            "-colorspace", "sRGB",
        ])
        let difference = try Pixels([output]).difference(from: expected)
        #expect(difference.largest <= 6 && difference.mean <= 0.8, "\(difference)")
    }

    @Test(
        arguments: zip(
            1...8,
            [
                [], ["-flop"], ["-rotate", "180"], ["-flip"], ["-transpose"], ["-rotate", "90"], ["-transverse"],
                ["-rotate", "270"],
            ]))
    func orientationsAreThoseOfImageMagick(number: Int, options: [String]) throws {
        let path = try self.makePicture()
        // A table makes the first one more than the original.
        let output = try self.render(path, [.orientation(number), .exposure(0.5)])
        let brighter = ["-colorspace", "RGB", "-evaluate", "multiply", "\(exp2(0.5))", "-colorspace", "sRGB"]
        let difference = try Pixels([output]).difference(from: try Pixels([path] + options + brighter))
        #expect(difference.largest <= 6 && difference.mean <= 0.8, "\(difference)")
    }

    /// At the lowest quality, a picture that was encoded again would not be recognised. Colours at the
    /// edges differ, for which decoders use their neighbours.
    @Test(arguments: ["4:4:4", "4:2:0"]) func aJPEGIsTurnedAndCroppedWithoutLoss(sampling: String) throws {
        let path = try self.makePicture(
            "a.jpg", ["-resize", "160x96!", "-quality", "90", "-sampling-factor", sampling])
        let crop = PictureRectangle(left: 32, top: 16, width: 64, height: 48)
        let turns = [["-rotate", "90"], ["-rotate", "180"], ["-transverse"], ["-crop", "64x48+32+16", "+repage"]]
        for (number, options) in zip([6, 3, 7, 1], turns) {
            let operations = number == 1 ? [.crop(crop)] : [AdjustmentOperation.orientation(number)]
            let output = try self.render(path, operations, quality: 0.01)
            let difference = try Pixels([output]).difference(from: try Pixels([path] + options), border: 2)
            #expect(difference.largest <= 8 && difference.mean <= 0.5, "\(number): \(difference)")
        }
        let both = try self.render(path, [.crop(crop), .orientation(8)], quality: 0.01)
        let expected = try Pixels([path, "-crop", "64x48+32+16", "+repage", "-rotate", "270"])
        let difference = try Pixels([both]).difference(from: expected, border: 2)
        #expect(difference.largest <= 8 && difference.mean <= 0.5, "\(difference)")
    }

    @Test func aJPEGWhoseBlocksDoNotFitIsEncodedAgain() throws {
        let path = try self.makePicture("a.jpg", ["-resize", "165x97!", "-quality", "95", "-sampling-factor", "4:2:0"])
        let output = try self.render(path, [.orientation(3)])
        let difference = try Pixels([output]).difference(from: try Pixels([path, "-rotate", "180"]))
        #expect(difference.largest <= 8 && difference.mean <= 0.8, "\(difference)")
        let crop = PictureRectangle(left: 3, top: 5, width: 99, height: 71)
        let cropped = try Pixels([try self.render(path, [.crop(crop)])])
        #expect(try cropped.difference(from: try Pixels([path, "-crop", "99x71+3+5", "+repage"])).mean <= 0.8)
    }

    @Test(arguments: [-7.5, 3, 30]) func aStraightenedPictureIsThatOfImageMagick(degrees: Double) throws {
        let path = try self.makePicture()
        let centre = (x: 84.0, y: 60.0)
        let matrix = AffineMatrix(degrees: degrees, about: centre, to: centre)
        let numbers = [matrix.a, matrix.b, matrix.c, matrix.d, matrix.tx, matrix.ty].map { "\($0)" }
        let projected = try Pixels([
            path, "-virtual-pixel", "black", "-filter", "Catrom", "-distort", "AffineProjection",
            numbers.joined(separator: ","),
        ])
        let output = try self.render(path, [.straighten(degrees: degrees)])
        // A circle around the centre is inside of both; filters differ at the edge of the picture.
        let crop = ["-gravity", "center", "-crop", "70x70+0+0", "+repage"]
        let expected = try Pixels(
            [
                path, "-virtual-pixel", "black", "-filter", "Catrom", "-distort", "AffineProjection",
                numbers.joined(separator: ","),
            ] + crop)
        #expect(projected.width == 168)
        let difference = try Pixels([output] + crop).difference(from: expected)
        #expect(difference.largest <= 8 && difference.mean <= 0.8, "\(difference)")
    }

    @Test func anAffineTransformationMovesTheLandmarks() throws {
        let path = try self.makePicture()
        let matrix = AffineMatrix(a: 1.5, b: 0.25, c: -0.5, d: 1.25, tx: 10, ty: -20)
        let output = try self.render(path, [.affine(matrix, width: 240, height: 150)])
        let pixels = try Pixels([output])
        // The red, green and blue centres, by hand; each sample is the strongest there.
        for (channel, (x, y)) in [(40.0, 30.0), (120.0, 40.0), (60.0, 90.0)].enumerated() {
            let (column, row) = (Int(1.5 * x - 0.5 * y + 10), Int(0.25 * x + 1.25 * y - 20))
            let place = (row * 240 + column) * 3
            let samples = pixels.samples[place..<(place + 3)]
            #expect(samples.max() == samples[place + channel] && samples[place + channel] > 0xA0, "\(Array(samples))")
        }
        #expect(pixels.samples.suffix(3).allSatisfy { $0 <= 2 })
    }

    @Test(.enabled(if: (try? FinishedProcess("exiftool", ["-ver"]))?.status == 0, "exiftool is missing."))
    func theMetadataStayAndTheAdjustmentGoes() throws {
        let thumbnail = try self.makePicture("thumb.jpg", ["-resize", "16x12"])
        let path = try self.makePicture("a.jpg")
        let made = try FinishedProcess(
            "exiftool",
            [
                "-q", "-overwrite_original", "-Make=Maker", "-Orientation#=6", "-DateTimeOriginal=2024:05:01 12:30:59",
                "-ExifImageWidth=168", "-XMP-dc:Title=Kept", "-XMP-crs:HasCrop=True", "-XMP-crs:CropLeft=0.25",
                "-XMP-crs:CropTop=0.1", "-XMP-crs:CropRight=0.75", "-XMP-crs:CropBottom=0.9",
                "-XMP-tiff:Orientation#=6",
                "-ThumbnailImage<=\(thumbnail)", path,
            ])
        try #require(made.status == 0, "\(made.errors)")
        let library = try #require(self.test).library
        let asset = try library.importAsset(from: MemorySource(try Data(contentsOf: URL(fileURLWithPath: path)))).asset
        let crop = PictureRectangle(left: 42, top: 12, width: 84, height: 96)
        try library.setAdjustment(AdjustmentRecipe([.crop(crop), .orientation(6)]), of: asset.id)
        let output = try #require(self.folder).path("rendered.jpg")
        try library.source(for: asset.id).write(to: URL(fileURLWithPath: output))
        let text = try FinishedProcess("exiftool", ["-G1", "-s", "-n", output]).outputText
        let facts = Dictionary(
            text.split(separator: "\n").map { line in
                let parts = line.split(separator: ":", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
                return (String(parts[0].split(separator: " ").joined(separator: " ")), parts[1])
            }, uniquingKeysWith: { first, _ in first })
        #expect(facts["[IFD0] Make"] == "Maker" && facts["[ExifIFD] DateTimeOriginal"] == "2024:05:01 12:30:59")
        #expect(facts["[XMP-dc] Title"] == "Kept" && facts["[IFD0] Orientation"] == "1")
        #expect(facts["[File] ImageWidth"] == "96" && facts["[File] ImageHeight"] == "84")
        #expect(facts["[ExifIFD] ExifImageWidth"] == "96", "\(text)")
        #expect(!text.contains("crs") && !text.contains("XMP-tiff") && !text.contains("Thumbnail"), "\(text)")
    }

    /// A decoder of HEIF cuts, turns and mirrors the picture itself. The landmark is a white rectangle.
    @Test(
        arguments: [
            ("turned", PictureSize(width: 96, height: 64), 5, (64, 96), (12, 18)),
            ("cut-and-turned", PictureSize(width: 40, height: 30), 7, (30, 40), (20, 24)),
        ])
    func aTurnedHEIFIsTurnedOnce(
        name: String, stored: PictureSize, orientation: Int, shown: (Int, Int), centre: (Int, Int)
    ) throws {
        let path = fixture("\(name).heic", of: "AssetLibrarySourceTests").path
        let media = MediaDescription(HeaderBytes(try readFile(path)))
        #expect(media.pixelWidth == stored.width && media.pixelHeight == stored.height)
        #expect(media.orientation == orientation)
        // Coding blurs the edges of the rectangle; turned twice or not at all, it would be elsewhere by far.
        let pixels = try Pixels([try self.render(path, [.exposure(-1)])])
        #expect((pixels.width, pixels.height) == shown)
        let light = (0..<(pixels.width * pixels.height)).filter { place in
            pixels.samples[(place * 3)..<(place * 3 + 3)].allSatisfy { $0 > 140 }
        }
        let (columns, rows) = (light.map { $0 % pixels.width }, light.map { $0 / pixels.width })
        try #require(!light.isEmpty)
        #expect(abs(columns.reduce(0, +) / light.count - centre.0) <= 3, "\(columns)")
        #expect(abs(rows.reduce(0, +) / light.count - centre.1) <= 3, "\(rows)")
    }

    @Test func aRenderedAssetMeetsTheContractsOfSources() throws {
        let library = try #require(self.test).library
        let bytes = try Data(contentsOf: URL(fileURLWithPath: try self.makePicture()))
        let asset = try library.importAsset(from: MemorySource(bytes), name: "IMG.png").asset
        try library.setAdjustment(AdjustmentRecipe([.exposure(1)]), of: asset.id)
        let source = library.source(for: asset.id)
        let info = try source.info()
        #expect(info.name == "IMG.jpg" && info.mediaType == "image/jpeg" && info.validator != asset.validator)
        let all = try readAll(source.open())
        #expect(Int64(all.count) == info.byteCount && all.starts(with: [0xFF, 0xD8, 0xFF]))
        for offset in [1, all.count - 1, all.count] {
            #expect(try readAll(source.open(at: Int64(offset))) == Array(all[offset...]))
        }
        #expect(try library.source(for: asset.id, quality: 0.5).info().validator != info.validator)
        #expect(try Array(library.source(for: asset.id, version: .original).data(upTo: 1 << 20)) == Array(bytes))
        // Another recipe is another content, and the first one again the first content.
        try library.setAdjustment(AdjustmentRecipe([.exposure(2)]), of: asset.id)
        #expect(try source.info().validator != info.validator)
        #expect(codeThrown { try source.open(matching: info.validator) } == .changed)
        try library.setAdjustment(AdjustmentRecipe([.exposure(1)]), of: asset.id)
        #expect(try source.info() == info)
    }

    @Test func aPictureThatIsTooLongToBeKeptIsRenderedTwice() throws {
        let library = try #require(self.test).library
        let bytes = try Data(contentsOf: URL(fileURLWithPath: try self.makePicture()))
        let asset = try library.importAsset(from: MemorySource(bytes)).asset
        try library.setAdjustment(AdjustmentRecipe([.exposure(1)]), of: asset.id)
        let kept = try readAll(library.source(for: asset.id).open())
        library.renditions.byteLimit = kept.count - 1
        // Another quality, and back: the last rendition is no longer kept.
        _ = try library.source(for: asset.id, quality: 0.5).info()
        let source = library.source(for: asset.id)
        #expect(try source.info().byteCount == Int64(kept.count))
        for offset in [0, 1, kept.count / 2, kept.count] {
            #expect(try readAll(source.open(at: Int64(offset))) == Array(kept[offset...]))
        }
    }

    @Test func aDamagedOriginalIsNotRendered() throws {
        let test = try #require(self.test)
        let bytes = try Data(contentsOf: URL(fileURLWithPath: try self.makePicture()))
        let asset = try test.library.importAsset(from: MemorySource(bytes)).asset
        try test.library.setAdjustment(AdjustmentRecipe([.exposure(1)]), of: asset.id)
        try overwrite(test.originalPath(of: asset), at: 60, with: [9, 9, 9])
        #expect(codeThrown { try test.library.source(for: asset.id).open() } == .checksumMismatch)
    }

    @Test func aPictureThatCannotBeDecodedIsATypedError() throws {
        let library = try #require(self.test).library
        // It has a size, and no pixels.
        let asset = try library.importAsset(from: MemorySource(Data(Pictures.png(width: 30, height: 20)))).asset
        try library.setAdjustment(AdjustmentRecipe([.exposure(1)]), of: asset.id)
        #expect(codeThrown { try library.source(for: asset.id).open() } == .corrupted)
    }
}
#endif
