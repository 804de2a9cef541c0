#if Photos
import BlobHelper
import BlobStreams
import BlobTestSupport
import Foundation
import HelperExchange
import Testing

@testable import AssetLibrarySource

/// The facts that a helper reads from Exif, XMP and IPTC.
@Suite struct FactTests {
    static let hasLibrary = MediaProcessTests.hasLibrary(for: .facts)

    private func check(_ media: MediaDescription) {
        #expect(media.cameraMake == "Maker" && media.cameraModel == "M1" && media.lensModel == "Lens 35mm")
        #expect(media.captureDate == "2024:05:01 12:30:59")
        #expect(media.captureOffset == "+02:00" && media.captureSubsecond == "042")
        #expect(abs((media.latitude ?? 0) - 48.1374) < 0.0001 && abs((media.longitude ?? 0) + 11.5755) < 0.0001)
        #expect(media.city == "Munich" && media.country == "Germany")
    }

    @Test(.enabled(if: hasLibrary), arguments: [("facts.jpg", 16, 6), ("facts.heic", 64, nil)])
    func anImportReadsThem(name: String, width: Int, orientation: Int?) throws {
        let test = try TestLibrary()
        let asset = try test.add(libraryFixture(name), named: name)
        self.check(asset.media)
        #expect(asset.media.pixelWidth == width && asset.media.orientation == orientation)
        #expect(try test.library.asset(asset.id)?.media == asset.media)
        #expect(try test.library.readFacts() == 0)
        let facts = try test.library.source(for: asset.id).facts(BlobContext()).map { "\($0.name): \($0.value)" }
        #expect(
            facts.contains("lens model: Lens 35mm")
                && facts.contains("latitude in degrees: \(asset.media.latitude ?? 0)"))
    }

    @Test(.enabled(if: hasLibrary)) func aFileOfAFolderTellsThemWhenItIsAsked() throws {
        let folder = try TemporaryFolder()
        try folder.write(libraryFixture("facts.jpg"), to: "a.jpg")
        let photos = try AssetLibrary.catalogue(at: URL(fileURLWithPath: folder.path))
        #expect(try photos.cataloguedAsset("a.jpg")?.media.lensModel == nil)
        let facts = try photos.source(for: "a.jpg").facts(BlobContext()).map { "\($0.name): \($0.value)" }
        #expect(facts.contains("lens model: Lens 35mm") && facts.contains("orientation: 6"))
    }

    @Test(.enabled(if: hasLibrary)) func originalsWithoutThemGetThemLater() throws {
        let test = try TestLibrary()
        let bytes = try libraryFixture("facts.jpg")
        let asset = try test.add(bytes, named: "a.jpg")
        let note = try test.add(Array("note".utf8))
        let forget = "UPDATE original SET lens_model = NULL, capture_date = NULL, city = NULL, facts_version = NULL"
        _ = try test.sql(forget, String.self)
        // The size is of a header, which needs no helper.
        #expect(codeThrown { try test.library.readFacts(helper: "/nowhere/helper") } == .unavailable)
        let media = try #require(try test.library.asset(asset.id)?.media)
        #expect(media.pixelWidth == 16 && media.lensModel == nil)
        #expect(try test.library.readFacts() == 1)
        self.check(try #require(try test.library.asset(asset.id)?.media))
        #expect(try test.library.asset(note.id)?.media.mediaType == nil)
        _ = try test.sql(forget, String.self)
        self.check(try test.add(bytes, named: "again.jpg").media)
    }

    @Test(.enabled(if: hasLibrary)) func oneHelperReadsManyFilesAndGoesOnAfterBrokenOnes() async throws {
        let folder = try TemporaryFolder()
        let bytes = try libraryFixture("facts.jpg")
        let paths = try [bytes, Array(bytes.prefix(2000)), [0xFF, 0xD8, 0xFF], bytes].enumerated().map {
            try folder.write($0.element, to: "\($0.offset).jpg")
        }
        let results = try await onThread {
            let process = try MediaProcess(for: .facts, BlobContext())
            return paths.map { path in
                let file = open(path, O_RDONLY | O_CLOEXEC)
                defer { close(file) }
                return Result { try process.facts(of: file, byteCount: Int64(lseek(file, 0, SEEK_END))) }
            }
        }
        #expect(try results[0].get() == results[3].get())
        #expect(try results[0].get().texts[.lens] == Array("Lens 35mm".utf8))
        #expect(codeThrown { try results[2].get() } == .corrupted)
    }

    /// Of which the library complains by the log of GLib, whose system calls the filter of the helper knows.
    @Test(.enabled(if: hasLibrary)) func xmpWithAPropertyTwiceIsNoReasonToEnd() async throws {
        let xmp =
            "http://ns.adobe.com/xap/1.0/\0<x:xmpmeta xmlns:x='adobe:ns:meta/'>"
            + "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'><rdf:Description "
            + "xmlns:tiff='http://ns.adobe.com/tiff/1.0/'><tiff:Make>A</tiff:Make><tiff:Make>B</tiff:Make>"
            + "</rdf:Description></rdf:RDF></x:xmpmeta>"
        let picture = Pictures.jpeg(width: 8, height: 8)
        let bytes = picture.prefix(2) + [0xFF, 0xE1] + big(xmp.utf8.count + 2, 2) + xmp.utf8 + picture.dropFirst(2)
        let folder = try TemporaryFolder()
        let path = try folder.write(Array(bytes), to: "a.jpg")
        let model = try await onThread {
            let process = try MediaProcess(for: .facts, BlobContext())
            let file = open(path, O_RDONLY | O_CLOEXEC)
            defer { close(file) }
            return try process.facts(of: file, byteCount: Int64(bytes.count)).texts[.model]
        }
        #expect(model == Array("M1".utf8))
    }

    /// A map of a file that was cut meanwhile has no pages: the signal for that ends the helper.
    @Test(.enabled(if: hasLibrary)) func aFileThatIsShorterThanSaidIsCorrupted() async throws {
        let folder = try TemporaryFolder()
        let path = try folder.write("", to: "a.jpg")
        let error = await errorThrown {
            try await onThread {
                let process = try MediaProcess(for: .facts, BlobContext())
                let file = open(path, O_RDONLY | O_CLOEXEC)
                defer { close(file) }
                return try process.facts(of: file, byteCount: 4096)
            }
        }
        #expect(error?.code == .corrupted && error?.message.contains("signal") == true)
        withExtendedLifetime(folder) {}
    }

    @Test func theMakerNoteOfApplePairsAPictureWithItsFilm() {
        let identifier = "0F4D3B2A-1111-2222-3333-444455556666"
        let note =
            Array("Apple iOS\0".utf8) + [0, 1] + Array("MM".utf8) + big(1, 2) + big(0x11, 2) + big(2, 2)
            + big(identifier.utf8.count + 1, 4) + big(32, 4) + big(0, 4) + identifier.utf8 + [0]
        var facts = MediaFacts()
        facts.texts[.appleNote] = note
        var media = MediaDescription()
        media.add(facts)
        #expect(media.livePhotoID == identifier)
        for count in note.indices {
            facts.texts[.appleNote] = Array(note[..<count])
            media = MediaDescription()
            media.add(facts)
            if count < note.count - 1 { #expect(media.livePhotoID != identifier) }
        }
    }

    @Test func factsThatMakeNoSenseAreNone() {
        var facts = MediaFacts()
        facts.texts = [
            .orientation: Array("9".utf8), .latitude: Array("nan".utf8), .longitude: Array("7".utf8),
            .captureDate: Array("yesterday".utf8), .make: [0xFF, 0xFE], .model: [],
        ]
        var media = MediaDescription()
        media.add(facts)
        #expect(media.orientation == nil && media.latitude == nil && media.captureDate == nil)
        #expect(media.cameraMake == nil)
    }

    @Test func aPayloadOfAnotherLengthIsRefused() {
        var facts = MediaFacts()
        facts.texts = [.make: Array("Maker".utf8), .city: Array("Ulm".utf8)]
        let payload = facts.encoded
        #expect(MediaFacts(encoded: payload) == facts)
        // Whole facts are facts, too: nothing, or the first one.
        for count in payload.indices where count != 0 && count != 10 {
            #expect(MediaFacts(encoded: Array(payload[..<count])) == nil, "\(count)")
        }
        #expect(MediaFacts(encoded: payload + payload) == nil)
        #expect(MediaFacts(encoded: [0xFF, 0, 0, 0, 0]) == nil)
        #expect(MediaFacts(encoded: [0, 0xFF, 0xFF, 0xFF, 0xFF]) == nil)
    }
}
#endif
