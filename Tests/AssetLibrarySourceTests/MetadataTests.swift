#if Photos
import AssetLibrarySource
import BlobHelper
import BlobTestSupport
import Foundation
import HelperExchange
import Testing

@testable import AssetLibrarySource

/// What originals say of themselves, and what they cannot make a reader do.
@Suite struct MetadataTests {
    @Test(arguments: ["jpeg", "png", "heic", "tiff"])
    func everyFormatTellsItsSize(_ name: String) throws {
        let bytes = try #require(Pictures.all.first { $0.name == name }).bytes
        let media = describe(bytes)
        #expect(media.mediaType == "image/\(name)")
        #expect(media.typeIdentifier == "public.\(name)")
        let sizes: [String: [Int?]] = [
            "jpeg": [4032, 3024], "png": [640, 480], "heic": [4032, 3024], "tiff": [64, 32],
        ]
        #expect([media.pixelWidth, media.pixelHeight] == sizes[name])
        #expect(media.orientation == (name == "png" ? nil : 6))
        // Facts are for the helper.
        #expect(media.captureDate == nil && media.cameraMake == nil)
    }

    /// A crop applies to the picture as rotated by the properties before it (ISO/IEC 14496-12, clap).
    @Test func aCropOfAHEICIsOfThePictureSoFar() {
        func size(_ turns: [UInt8]...) -> [Int?] {
            let media = describe(Pictures.heic(width: 4032, height: 3024, turns: turns))
            return [media.pixelWidth, media.pixelHeight, media.orientation]
        }
        func crop(_ numbers: Int...) -> [UInt8] {
            box("clap", numbers.flatMap { big($0, 4) } + big(0, 4) + big(1, 4) + big(0, 4) + big(1, 4))
        }
        let turn = box("irot", [3])
        #expect(size(crop(4000, 1, 3000, 1), turn) == [4000, 3000, 6])
        #expect(size(turn, crop(3000, 1, 4000, 1)) == [4000, 3000, 6])
        #expect(size(crop(8001, 2, 3001, 1)) == [4001, 3001, nil])
        #expect(size(box("imir", [1]), crop(4000, 1, 3000, 1)) == [4000, 3000, 2])
        #expect(size(crop(5000, 1, 3000, 1)) == [4032, 3000, nil])
        for odd in [crop(1, 0, 1, 1), crop(1, 1, 1, 0), crop(0, 1, 9, 1), box("clap", big(1, 4)), box("irot", [])] {
            #expect(size(odd) == [4032, 3024, nil])
        }
        #expect(size(crop(0xFFFF_FFFF, 1, 0xFFFF_FFFF, 1)) == [4032, 3024, nil])
    }

    /// The first directory of a raw picture is often that of a thumbnail.
    @Test(
        arguments: [
            ([(0xC612, 1)], "image/x-adobe-dng"), ([(0x00FE, 1), (0x014A, 8)], "image/x-raw"),
            ([(0x0106, 32_803)], "image/x-raw"), ([(0x0103, 34_713)], "image/x-raw"), ([(0x0103, 5)], "image/tiff"),
            ([(0x00FE, 1)], "image/tiff"), ([(0x014A, 8)], "image/tiff"),
        ] as [([(Int, Int)], String)])
    func aRawPictureIsNotTakenForItsThumbnail(fields: [(Int, Int)], mediaType: String) {
        let media = describe(Pictures.tiff(isBigEndian: true, size: (160, 120), fields: fields))
        #expect(media.mediaType == mediaType && media.pixelWidth == 160)
        #expect((DecodedPicture(media).size == nil) == (mediaType != "image/tiff"))
    }

    @Test func theCatalogueKeepsWhatTheyTell() throws {
        let test = try TestLibrary()
        for (name, bytes) in Pictures.all {
            let asset = try test.add(bytes, named: "a.\(name)")
            let header = describe(bytes)
            #expect(asset.media.mediaType == header.mediaType && asset.media.pixelWidth == header.pixelWidth)
            #expect(try test.library.asset(asset.id)?.media == asset.media)
        }
    }

    @Test(arguments: [true, false]) func bothByteOrdersAreRead(isBigEndian: Bool) {
        let exif = Pictures.tiff(isBigEndian: isBigEndian)
        #expect(describe(Pictures.jpeg(width: 1, height: 2, exif: exif)).orientation == 6)
    }

    @Test func aPictureWithoutExifTellsItsSizeOnly() {
        let media = describe(Pictures.jpeg(width: 65_535, height: 1, exif: nil))
        #expect(media.pixelWidth == 65_535 && media.pixelHeight == 1)
        #expect(media.captureDate == nil && media.orientation == nil)
        #expect(describe(Pictures.gif(width: 2, height: 3)).pixelWidth == 258)
    }

    @Test func sizesOfZeroAndBeyondReasonAreUnknown() {
        #expect(describe(Pictures.jpeg(width: 0, height: 5)).pixelWidth == nil)
        #expect(describe(Pictures.jpeg(width: 0, height: 5)).pixelHeight == nil)
        #expect(describe(Pictures.png(width: 0xFFFF_FFFF, height: 5)).pixelWidth == nil)
    }

    @Test(arguments: ["0000:00:00 00:00:00", "    :  :     :  :  ", "yesterday", "2024-05-01 12:30:59", ""])
    func aDateThatIsNoneIsUnknown(_ date: String) {
        var (facts, media) = (MediaFacts(), MediaDescription())
        facts.texts[.captureDate] = Array(date.utf8)
        media.add(facts)
        #expect(media.captureDate == nil)
    }

    @Test(arguments: [
        ("ftypheic", "image/heic"), ("ftypheix", "image/heic"), ("ftypavif", "image/avif"),
        ("ftypqt  ", "video/quicktime"), ("ftypisom", "video/mp4"), ("ftypM4V ", "video/mp4"), ("ftypzzzz", nil),
    ])
    func filmsAreKnownByTheirBrands(_ text: String, _ mediaType: String?) {
        #expect(describe(big(12, 4) + text.utf8 + big(0, 12)).mediaType == mediaType)
    }

    @Test(arguments: ["RIFF1234WEBP", "%PDF-1.7", "GIF87a", "BM1234\0\0\0\0", "", "hello", "\u{FF}\u{D8}"])
    func otherSignaturesAreKnownOrNot(_ text: String) {
        let known = ["RIFF1234WEBP": "image/webp", "%PDF-1.7": "application/pdf", "GIF87a": "image/gif"]
        #expect(describe(Array(text.utf8)).mediaType == (text.hasPrefix("BM") ? "image/bmp" : known[text]))
    }

    @Test(arguments: Pictures.all.map(\.name) + ["film"])
    func noPrefixAndNoFlippedByteEndsTheProcess(_ name: String) throws {
        let bytes = Pictures.all.first { $0.name == name }?.bytes ?? FilmTests.film()
        for count in bytes.indices { _ = describe(Array(bytes[..<count])) }
        for index in bytes.indices {
            for value: UInt8 in [0, 1, 0x7F, 0x80, 0xFF, bytes[index] ^ 0x01, bytes[index] &+ 1] {
                var other = bytes
                other[index] = value
                _ = describe(other)
            }
        }
    }

    @Test func randomDamageEndsNoProcessAndTakesNoTime() {
        let seed = UInt64.random(in: 1 ... .max)
        print("MetadataTests seed: \(seed)")
        var random = SplitMix64(seed: seed)
        let pictures = Pictures.all.map(\.bytes)
        for _ in 0..<20_000 {
            var bytes = pictures[Int(random.next() % UInt64(pictures.count))]
            for _ in 0...(random.next() % 8) {
                bytes[Int(random.next() % UInt64(bytes.count))] = UInt8(truncatingIfNeeded: random.next())
            }
            _ = describe(bytes)
        }
    }

    @Test func aFileOfNothingButMarkersIsGivenUp() {
        // Every read finds another marker; the limit of reads ends it.
        var reads = 0
        let bytes = HeaderBytes(byteCount: 1 << 40) { offset, buffer in
            reads += 1
            for index in buffer.indices { buffer[index] = 0xFF }
            if offset == 0 { buffer.copyBytes(from: [0xFF, 0xD8]) }
            return buffer.count
        }
        #expect(MediaDescription(bytes).pixelWidth == nil)
        #expect(reads == HeaderBytes.maximumReadCount)
    }

    @Test func aTableOfEmptyExtentsTakesNoTime() {
        // 65,535 items of 65,535 extents, each of no bytes.
        let item = big(1, 2) + big(0, 2) + big(0xFFFF, 2)
        let location = box("iloc", big(0, 4) + [0, 0] + big(0xFFFF, 2) + (0..<0xFFFF).flatMap { _ in item })
        let bytes = box("ftyp", Array("heic".utf8) + big(0, 4)) + box("meta", big(0, 4) + location)
        #expect(describe(bytes).mediaType == "image/heic")
    }
}

private func describe(_ bytes: [UInt8]) -> MediaDescription { MediaDescription(HeaderBytes(bytes)) }
#endif
