#if Photos
import BlobCore
import BlobHelper
import BlobTestSupport
import Foundation
import Testing

@testable import AssetLibrarySource

/// The adjustments that recipes, sidecars and XMP packets describe, and the damage that they survive.
@Suite struct AdjustmentDetectionTests {
    private static let fixtures = ["aas.xmp", "crs.xmp"]

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

    @Test func adjustmentsOfOtherProgramsAreKnownAndNotRendered() throws {
        let names =
            ["A", "B", "C", "D", "X", "Y"].map { "aas:Affine\($0)" } + ["H", "W", "X", "Y"].map { "aas:Crop\($0)" }
        #expect(self.detected(try libraryFixture("aas.xmp")) == .notRenderable(names))
        #expect(
            self.detected(try libraryFixture("crs.xmp")) == .notRenderable(["crs:Exposure2012", "crs:HasCrop"]))
        #expect(
            self.detected(Self.xmp(#"a:CropX="1" c:Contrast2012="2""#))
                == .notRenderable(["aas:CropX", "crs:Contrast2012"]))
        for aae in [[], Array("x".utf8)] {
            let found = AdjustmentDescriptions(sidecars: [.aae: aae]).adjustment(of: Self.picture(9, 9))
            #expect(found == .notRenderable(["AAE"]))
        }
        #expect(self.detected([]) == .notRenderable(["XMP"]))
    }

    @Test(arguments: [
        #"c:AlreadyApplied="True" c:Exposure2012="1" c:Contrast2012="9""#, #"c:HasCrop="False" c:CropLeft="0.5""#,
        #"c:Vibrance="0" c:WhiteBalance="As Shot" c:Exposure2012="0.00""#, "",
    ])
    func settingsWithoutAnEffectAreNoAdjustment(properties: String) {
        #expect(self.detected(Self.xmp(properties)) == .none)
    }

    @Test(arguments: [
        (#"c:Contrast2012="20" c:Exposure2012="1""#, ["crs:Contrast2012", "crs:Exposure2012"]),
        (#"c:Future="x""#, ["crs:Future"]), (#"c:Exposure2012="much""#, ["crs:Exposure2012"]),
        (#"c:Exposure2012="1" q:c="x""#, ["XMP"]), (#"c:HasCrop="True" c:CropLeft="0.9""#, ["crs:HasCrop"]),
    ])
    func anUnknownSettingIsNeverSilentlyLeftOut(properties: String, identifiers: [String]) {
        #expect(self.detected(Self.xmp(properties)) == .notRenderable(identifiers))
    }

    /// An element without a text whose attributes are the fields of a structure.
    @Test func aStructureIsNoEmptyText() {
        let adjusted = { self.detected(Self.xmp("", $0)) }
        #expect(adjusted(#"<c:Look c:Name="Modern"/>"#) == .notRenderable(["crs:Look"]))
        #expect(adjusted(#"<c:Look rdf:resource="modern"/>"#) == .notRenderable(["crs:Look"]))
        #expect(adjusted(#"<c:Look xml:lang="x-default"/>"#) == .none)
    }

    @Test func ofTwoValuesTheHarmlessOneIsNotTaken() {
        let two = Self.xmp(#"c:AlreadyApplied="True" c:Exposure2012="1""#, "<c:AlreadyApplied>False</c:AlreadyApplied>")
        #expect(self.detected(two) == .notRenderable(["crs:Exposure2012"]))
    }

    @Test func ourRecipeComesFirst() throws {
        var descriptions = AdjustmentDescriptions(sidecars: [.xmp: Self.xmp(#"c:Future="x""#)])
        descriptions.recipe = AdjustmentRecipe([.exposure(2)]).canonicalBytes
        #expect(descriptions.adjustment(of: Self.picture(9, 9)) == .renderable(AdjustmentRecipe([.exposure(2)])))
        descriptions.recipe = Array("{}".utf8)
        #expect(descriptions.adjustment(of: Self.picture(9, 9)) == .notRenderable(["org.blobstreams.adjustment"]))
    }

    @Test(arguments: fixtures) func noDamageEndsTheProcessOrHidesTheAdjustment(name: String) throws {
        let file = try libraryFixture(name)
        let picture = Self.picture(4032, 3024)
        for count in file.indices {
            let found = AdjustmentDescriptions(sidecars: [.xmp: Array(file[..<count])]).adjustment(of: picture)
            // Only padding is cut off at the end; before the name of the namespace, nothing is known of an adjustment.
            let isKnown = XMPPacket.mentionsAdjustments(Array(file[..<count]))
            #expect(!isKnown || found != .none, "\(count)")
        }
        for other in file.copiesWithAFlippedBit {
            _ = AdjustmentDescriptions(sidecars: [.xmp: other]).adjustment(of: picture)
        }
    }
}
#endif
