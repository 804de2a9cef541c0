#if Photos
import BlobCore
import BlobHelper
import BlobTestSupport
import Foundation
import Testing

@testable import AssetLibrarySource

/// The metadata of rendered pictures, and damage in them.
@Suite struct RenderedHeaderTests {
    private static let xmp = Array(
        """
        <x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">\
        <rdf:Description xmlns:crs="http://ns.adobe.com/camera-raw-settings/1.0/" \
        xmlns:tiff="http://ns.adobe.com/tiff/1.0/" xmlns:dc="http://purl.org/dc/elements/1.1/" \
        crs:Exposure2012="1" tiff:Orientation="6" dc:format="image/jpeg"><crs:ToneCurvePV2012><rdf:Seq>\
        <rdf:li>0, 0</rdf:li></rdf:Seq></crs:ToneCurvePV2012></rdf:Description></rdf:RDF></x:xmpmeta>
        """.utf8)

    private static let picture: [UInt8] = {
        var jpeg = Pictures.jpeg(width: 40, height: 30, exif: Pictures.tiff(isBigEndian: false, size: (40, 30)))
        for packet in [EmbeddedXMP.extensionName.utf8 + Self.xmp, EmbeddedXMP.packetName.utf8 + Self.xmp] {
            jpeg.insert(contentsOf: [0xFF, 0xE1] + big(packet.count + 2, 2) + packet, at: 2)
        }
        return jpeg
    }()

    /// Passes bytes in parts of a length.
    private func pass(_ bytes: [UInt8], by count: Int = .max) throws -> [UInt8] {
        var header = RenderedHeader(for: PictureSize(width: 20, height: 10))
        var result: [UInt8] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            result += try Array(rest.prefix(count)).withUnsafeBytes { bytes throws in try header.pass(bytes) }
            rest = rest.dropFirst(count)
        }
        return header.isComplete ? result : []
    }

    @Test func whatDescribesTheOriginalGoes() throws {
        let result = try self.pass(Self.picture)
        #expect(!result.contains("Exposure2012=") && !result.contains("<crs:Tone") && !result.contains("tiff:Orient"))
        #expect(result.contains(#"dc:format="image/jpeg""#) && !result.contains(EmbeddedXMP.extensionName))
        let media = MediaDescription(HeaderBytes(result))
        #expect(media.orientation == 1 && result.contains("Maker ") && result.contains(Pictures.date))
        // All that follows the metadata is the same, however the bytes come.
        #expect(result.suffix(30) == Self.picture.suffix(30))
        for count in [1, 2, 3, 7, 64] { #expect(try self.pass(Self.picture, by: count) == result) }
    }

    /// A motion photo, and one with others behind it (MPF) or a gain map.
    @Test func whatIsBehindTheOriginalIsNotToldOf() throws {
        let xmp = """
            <x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">\
            <rdf:Description xmlns:g="http://ns.google.com/photos/1.0/camera/" \
            xmlns:h="http://ns.adobe.com/hdr-gain-map/1.0/" xmlns:c="http://ns.google.com/photos/1.0/container/" \
            g:MotionPhoto="1" g:MicroVideoOffset="5" g:BurstID="7" h:Version="1.0"><c:Directory><rdf:Seq/>\
            </c:Directory></rdf:Description></rdf:RDF></x:xmpmeta>
            """
        var picture = Pictures.jpeg(width: 4, height: 3)
        for (marker, content) in [
            (0xE2, "MPF\0MM"), (0xE2, "urn:iso:std:iso:ts:21496:-1\0"), (0xE2, "ICC_PROFILE\0"),
            (0xE1, EmbeddedXMP.packetName + xmp),
        ] {
            picture.insert(contentsOf: [0xFF, UInt8(marker)] + big(content.utf8.count + 2, 2) + content.utf8, at: 2)
        }
        let result = try self.pass(picture)
        for text in ["MPF", "21496", "MotionPhoto", "MicroVideo", "Directory", "h:Version"] {
            #expect(!result.contains(text))
        }
        #expect(result.contains("BurstID") && result.contains("ICC_PROFILE"))
    }

    /// A header of many segments is passed on as they come, and not looked at again.
    @Test func segmentsPassAsTheyCome() throws {
        let segment: [UInt8] = [0xFF, 0xE5] + big(0xFFFF, 2) + [UInt8](repeating: 7, count: 0xFFFD)
        var header = RenderedHeader(for: PictureSize(width: 20, height: 10))
        let start: [UInt8] = [0xFF, 0xD8, 0xFF, 0xE5]
        #expect(try start.withUnsafeBytes { bytes throws in try header.pass(bytes) } == [0xFF, 0xD8])
        let rest = try (Array(segment[2...]) + [0xFF]).withUnsafeBytes { bytes throws in try header.pass(bytes) }
        #expect(rest == segment && !header.isComplete)
        let tooLong = codeThrown {
            for _ in 0..<300 { _ = try segment.withUnsafeBytes { bytes throws in try header.pass(bytes) } }
        }
        #expect(tooLong == .limitExceeded)
    }

    /// A thumbnail at the end of the Exif data, and its size.
    @Test(arguments: [true, false]) func theThumbnailGoes(isAtEnd: Bool) throws {
        let number = { (value: Int, count: Int) in big(value, count) }
        var exif: [UInt8] = [0x4D, 0x4D, 0, 0x2A, 0, 0, 0, 8] + number(1, 2)
        exif += number(0x0112, 2) + number(3, 2) + number(1, 4) + number(8, 2) + [0, 0] + number(26, 4)
        exif += number(2, 2) + number(0x0201, 2) + number(4, 2) + number(1, 4) + number(56, 4)
        exif += number(0x0202, 2) + number(4, 2) + number(1, 4) + number(5, 4) + number(0, 4)
        let head = exif.count
        exif += Array("THUMB".utf8) + (isAtEnd ? [] : [7])
        var editor = try #require(ExifEditor(exif))
        editor.reset(for: PictureSize(width: 2, height: 2))
        #expect(!editor.bytes.contains("THUMB") && editor.bytes.count == (isAtEnd ? head : head + 6))
        #expect(editor.bytes[18..<20].elementsEqual([0, 1]) && editor.bytes[22..<26].elementsEqual([0, 0, 0, 0]))
    }

    @Test func noDamageEndsTheProcess() throws {
        let picture = Self.picture
        for count in picture.indices { _ = try? self.pass(Array(picture[..<count])) }
        for other in picture.copiesWithAFlippedBit { _ = try? self.pass(other) }
        #expect(codeThrown { try self.pass(Array("no picture".utf8)) } == .corrupted)
        #expect(codeThrown { try self.pass([0xFF, 0xD8, 0x00, 0x01, 0x02, 0x03]) } == .corrupted)
    }
}
#endif
