#if Photos
import BlobHelper
import BlobTestSupport
import Foundation
import Testing

@testable import AssetLibrarySource

/// The boxes of films, and the sizes of WebP and CR3, which are read without a library.
@Suite struct FilmTests {
    static func film(version: Int = 0, matrix: [Int] = [0, 1, -1, 0]) -> [UInt8] {
        let wide = version == 1 ? 8 : 4
        let times = big(0, 2 * wide)
        let movie = big(version << 24, 4) + times + big(600, 4) + big(900, wide) + big(0, 80)
        let numbers = [matrix[0], matrix[1], 0, matrix[2], matrix[3], 0, 0, 0].map { big($0 << 16, 4) }.flatMap { $0 }
        let track =
            big(version << 24, 4) + times + big(1, 4) + big(0, 4) + big(900, wide) + big(0, 16) + numbers
            + big(0x4000_0000, 4) + big(1920 << 16, 4) + big(1080 << 16, 4)
        let description = box("stsd", big(0, 4) + big(1, 4) + box("hvc1", big(0, 20)))
        let media = { (type: String) in
            box("mdia", box("hdlr", big(0, 8) + type.utf8 + big(0, 12)) + box("minf", box("stbl", description)))
        }
        let sound = box("trak", box("tkhd", big(0, 84)) + media("soun"))
        let picture = box("trak", box("tkhd", track) + media("vide"))
        let texts = [
            ("com.apple.quicktime.content.identifier", "PAIR-1"),
            ("com.apple.quicktime.location.ISO6709", "+48.1374-011.5755+520.000/"),
            ("com.apple.quicktime.creationdate", "2024-05-01T12:30:59.042+0200"),
        ]
        let keys = box("keys", big(0, 4) + big(texts.count, 4) + texts.flatMap { box("mdta", Array($0.0.utf8)) })
        let items = texts.enumerated().flatMap { place, text in
            big(8 + 16 + text.1.utf8.count, 4) + big(place + 1, 4)
                + box("data", big(1, 4) + big(0, 4) + text.1.utf8)
        }
        let meta = box("meta", box("hdlr", big(0, 24)) + keys + box("ilst", items))
        return box("ftyp", Array("qt  ".utf8) + big(0, 4)) + box("mdat", big(0, 100))
            + box("moov", box("mvhd", movie) + sound + picture + meta)
    }

    private func describe(_ bytes: [UInt8]) -> MediaDescription { MediaDescription(HeaderBytes(bytes)) }

    @Test(arguments: [0, 1]) func aFilmTellsItsFacts(version: Int) {
        let media = self.describe(Self.film(version: version))
        #expect(media.mediaType == "video/quicktime" && media.duration == 1500 && media.codec == "hvc1")
        #expect(media.pixelWidth == 1920 && media.pixelHeight == 1080 && media.orientation == 6)
        #expect(media.livePhotoID == "PAIR-1")
        #expect(media.latitude == 48.1374 && media.longitude == -11.5755)
        #expect(media.captureDate == "2024:05:01 12:30:59")
        #expect(media.captureOffset == "+02:00" && media.captureSubsecond == "042")
    }

    @Test(arguments: [([1, 0, 0, 1], 1), ([-1, 0, 0, -1], 3), ([0, -1, 1, 0], 8), ([2, 0, 0, 2], nil)])
    func theMatrixIsItsOrientation(matrix: [Int], orientation: Int?) {
        #expect(self.describe(Self.film(matrix: matrix)).orientation == orientation)
    }

    @Test func thePlaceOfOtherPhonesIsRead() {
        let text = "+27.5916+086.5640/"
        let place = big(text.utf8.count, 2) + big(0x15C7, 2) + text.utf8
        let location = big(0, 4) + big(0, 2) + [0x61, 0] + [0] + big(-(12 << 16), 4) + big(7 << 16, 4) + big(0, 4)
        let film = { (boxes: [UInt8]) in
            box("ftyp", Array("isom".utf8) + big(0, 4)) + box("moov", box("udta", boxes))
        }
        let media = self.describe(film(big(place.count + 8, 4) + [0xA9] + Array("xyz".utf8) + place))
        #expect(media.latitude == 27.5916 && media.longitude == 86.564)
        let other = self.describe(film(box("loci", location)))
        #expect(other.latitude == 7 && other.longitude == -12)
    }

    @Test(arguments: [
        ("VP8X", [0, 0, 0, 0, 0xFF, 0x03, 0, 0x57, 0x02, 0], 1024, 600),
        ("VP8 ", [0, 0, 0, 0x9D, 0x01, 0x2A, 0x80, 0x42, 0xE0, 0x01], 640, 480),
        ("VP8L", [0x2F, 0x8F, 0xC2, 0x07, 0, 0, 0, 0, 0, 0], 656, 32),
    ])
    func aWebPTellsItsSize(type: String, content: [UInt8], width: Int, height: Int) {
        let bytes = Array("RIFF".utf8) + [50, 0, 0, 0] + Array("WEBP\(type)".utf8) + [10, 0, 0, 0] + content
        let media = self.describe(bytes)
        #expect(media.mediaType == "image/webp" && media.pixelWidth == width && media.pixelHeight == height)
        for count in bytes.indices { #expect(self.describe(Array(bytes[..<count])).pixelWidth == nil) }
    }

    @Test func aCanonRawIsNoFilm() {
        let own =
            [UInt8](repeating: 0x85, count: 16) + box("CMT1", Pictures.tiff(isBigEndian: false, size: (6000, 4000)))
        let media = self.describe(
            box("ftyp", Array("crx ".utf8) + big(1, 4) + Array("crx isom".utf8)) + box("moov", box("uuid", own)))
        #expect(media.mediaType == "image/x-canon-cr3" && media.typeIdentifier == "com.canon.cr3-raw-image")
        #expect(media.pixelWidth == 6000 && media.pixelHeight == 4000)
    }
}
#endif
