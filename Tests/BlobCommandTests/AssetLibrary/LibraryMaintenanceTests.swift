#if Command
import BlobTestSupport
import Foundation
import Testing

/// `blob library check`, `quarantine`, `backup`, and imports of folders.
@Suite struct LibraryMaintenanceTests {
    private let library: CommandLibrary
    private var folder: TemporaryFolder { self.library.folder }

    init() throws { self.library = try CommandLibrary() }

    /// Imports a new file; its URL, and the path of its original.
    private func add(_ content: String, _ name: String = "a.jpg") throws -> (
        url: String, path: String
    ) {
        let url = try self.library.add(self.folder.write(content, to: name))[0]
        let id = try #require(url.split(separator: "=").dropFirst().first?.prefix(36))
        return (url, "\(self.library.path)/originals/\(id.prefix(2))/\(id).jpg")
    }

    private func expectCheck(_ options: String..., finds parts: String..., status: CInt = 65) throws {
        let outcome = try Launch(["library", "check", "--library", self.library.path] + options).run()
        #expect(outcome.ending == .status(status), "\(outcome.text)\(outcome.errorText)")
        for part in parts { #expect(outcome.text.contains(part), "\(outcome.text)") }
        if parts.isEmpty { #expect(outcome.text == "") }
    }

    @Test func aWholeLibraryHasNoFindings() throws {
        _ = try self.add("one")
        try self.expectCheck(status: 0)
        try self.expectCheck("--deep", "--repair", status: 0)
    }

    @Test func damageIsFoundAndGoodCopiesAreTakenFromTheQuarantine() throws {
        let (url, path) = try self.add("one")
        let (other, otherPath) = try self.add("two!", "b.jpg")
        try #require(truncate(otherPath, 2) == 0)
        try self.expectCheck(finds: "size  \(other)")
        try Data("two?".utf8).write(to: URL(fileURLWithPath: otherPath))
        try self.expectCheck(status: 0)
        try self.expectCheck("--deep", finds: "content  \(other)")
        let name = (path as NSString).lastPathComponent
        try FileManager.default.moveItem(
            atPath: path, toPath: "\(self.library.path)/originals/.quarantine/\(name)")
        try self.expectCheck(finds: "missing  \(url)")
        #expect(try self.library.run("library", "quarantine", "ls").text.hasSuffix("  \(name)\n"))
        try self.expectCheck("--repair", finds: "missing  \(url)", "(repaired)", status: 0)
        expect(try self.library.run("cat", url), prints: "one")
        expect(try self.library.run("library", "quarantine", "ls"), prints: "")
    }

    @Test func aDamagedOriginalIsSetAsideAndCanBePutBack() throws {
        let (url, path) = try self.add("one")
        let (other, otherPath) = try self.add("two!", "b.jpg")
        let names = [path, otherPath].map { ($0 as NSString).lastPathComponent }
        try Data("uno".utf8).write(to: URL(fileURLWithPath: path))
        try #require(truncate(otherPath, 2) == 0)
        // Other bytes are found by reading them all.
        try self.expectCheck("--repair", finds: "size  \(other)", "to the quarantine")
        #expect(try self.library.run("cat", url).ending == .status(65))
        try self.expectCheck("--repair", "--deep", finds: "content  \(url)", "to the quarantine", "missing  \(other)")
        for url in [url, other] { expect(try self.library.run("cat", url), failsWith: "notFound", 66) }
        let kept = try self.library.run("library", "quarantine", "ls").text
        for name in names { #expect(kept.contains(name), "\(kept)") }
        // Back in its place, it is what it was: damaged.
        expect(try self.library.run("library", "quarantine", "restore", names[0]), prints: "\(url)\n")
        expect(try self.library.run("cat", url), failsWith: "checksumMismatch", 65)
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "uno")
        #expect(try self.library.run("library", "ls").text.split(separator: "\n").count == 2)
        // The bytes that were imported take its place, and it is kept.
        #expect(try self.add("one").url == url)
        expect(try self.library.run("cat", url), prints: "one")
        #expect(try self.library.run("library", "quarantine", "ls").text.contains(names[0]))
        try self.expectCheck("--deep", finds: "missing  \(other)")
    }

    @Test func aFileWithoutARowIsSetAsideAndRestored() throws {
        let (url, path) = try self.add("one")
        let copy = try readFile(path)
        expect(try self.library.run("library", "remove", url), prints: "")
        try write(copy, to: path)
        try self.expectCheck(finds: "orphan  originals/")
        try self.expectCheck("--repair", finds: "(repaired)", status: 0)
        try self.expectCheck(status: 0)
        let name = (path as NSString).lastPathComponent
        // The asset that it was, by the journal.
        expect(try self.library.run("library", "quarantine", "restore", name), prints: "\(url)\n")
        expect(try self.library.run("cat", url), prints: "one")
        #expect(try self.library.run("info", url).text.contains("name: a.jpg\n"))
        try self.expectCheck("--deep", status: 0)
        expect(
            try self.library.run("library", "quarantine", "restore", "../x"), failsWith: "notFound", 66,
            saying: "quarantine")
        expect(try self.library.run("library", "quarantine", "remove"), prints: "")
    }

    @Test(arguments: ["lost", "empty", "garbage", "cut"])
    func aCatalogueIsMadeAgainFromTheJournal(damage: String) throws {
        let (url, _) = try self.add("one")
        let (gone, _) = try self.add("two", "b.jpg")
        expect(try self.library.run("library", "remove", gone), prints: "")
        let catalogue = "\(self.library.path)/catalog.sqlite"
        for suffix in ["-wal", "-shm"] { unlink(catalogue + suffix) }
        switch damage {
        case "lost": unlink(catalogue)
        case "empty": try #require(truncate(catalogue, 0) == 0)
        case "cut": try #require(truncate(catalogue, 10_000) == 0)
        default: try Data(repeating: 7, count: 9000).write(to: URL(fileURLWithPath: catalogue))
        }
        try self.expectCheck(finds: "catalogue  catalog.sqlite")
        try self.expectCheck("--repair", finds: "(repaired)", status: 0)
        expect(try self.library.run("library", "ls"), prints: "\(url)\n")
        expect(try self.library.run("cat", url), prints: "one")
        try self.expectCheck("--deep", status: 0)
        #expect(
            try self.library.run("library", "quarantine", "ls").text.contains("catalog.sqlite")
                == (damage != "lost"))
        #expect(try self.library.run("library", "quarantine", "remove").ending == .status(0))
        expect(try self.library.run("library", "ls"), prints: "\(url)\n")
    }

    @Test func aBackupCatchesUp() throws {
        let (first, _) = try self.add("one")
        let backup = self.folder.path("backup.sqlite")
        expect(try self.library.run("library", "backup", backup), prints: "")
        expect(
            try self.library.run("library", "backup", backup), failsWith: "invalidArgument", 64, saying: "already"
        )
        let (second, _) = try self.add("two", "b.jpg")
        for suffix in ["", "-wal", "-shm"] { unlink("\(self.library.path)/catalog.sqlite\(suffix)") }
        try FileManager.default.moveItem(atPath: backup, toPath: "\(self.library.path)/catalog.sqlite")
        _ = try self.add("three", "c.jpg")
        #expect(try self.library.run("library", "ls").text.hasPrefix("\(first)\n\(second)\n"))
        // Its digests are computed by the first reader.
        try self.expectCheck("--deep", finds: "digests  \(second)", status: 0)
    }

    // MARK: Folders

    @Test(arguments: [false, true])
    func aFolderIsImportedOnce(isReference: Bool) throws {
        try self.folder.makeFolder("card/DCIM/100APPLE")
        try self.folder.makeFolder("card/.Trashes")
        for name in ["100APPLE/IMG_1.JPG", "100APPLE/IMG_2.MOV", "IMG_3.HEIC"] {
            try self.folder.write(name, to: "card/DCIM/\(name)")
        }
        for name in ["DCIM/100APPLE/IMG_1.AAE", "DCIM/IMG_3.xmp", ".Trashes/old.jpg", "DCIM/.DS_Store"] {
            try self.folder.write(name, to: "card/\(name)")
        }
        try self.folder.write("", to: "card/DCIM/empty.jpg")
        let command = ["library", "import", "--library", self.library.path, self.folder.path("card")]
        let launch = Launch(command + (isReference ? ["--by-reference"] : []))
        let outcome = try launch.run()
        #expect(
            outcome.ending == .status(69) && outcome.errorText.contains("empty.jpg"),
            "\(outcome.errorText)")
        let urls = outcome.text.split(separator: "\n").map(String.init)
        #expect(urls.count == 3)
        let again = try launch.run()
        #expect(Set(again.text.split(separator: "\n").map(String.init)) == Set(urls))
        expect(
            try Launch(["cat", "--library", self.library.path] + urls).run(),
            prints: "100APPLE/IMG_1.JPG100APPLE/IMG_2.MOVIMG_3.HEIC")
        let originals = try FileManager.default.subpathsOfDirectory(atPath: "\(self.library.path)/originals")
        #expect(originals.contains { $0.hasSuffix(".jpg") } == !isReference)
        try self.expectCheck("--deep", status: 0)
    }

    @Test func takeoutTellsDatePlaceAndName() throws {
        try self.folder.makeFolder("Takeout/Photos")
        let json = { (title: String) in
            """
            {"title": "\(title)", "photoTakenTime": {"timestamp": "1577934245"},
             "geoData": {"latitude": 48.5, "longitude": 2.25}}
            """
        }
        let names = [
            "a.jpg": "a.jpg.json", "b.jpg": "b.jpg.supplemental-metadata.json",
            "c.jpg": "c.jpg.suppl.json",
            "d(1).jpg": "d.jpg(1).json", "e-edited.jpg": "e.jpg.json",
        ]
        for (photo, document) in names {
            try self.folder.write(photo, to: "Takeout/Photos/\(photo)")
            try self.folder.write(json("Title of \(photo)"), to: "Takeout/Photos/\(document)")
        }
        try self.folder.write("no facts", to: "Takeout/Photos/f.jpg")
        try self.folder.write("{\"title\": 5", to: "Takeout/Photos/f.jpg.json")
        let outcome = try self.library.run("library", "import", self.folder.path("Takeout"))
        #expect(outcome.ending == .status(0), "\(outcome.errorText)")
        let lines = try self.library.run("library", "ls", "-l").text.split(separator: "\n")
        #expect(lines.count == 6)
        #expect(lines.count { $0.contains("2020-01-02T03:04:05") } == 5)
        #expect(lines.count { $0.contains("  Title of ") } == 4 && lines.contains { $0.hasSuffix("  e-edited.jpg") })
        #expect(lines.contains { $0.hasSuffix("  f.jpg") })
    }

    /// Each command tells the cause with -v, also one that reads no bytes: here, that a folder is no library.
    @Test func allCommandsHeedTheirVerbosity() throws {
        try self.folder.makeFolder("photos")
        let id = UUID().uuidString
        for command in [
            ["album", "create", "x"], ["album", "add", "x", id], ["remove", id],
            ["backup", self.folder.path("backup")], ["quarantine", "ls"], ["quarantine", "remove"],
        ] {
            let refused = ["library"] + command + ["--library", self.folder.path("photos")]
            #expect(try !Launch(refused).run().errorText.contains("caused by"), "\(command)")
            let outcome = try Launch(refused + ["-v"]).run()
            #expect(outcome.errorText.contains("\nblob:   caused by "), "\(command): \(outcome.errorText)")
        }
    }
}
#endif
