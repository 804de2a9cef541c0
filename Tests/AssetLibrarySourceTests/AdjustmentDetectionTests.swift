import BlobCore
import BlobTestSupport
import Foundation
import Testing

@testable import AssetLibrarySource

/// The adjustments that recipes, sidecars and XMP packets describe, and the damage that they survive.
@Suite struct AdjustmentDetectionTests {
    private static let fixtures = ["aas.xmp", "crs.xmp", "crop.aae", "crop-binary.aae"]

    static func fixture(_ name: String) throws -> [UInt8] {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Fixtures")
        return try Array(Data(contentsOf: folder.appendingPathComponent(name)))
    }

    private static func picture(_ width: Int, _ height: Int, orientation: Int = 1) -> DecodedPicture {
        var media = MediaDescription()
        (media.pixelWidth, media.pixelHeight, media.orientation) = (width, height, orientation)
        return DecodedPicture(media)
    }

    private static func xmp(_ properties: String, _ more: String = "") -> [UInt8] {
        Array(
            """
            <x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">\
            <rdf:Description xmlns:a="http://ns.apple.com/adjustment-settings/1.0/" \
            xmlns:c="http://ns.adobe.com/camera-raw-settings/1.0/" \(properties)>\(more)</rdf:Description>\
            </rdf:RDF></x:xmpmeta>
            """.utf8)
    }

    private func detected(_ xmp: [UInt8], _ picture: DecodedPicture = picture(100, 50)) -> Adjustment {
        AdjustmentDescriptions(sidecars: [.xmp: xmp]).adjustment(of: picture)
    }

    /// The user who published these values found the correct crop about 200 pixels to the left of (331, 161), in a
    /// picture that is turned by a quarter.
    @Test func theCropOfAnOldPhoneIsMeasuredFromTheBottom() throws {
        let adjustment = self.detected(try Self.fixture("aas.xmp"), Self.picture(2592, 1936, orientation: 6))
        let crop = PictureRectangle(left: 331, top: 355, width: 1938, height: 1420)
        #expect(
            adjustment == .renderable(AdjustmentRecipe([.crop(crop), .orientation(6)]), isExact: true))
        guard case .renderable(let recipe, _) = adjustment else { return }
        let plan = try RenderPlan(recipe, for: PictureSize(width: 2592, height: 1936))
        #expect(plan.size == PictureSize(width: 1420, height: 1938))
    }

    @Test func aTurnOfAnOldPhoneIsAnAffineTransformation() throws {
        // A quarter counterclockwise in coordinates that point upwards: x' = -y + 50, y' = x.
        let adjustment = self.detected(
            Self.xmp(#"a:AffineA="0" a:AffineB="1" a:AffineC="-1" a:AffineD="0" a:AffineX="50" a:AffineY="0""#))
        let matrix = AffineMatrix(a: 0, b: -1, c: 1, d: 0, tx: 0, ty: 100)
        #expect(
            adjustment
                == .renderable(
                    AdjustmentRecipe([.affine(matrix, width: 50, height: 100), .orientation(1)]), isExact: false))
    }

    @Test func theCropAndTheExposureOfAdobeAreRead() throws {
        let crop = PictureRectangle(left: 25, top: 5, width: 50, height: 40)
        #expect(
            self.detected(try Self.fixture("crs.xmp"))
                == .renderable(AdjustmentRecipe([.crop(crop), .exposure(0.5), .orientation(1)]), isExact: true))
        #expect(
            self.detected(Self.xmp(#"c:Exposure2012="-1.25" c:Vibrance="0" c:WhiteBalance="As Shot""#))
                == .renderable(AdjustmentRecipe([.exposure(-1.25), .orientation(1)]), isExact: true))
        #expect(self.detected(Self.xmp(#"c:Exposure2012="1" c:AlreadyApplied="True" c:Contrast2012="9""#)) == .none)
        #expect(self.detected(Self.xmp(#"c:HasCrop="False" c:CropLeft="0.5""#)) == .none)
    }

    @Test func aTurnedCropOfAdobeKeepsItsCorners() throws {
        // A square of 30 pixels, turned by 45 degrees about the centre: the given corners are above each other.
        let half = 15 * 2.0.squareRoot()
        let corners = (25 - half) / 50
        let adjustment = self.detected(
            Self.xmp(
                "c:HasCrop='True' c:CropLeft='0.5' c:CropRight='0.5' c:CropTop='\(corners)' c:CropBottom='\(1 - corners)' "
                    + "c:CropAngle='45'"))
        guard case .renderable(let recipe, false) = adjustment,
            case .affine(let matrix, 30, 30)? = recipe.operations.first
        else {
            Issue.record("\(adjustment)")
            return
        }
        let corner = (
            matrix.c * (25 - half) + matrix.a * 50 + matrix.tx, matrix.d * (25 - half) + matrix.b * 50 + matrix.ty
        )
        #expect(abs(corner.0) < 1e-9 && abs(corner.1) < 1e-9)
    }

    @Test(arguments: [
        (#"a:CropX="0""#, ["aas:CropX"]), (#"a:Vibrance="0.3" a:CropX="1""#, ["aas:Vibrance"]),
        (#"c:Contrast2012="20" c:Exposure2012="1""#, ["crs:Contrast2012"]),
        (#"c:Future="x""#, ["crs:Future"]), (#"c:Exposure2012="much""#, ["crs:Exposure2012"]),
        (#"c:Exposure2012="1e3""#, ["XMP"]), (#"c:Exposure2012="1" q:c="x""#, ["XMP"]),
        (
            #"c:HasCrop="True" c:CropLeft="0.9" c:CropRight="0.1" c:CropTop="0" c:CropBottom="1""#,
            ["crs:CropLeft", "crs:CropTop", "crs:CropRight", "crs:CropBottom"]
        ),
    ])
    func anUnknownSettingIsNeverSilentlyLeftOut(properties: String, identifiers: [String]) {
        #expect(self.detected(Self.xmp(properties)) == .notRenderable(identifiers))
    }

    /// An element without a text whose attributes are the fields of a structure.
    @Test func aStructureIsNoEmptyText() {
        let adjusted = { self.detected(Self.xmp(#"c:Exposure2012="1""#, $0)) }
        #expect(adjusted(#"<c:Look c:Name="Modern"/>"#) == .notRenderable(["crs:Look"]))
        #expect(adjusted(#"<c:Look rdf:resource="modern"/>"#) == .notRenderable(["crs:Look"]))
        let exposure = Adjustment.renderable(AdjustmentRecipe([.exposure(1), .orientation(1)]), isExact: true)
        #expect(adjusted(#"<c:Look xml:lang="x-default"/>"#) == exposure)
    }

    @Test func ofTwoValuesNoneIsTaken() {
        let two = Self.xmp(#"c:Exposure2012="1""#, "<c:Exposure2012>2</c:Exposure2012>")
        #expect(self.detected(two) == .notRenderable(["XMP"]))
    }

    @Test(arguments: ["crop.aae", "crop-binary.aae"])
    func aCropOfApplesPhotosIsRendered(name: String) throws {
        let descriptions = AdjustmentDescriptions(sidecars: [.aae: try Self.fixture(name)])
        let crop = PictureRectangle(left: 100, top: 252, width: 3832, height: 2520)
        #expect(
            descriptions.adjustment(of: Self.picture(4032, 3024, orientation: 6))
                == .renderable(AdjustmentRecipe([.crop(crop), .orientation(6)]), isExact: false))
        // Not in the middle of a picture of this height: the direction of the axis would matter.
        #expect(descriptions.adjustment(of: Self.picture(4032, 3200)) == .notRenderable(["Crop"]))
    }

    @Test func ourRecipeComesFirstAndPassesThroughAnAAEFile() throws {
        let recipe = AdjustmentRecipe([.exposure(1), .orientation(3)])
        let data = Data(recipe.canonical).base64EncodedString()
        let aae = """
            <plist version="1.0"><dict><key>adjustmentFormatIdentifier</key><string>org.blobstreams.adjustment</string>\
            <key>adjustmentData</key><data>\(data)</data></dict></plist>
            """
        var descriptions = AdjustmentDescriptions(sidecars: [.aae: Array(aae.utf8), .xmp: Self.xmp(#"c:Future="x""#)])
        #expect(descriptions.adjustment(of: Self.picture(9, 9)) == .renderable(recipe, isExact: true))
        descriptions.recipe = AdjustmentRecipe([.exposure(2)]).canonical
        #expect(
            descriptions.adjustment(of: Self.picture(9, 9))
                == .renderable(AdjustmentRecipe([.exposure(2)]), isExact: true))
        descriptions.recipe = Array("{}".utf8)
        #expect(descriptions.adjustment(of: Self.picture(9, 9)) == .notRenderable(["org.blobstreams.adjustment"]))
        #expect(
            AdjustmentDescriptions(sidecars: [.aae: []]).adjustment(of: Self.picture(9, 9)) == .notRenderable(["AAE"]))
        #expect(
            AdjustmentDescriptions(sidecars: [.xmp: []]).adjustment(of: Self.picture(9, 9)) == .notRenderable(["XMP"]))
    }

    @Test func adjustmentDataThatInflateToMuchAreALimit() throws {
        // A block of one zero byte, and matches of 258 bytes at a distance of 1: 5 MiB of zeros in 5 KiB.
        let bomb = try Self.fixture("bomb.deflate")
        #expect(codeThrown { try AppleAdjustmentData.inflate(bomb) } == .limitExceeded)
        #expect(codeThrown { try AppleAdjustmentData.inflate(Array(bomb.dropLast(bomb.count / 2))) } == .truncated)
    }

    @Test(arguments: fixtures) func noDamageEndsTheProcessOrHidesTheAdjustment(name: String) throws {
        let file = try Self.fixture(name)
        let kind: AdjustmentDescriptions.SidecarKind = name.hasSuffix("xmp") ? .xmp : .aae
        let picture = Self.picture(4032, 3024)
        for count in file.indices {
            let found = AdjustmentDescriptions(sidecars: [kind: Array(file[..<count])]).adjustment(of: picture)
            // Only padding is cut off at the end; before the name of the namespace, nothing is known of an adjustment.
            let isKnown = kind == .aae || EmbeddedXMP.mentionsAdjustments(Array(file[..<count]))
            #expect(!isKnown || found != .none, "\(count)")
        }
        for index in file.indices {
            for bit in 0..<8 {
                var other = file
                other[index] ^= 1 << bit
                _ = AdjustmentDescriptions(sidecars: [kind: other]).adjustment(of: picture)
            }
        }
    }
}
