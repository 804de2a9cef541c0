#if Photos
import BlobStreams
import BlobTestSupport
import FileSource
import Foundation
import Testing

@testable import AssetLibrarySource

/// The files beside pictures, and the second import of a folder.
@Suite struct SidecarTests {
    private let folder: TemporaryFolder

    init() throws { self.folder = try TemporaryFolder() }

    private func beside(_ name: String) throws -> [AdjustmentDescriptions.SidecarKind: [UInt8]] {
        try Sidecar.sidecars(beside: Array(self.folder.path(name).utf8))
    }

    @Test func aPictureBesideARawOneDoesNotTakeItsSidecar() throws {
        try self.folder.write("of the stem", to: "a.xmp")
        #expect(try self.beside("a.jpg")[.xmp] == Array("of the stem".utf8))
        for raw in ["a.NEF", "a.dng"] {
            try self.folder.write("raw", to: raw)
            #expect(try self.beside("a.jpg").isEmpty)
            #expect(try self.beside(raw)[.xmp] == Array("of the stem".utf8))
            try #require(unlink(self.folder.path(raw)) == 0)
        }
        try self.folder.write("raw", to: "a.CR2")
        try self.folder.write("own", to: "a.jpg.xmp")
        #expect(try self.beside("a.jpg")[.xmp] == Array("own".utf8))
    }

    @Test(.enabled(if: isLinux)) func thatOfANameOfBytesIsFound() throws {
        try self.folder.write(Array("x".utf8), to: [0x61, 0xFF] + Array(".AAE".utf8))
        let path = self.folder.pathBytes([0x61, 0xFF] + Array(".jpg".utf8))
        #expect(try Sidecar.sidecars(beside: path) == [.aae: Array("x".utf8)])
    }

    /// The names that people found in archives of Google Takeout; see the sources of the rules.
    @Test(arguments: [
        ("a.jpg", "a.jpg.json", true), ("a.jpg", "a.jpg.supplemental-metadata.json", true),
        ("a.jpg", "a.jpg.supplemental-m.json", true), ("a.jpg", "a.supplemental-metadata.json", true),
        ("a.jpg", "a.json", true), ("a.JPG", "a.jpg.json", true), ("a.jpg", "a.JPG.supplemental-metadata.json", true),
        ("a(1).jpg", "a.jpg(1).json", true), ("a(1).jpg", "a.jpg.supplemental-metadata(1).json", true),
        ("2021-12-24-edited.jpg", "2021-12-24.jpg.json", false), ("IMG-edited(1).jpg", "IMG.jpg(1).json", false),
        ("IMG-bearbeitet.jpg", "IMG.jpg.json", false), ("IMG-modifié.JPG", "IMG.jpg.json", false),
        ("IMG-modifie\u{301}.jpg", "IMG.jpg.json", false), ("IMG-ha editado.jpeg", "IMG.jpg.json", false),
        ("IMG-編集済み(2).jpg", "IMG.jpg.supplemental-metadata(2).json", false),
        ("IMG.MOV", "IMG.jpg.json", false), ("IMG.mp4", "IMG.jpg.supplemental-metadata.json", false),
        ("caf\u{E9}.jpg", "cafe\u{301}.jpg.json", true), ("cafe\u{301}.jpg", "caf\u{E9}.jpg.json", true),
        ("\(String(repeating: "x", count: 50)).jpg", "\(String(repeating: "x", count: 46)).json", true),
        ("\(String(repeating: "x", count: 50))(1).jpg", "\(String(repeating: "x", count: 43))(1).json", true),
        // Each of these characters has two units; the limit falls between two of them, or within one.
        ("\(String(repeating: "😀", count: 24)).jpg", "\(String(repeating: "😀", count: 23)).json", true),
        ("x\(String(repeating: "😀", count: 24)).jpg", "x\(String(repeating: "😀", count: 22)).json", true),
        ("Screenshot_20241227_105539_Edge.jpg", "Screenshot_20241227_105539_Edge.jpg.supplement.json", true),
    ])
    func theDocumentOfTakeoutIsFound(photo: String, document: String, isOwn: Bool) throws {
        let photos: Set = [photo, "IMG.jpg", "IMG(1).jpg", "IMG(2).jpg", "b.jpg"]
        let found = TakeoutDocument.match(for: photo, documents: [document, "b.jpg.json"], photos: photos)
        #expect(found == TakeoutDocument.Match(name: document, isOwn: isOwn))
        #expect(found.map { Array($0.name.utf8) } == Array(document.utf8))
        // By the bytes of names, as on a disk.
        let bytes = Set((photos.union([document])).map { Array($0.utf8) })
        let onDisk = TakeoutDocument.match(for: photo) { bytes.contains(Array($0.utf8)) }
        #expect(onDisk == found && onDisk.map { Array($0.name.utf8) } == Array(document.utf8))
    }

    @Test(arguments: [
        ("a.jpg", "a.jpg.other.json"), ("b.jpg", "a.json"), ("IMG-1.jpg", "IMG.jpg.json"),
        ("IMG-bearbeitet.jpg", "IMG.png.json"), ("-edited.jpg", ".jpg.json"), ("PNG.mov", "IMG.jpg.json"),
        ("\(String(repeating: "x", count: 50)).jpg", "\(String(repeating: "x", count: 45)).json"), ("a", "b.json"),
    ])
    func theDocumentOfAnotherPhotoIsNotTaken(photo: String, document: String) {
        #expect(TakeoutDocument.match(for: photo, documents: [document], photos: [photo, "IMG.jpg"]) == nil)
    }

    /// A phone that stores both formats describes the adjustment of the HEIC.
    @Test func theAdjustmentOfAHEICIsNotThatOfTheJPEGBesideIt() throws {
        for name in ["IMG_1.HEIC", "IMG_1.JPG", "IMG_1.AAE", "IMG_2.JPG", "IMG_2.AAE"] {
            try self.folder.write("of \(name)", to: name)
        }
        #expect(try self.beside("IMG_1.HEIC")[.aae] == Array("of IMG_1.AAE".utf8))
        #expect(try self.beside("IMG_1.JPG").isEmpty)
        #expect(try self.beside("IMG_2.JPG")[.aae] == Array("of IMG_2.AAE".utf8))
    }

    @Test func oneThatComesOrChangesLaterIsSeenBesideAnUntouchedFile() throws {
        let test = try TestLibrary()
        let picture = try self.folder.write(Pictures.picture, to: "a.png")
        func origin() throws -> ImportOrigin {
            var origin = try ImportOrigin(path: Array(picture.utf8))
            origin.hasSidecars = FileManager.default.fileExists(atPath: self.folder.path("a.xmp"))
            return origin
        }
        var asset: Asset?
        // A file that was just written may change again within the same moment, and is not remembered.
        repeat {
            let photos = try test.library.makeImport { asset = $0.asset }
            try photos.add(FileSource(path: picture), name: nil, from: origin())
            try photos.finish()
        } while try test.library.importedAsset(origin()) == nil
        let imported = try #require(asset)
        for exposure in ["1", "2", "2"] {
            let xmp = """
                <x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">\
                <rdf:Description xmlns:c="http://ns.adobe.com/camera-raw-settings/1.0/" c:Exposure2012="\(exposure)"/>\
                </rdf:RDF></x:xmpmeta>
                """
            try self.folder.write(xmp, to: "a.xmp")
            let photos = try test.library.makeImport { asset = $0.asset }
            #expect(try photos.addImported(origin()))
            try photos.finish()
            let found = try #require(asset)
            #expect(found.id == imported.id && found.generation == imported.generation + (exposure == "1" ? 1 : 2))
            #expect(try test.library.adjustment(of: found) == .notRenderable(["crs:Exposure2012"]))
        }
    }

    /// The facts of a document, as of Google Takeout, that comes after the import, and changes then.
    @Test(arguments: [false, true]) func aDocumentThatComesOrChangesLaterIsTakenUnlessTheFileTells(isDated: Bool) throws
    {
        let test = try TestLibrary()
        let bytes = isDated ? Pictures.jpeg(width: 4, height: 3) : Pictures.picture
        let picture = try self.folder.write(bytes, to: "a.jpg")
        while try self.origin(picture).unchangedOrigin == nil { sched_yield() }
        var asset: Asset?
        let photos = try test.library.makeImport { asset = $0.asset }
        try photos.add(FileSource(path: picture), name: nil, from: self.origin(picture))
        try photos.finish()
        let imported = try #require(asset)
        #expect(imported.media.captureDate == (isDated ? Pictures.date : nil) && imported.name == "a.jpg")
        for (year, title) in [("2001", "one.jpg"), ("2002", "two.jpg"), ("2002", "two.jpg")] {
            let journal = LibraryJournal(LibraryFolder(test.folder)).byteCount
            let isNews = try test.library.asset(imported.id)?.name != title
            var origin = try self.origin(picture)
            (origin.captureDate, origin.captureOffset) = ("\(year):01:01 00:00:00", "+00:00")
            (origin.title, origin.location) = (title, (year == "2001" ? 1.5 : 2.5, 7))
            origin.documentPath = Array(try self.folder.write("\(year)", to: "a.jpg.json").utf8)
            let photos = try test.library.makeImport { asset = $0.asset }
            #expect(try photos.addImported(origin))
            try photos.finish()
            let found = try #require(asset)
            #expect(found.id == imported.id && found.name == title && found.generation == imported.generation)
            #expect(found.media.captureDate == (isDated ? Pictures.date : origin.captureDate))
            // The place of a file with a date may be its own, once it has one.
            #expect(found.media.latitude == (isDated ? 1.5 : origin.location?.latitude) && found.media.longitude == 7)
            let line = try JournalState(test.library.journal).assets.last
            #expect(line?.name == title && line?.latitude == found.media.latitude)
            // Facts that are known are not written again.
            #expect((LibraryJournal(LibraryFolder(test.folder)).byteCount > journal) == isNews)
        }
    }

    private func origin(_ picture: String) throws -> ImportOrigin {
        var origin = try ImportOrigin(path: Array(picture.utf8))
        origin.hasSidecars = true
        return origin
    }

    @Test func thoseThatChangedAreCommittedTogether() throws {
        let test = try TestLibrary()
        let pictures = try (0..<3).map { number in
            try self.folder.write(Pictures.picture + [UInt8(number)], to: "\(number).png")
        }
        for picture in pictures { while try self.origin(picture).unchangedOrigin == nil { sched_yield() } }
        let reported = Recorder<AssetLibrary.ImportResult>()
        let photos = try test.library.makeImport { reported.append($0) }
        for picture in pictures { try photos.add(FileSource(path: picture), name: nil, from: self.origin(picture)) }
        try photos.finish()
        for number in 0..<2 { try self.folder.write("xmp \(number)", to: "\(number).xmp") }
        let again = { (body: (AssetImport) throws -> Void) in
            let photos = try test.library.makeImport { reported.append($0) }
            for picture in pictures { #expect(try photos.addImported(self.origin(picture))) }
            try body(photos)
        }
        // As on a full disk.
        try test.execute(
            "CREATE TRIGGER full BEFORE UPDATE ON library BEGIN SELECT RAISE(ABORT, 'disk is full'); END")
        let journal = try Data(contentsOf: URL(fileURLWithPath: test.path("journal.jsonl")))
        try again { photos in
            let error = #expect(throws: BlobError.self) { try photos.finish() }
            #expect(error?.operation == "write")
        }
        #expect(try Data(contentsOf: URL(fileURLWithPath: test.path("journal.jsonl"))) == journal)
        try test.execute("DROP TRIGGER full")
        #expect(try test.sql("SELECT count(*) FROM sidecar", Int.self) == 0)
        let commit = try test.library.lastCommit()
        try again { photos in
            #expect(try test.library.lastCommit().isSame(as: commit))
            try photos.finish()
        }
        // The third has none, and is reported at once.
        #expect(reported.values.map(\.asset.generation) == [1, 1, 1] + [1] + [1, 2, 2])
        #expect(try test.sql("SELECT count(*) FROM sidecar", Int.self) == 2)
    }

    @Test func oneOfARawPictureIsNotRead() throws {
        let picture = try self.folder.write(Pictures.picture, to: "a.jpg")
        try self.folder.write("raw", to: "a.nef")
        try FileManager.default.createDirectory(atPath: self.folder.path("a.xmp"), withIntermediateDirectories: false)
        #expect(try Sidecar.sidecars(beside: Array(picture.utf8)).isEmpty)
    }

    @Test func oneThatDidNotChangeSinceIsLeftOut() throws {
        let picture = Array(try self.folder.write(Pictures.picture, to: "a.jpg").utf8)
        try self.folder.write("xmp", to: "a.jpg.xmp")
        try self.folder.write("other", to: "a.xmp")
        let time = try FileStatus(ofFileAt: Array(self.folder.path("a.xmp").utf8)).statusChangeTime
        #expect(try Sidecar.sidecars(beside: picture, changedAfter: time).isEmpty)
        #expect(try Sidecar.sidecars(beside: picture)[.xmp] == Array("xmp".utf8))
    }
}
#endif
