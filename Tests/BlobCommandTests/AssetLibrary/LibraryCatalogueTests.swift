#if Command
import BlobTestSupport
import Foundation
import Testing

/// `blob library` and asset URLs over a folder of photos and the catalogues of other programs.
@Suite struct LibraryCatalogueTests {
    private let folder: TemporaryFolder

    init() throws { self.folder = try TemporaryFolder() }

    private func run(_ library: String, _ arguments: String...) throws -> Outcome {
        try Launch(arguments + ["--library", library]).run()
    }

    @Test func aFolderOfPhotosIsListedAndReadAndNotWritten() throws {
        try self.folder.makeFolder("photos/2024 Süd")
        try self.folder.write("hello", to: "photos/2024 Süd/a&b.JPG")
        let photos = self.folder.path("photos")
        let url = "assets-library://asset/asset.JPG?id=2024%20S%C3%BCd/a%26b.JPG&ext=JPG"
        expect(try self.run(photos, "library", "ls"), prints: "\(url)\n")
        expect(try self.run(photos, "library", "album", "ls"), prints: "1  folder  2024 Süd\n")
        expect(try self.run(photos, "library", "album", "ls", "2024 Süd"), prints: "\(url)\n")
        expect(try self.run(photos, "cat", url, "--offset", "3"), prints: "lo")
        #expect(try self.run(photos, "library", "ls", "--json").text.contains(#""path":"\#(photos)/2024 Süd/a&b.JPG""#))
        expect(
            try self.run(photos, "cat", url.replacing("a%26b", with: "c")), failsWith: "notFound", 66, saying: "c.JPG")
        expect(
            try self.run(photos, "library", "import", self.folder.write("new", to: "b.jpg")),
            failsWith: "permissionDenied", 77, saying: "read-only")
        expect(
            try self.run(photos, "library", "album", "create", "A"), failsWith: "permissionDenied", 77, saying: photos)
        #expect(try FileManager.default.subpathsOfDirectory(atPath: photos).count == 2)
    }

    @Test(arguments: [("digikam4.db", "5"), ("photo.db", "thumb0000000000000001")])
    func aCatalogueOfAnotherProgramIsListedByItsFileOrFolder(_ name: String, id: String) throws {
        let stored = fixture("Catalogues/\(name)", of: "AssetLibrarySourceTests")
        try FileManager.default.copyItem(at: stored, to: self.folder.url(name))
        let url = "assets-library://asset/asset.JPG?id=\(id)&ext=JPG"
        for path in [self.folder.path, self.folder.path(name)] {
            let listed = try self.run(path, "library", "ls")
            #expect(listed.text.split(separator: "\n").count == 6 && listed.text.contains("\(url)\n"))
            let tagged = try self.run(path, "library", "album", "ls", "People/Anna")
            #expect(tagged.text.split(separator: "\n").count == 2 && tagged.text.contains("\(url)\n"))
        }
        expect(
            try self.run(self.folder.path(name), "library", "album", "create", "A"), failsWith: "permissionDenied", 77,
            saying: "read-only")
        #expect(self.folder.names == [name])
    }

    @Test func aFileThatIsNoCatalogueIsUnsupported() throws {
        let file = try self.folder.write("text", to: "a.txt")
        expect(try self.run(file, "library", "ls"), failsWith: "unsupported", 65, saying: "a.txt")
        expect(try self.run(self.folder.path("none"), "library", "ls"), failsWith: "notFound", 66, saying: "none")
    }
}
#endif
