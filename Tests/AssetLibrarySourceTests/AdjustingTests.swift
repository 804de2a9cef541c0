#if Photos
import BlobHelper
import BlobStreams
import BlobTestSupport
import FileSource
import Foundation
import GRDB
import Testing

@testable import AssetLibrarySource

/// The adjustments that a library keeps of its assets.
@Suite struct AdjustingTests {
    private let test: TestLibrary
    private let folder: TemporaryFolder
    private let picture = Pictures.jpeg(width: 400, height: 300, exif: nil)

    init() throws {
        self.test = try TestLibrary()
        self.folder = try TemporaryFolder()
    }

    private func add(_ name: String) throws -> Asset {
        let path = try self.folder.write(self.picture, to: name)
        return try self.test.library.importAsset(from: FileSource(path: path)).asset
    }

    private let xmp = Array(
        """
        <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description \
        xmlns:crs="http://ns.adobe.com/camera-raw-settings/1.0/" crs:Contrast2012="20"/></rdf:RDF>
        """.utf8)

    @Test func aRecipeIsKeptAndCounted() throws {
        let asset = try self.add("a.jpg")
        #expect(try self.test.library.adjustment(of: asset) == .none && asset.generation == 1)
        let recipe = AdjustmentRecipe([.orientation(6), .exposure(0.5)])
        let adjusted = try self.test.library.setAdjustment(recipe, of: asset.id)
        #expect(adjusted.generation == 2)
        #expect(try self.test.library.setAdjustment(recipe, of: asset.id).generation == 2)
        #expect(try self.test.open(.reading).adjustment(of: asset) == .renderable(recipe))
        #expect(try self.test.library.setAdjustment(nil, of: asset.id).generation == 3)
        #expect(try self.test.library.adjustment(of: asset) == .none)
        let kinds = try self.test.database { try String.fetchAll($0, sql: "SELECT kind FROM change_seq ORDER BY seq") }
        #expect(kinds == ["inserted", "changed", "changed"])
    }

    @Test func aRecipeThatDoesNotFitIsRefused() throws {
        let asset = try self.add("a.jpg")
        let crop = AdjustmentRecipe([.crop(PictureRectangle(left: 0, top: 0, width: 401, height: 1))])
        #expect(codeThrown { try self.test.library.setAdjustment(crop, of: asset.id) } == .invalidArgument)
        let text = try self.test.add(Array("text".utf8))
        #expect(codeThrown { try self.test.library.setAdjustment(crop, of: text.id) } == .unsupported)
        #expect(codeThrown { try self.test.library.setAdjustment(nil, of: UUID()) } == .notFound)
        #expect(codeThrown { try self.test.open(.reading).setAdjustment(nil, of: asset.id) } == .permissionDenied)
    }

    @Test(arguments: ["a.xmp", "a.jpg.xmp", "a.XMP", "a.AAE", "a.aae"])
    func anImportLooksBesideTheFile(sidecar: String) throws {
        try self.folder.write(sidecar.lowercased().hasSuffix("aae") ? Array("x".utf8) : self.xmp, to: sidecar)
        let asset = try self.add("a.jpg")
        let identifiers = sidecar.lowercased().hasSuffix("aae") ? ["AAE"] : ["crs:Contrast2012"]
        #expect(try self.test.library.adjustment(of: asset) == .notRenderable(identifiers))
        #expect(asset.generation == 1)
        let source = self.test.library.source(for: asset.id)
        let error = #expect(throws: BlobError.self) { try source.open() }
        #expect(error?.code == .unsupported && error?.message.contains(identifiers[0]) == true)
        #expect(codeThrown { try source.info() } == .unsupported)
        for source in [
            self.test.library.source(for: asset.id, version: .original),
            self.test.library.source(for: asset.id, unrenderable: .original),
        ] { #expect(try readAll(source.open()) == self.picture) }
        // The sidecar goes with the asset.
        try self.test.library.removeAsset(asset.id)
        #expect(try self.test.sql("SELECT count(*) FROM sidecar", Int.self) == 0)
    }

    @Test func aStoredRenderIsReadForItsAdjustmentAlone() throws {
        try self.folder.write(self.xmp, to: "a.xmp")
        let asset = try self.add("a.jpg")
        let render = try self.test.add(Array("rendered".utf8), named: "a-edited.jpg")
        let source = self.test.library.source(for: asset.id, unrenderable: .storedRender)
        #expect(codeThrown { try source.open() } == .unsupported)
        try self.test.library.setRender(render.id, of: asset.id)
        #expect(try readAll(source.open()) == Array("rendered".utf8))
        #expect(try source.info().validator == render.validator)
        #expect(codeThrown { try self.test.library.source(for: asset.id).open() } == .unsupported)
        // Another adjustment has another render.
        try self.test.library.setAdjustment(of: asset.id, sidecar: self.folder.write("x", to: "b.aae"))
        #expect(codeThrown { try source.open() } == .unsupported)
        try self.test.library.setRender(render.id, of: asset.id)
        try self.test.library.removeAsset(render.id)
        #expect(codeThrown { try source.open() } == .unsupported)
        #expect(codeThrown { try self.test.library.setRender(render.id, of: asset.id) } == .notFound)
    }

    @Test func aSidecarThatCameLaterIsTaken() throws {
        let asset = try self.add("a.jpg")
        try self.test.library.setAdjustment(of: asset.id, sidecar: self.folder.write(self.xmp, to: "later.xmp"))
        #expect(try self.test.library.adjustment(of: asset) == .notRenderable(["crs:Contrast2012"]))
        #expect(try self.test.library.asset(asset.id)?.generation == 2)
        try self.test.library.setAdjustment(of: asset.id, sidecar: self.folder.path("later.xmp"))
        #expect(try self.test.library.asset(asset.id)?.generation == 2)
        // One that is too long to be kept is not taken for none.
        let long = [UInt8](repeating: 0x20, count: MarkupElement.byteLimit + 1)
        try self.test.library.setAdjustment(of: asset.id, sidecar: self.folder.write(long, to: "long.AAE"))
        #expect(try self.test.library.adjustment(of: asset) == .notRenderable(["AAE"]))
        #expect(
            codeThrown { try self.test.library.setAdjustment(of: asset.id, sidecar: self.folder.path("a.jpg")) }
                == .invalidArgument)
        // A second import of the picture finds what is beside it now.
        try self.folder.write(Array("new".utf8), to: "a.aae")
        #expect(try self.add("a.jpg").generation == 4)
    }

    @Test func theXMPPacketInAPictureIsFound() throws {
        var jpeg = self.picture
        let segment = Array(EmbeddedXMP.packetName.utf8) + self.xmp
        jpeg.insert(contentsOf: [0xFF, 0xE1] + big(segment.count + 2, 2) + segment, at: 2)
        let text = Array("XML:com.adobe.xmp\0\0\0\0\0".utf8) + self.xmp
        var png = Pictures.png(width: 9, height: 9)
        png.insert(contentsOf: big(text.count, 4) + Array("iTXt".utf8) + text + [0, 0, 0, 0], at: 8)
        let count = self.xmp.count
        let webp =
            Array("RIFF????WEBPVP8X".utf8) + [10, 0, 0, 0, 4, 0, 0, 0, 8, 0, 0, 5, 0, 0] + Array("XMP ".utf8)
            + [UInt8(count & 0xFF), UInt8(count >> 8), 0, 0] + self.xmp
        // One directory at byte 8: width, height, and the packet behind it.
        let fields: [[UInt8]] = [
            [0x00, 1, 3, 0, 1, 0, 0, 0, 9, 0, 0, 0], [0x01, 1, 3, 0, 1, 0, 0, 0, 6, 0, 0, 0],
            [0xBC, 2, 1, 0, UInt8(count & 0xFF), UInt8(count >> 8), 0, 0, 50, 0, 0, 0],
        ]
        let tiff = [0x49, 0x49, 0x2A, 0, 8, 0, 0, 0, 3, 0] + fields.flatMap { $0 } + [0, 0, 0, 0] + self.xmp
        // A packet that is announced and cut off is no sign of an original either.
        let cut = Array(tiff.dropLast(20))
        let unreadable = try self.test.library.adjustment(of: self.test.add(cut))
        #expect(unreadable != .none && unreadable != .notRenderable(["crs:Contrast2012"]))
        for bytes in [jpeg, png, webp, tiff] {
            let asset = try self.test.add(bytes)
            #expect(try self.test.library.adjustment(of: asset) == .notRenderable(["crs:Contrast2012"]))
            // As in a library of an older version.
            try self.test.database { try $0.execute(sql: "UPDATE original SET embedded_xmp = NULL") }
            for access in [AssetLibrary.Access.reading, .writing] {
                #expect(try self.test.open(access).adjustment(of: asset) == .notRenderable(["crs:Contrast2012"]))
            }
            #expect(try self.test.sql("SELECT count(embedded_xmp) FROM original", Int.self) ?? 0 > 0)
        }
    }

    @Test func anExtendedPacketIsNoticed() throws {
        var jpeg = self.picture
        let segment =
            Array(EmbeddedXMP.extensionName.utf8) + [UInt8](repeating: 0x41, count: 40) + self.xmp.dropFirst(9)
        jpeg.insert(contentsOf: [0xFF, 0xE1] + big(segment.count + 2, 2) + segment, at: 2)
        #expect(try self.test.library.adjustment(of: self.test.add(jpeg)) == .notRenderable(["XMP"]))
    }

    @Test(arguments: ["'{'", "'{}'", "''", "x'00'"]) func aDamagedRecipeIsNotTheOriginal(value: String) throws {
        let asset = try self.add("a.jpg")
        try self.test.database {
            try $0.execute(sql: "UPDATE asset SET adjustment = CAST(\(value) AS TEXT)")
        }
        #expect(codeThrown { try self.test.library.source(for: asset.id).open() } == .unsupported)
    }

    @Test func aURLNamesTheVersion() throws {
        let asset = try self.add("a.jpg")
        let source = self.test.library.source(for: asset.id, version: .original)
        let locator = try #require(source.locator)
        #expect(locator.text.hasSuffix("&version=original"))
        #expect(try locator.assetVersion() == .original && asset.locator.assetVersion() == .current)
        #expect(codeThrown { try BlobLocator("\(asset.locator.text)&version=best").assetVersion() } == .invalidLocator)
        #expect(try locator.assetID() == asset.id)
    }

    @Test func editsAreARecipe() throws {
        var media = MediaDescription()
        (media.pixelWidth, media.pixelHeight, media.orientation) = (400, 300, 6)
        var edits = AdjustmentRecipe.Edits()
        edits.quarterTurns = -1
        #expect(try AdjustmentRecipe(edits, of: media).operations == [.orientation(1)])
        edits.straightening = 10
        let operations = try AdjustmentRecipe(edits, of: media).operations
        guard case .crop(let crop)? = operations.last else {
            Issue.record("\(operations)")
            return
        }
        // The corners of the crop, turned back, are within the picture, and within two pixels of its edge.
        let back = AffineMatrix(degrees: -10, about: (200, 150), to: (200, 150))
        let corners = [(crop.left, crop.top), (crop.left + crop.width, crop.top)].map { corner in
            let (x, y) = (Double(corner.0), Double(corner.1))
            return (back.a * x + back.c * y + back.tx, back.b * x + back.d * y + back.ty)
        }
        #expect(corners.allSatisfy { (0...400).contains($0.0) && (0...300).contains($0.1) })
        #expect((corners.map(\.1) + corners.map(\.0)).min() ?? 9 < 3)
        edits.orientation = 9
        #expect(codeThrown { try AdjustmentRecipe(edits, of: media) } == .invalidArgument)
    }
}
#endif
