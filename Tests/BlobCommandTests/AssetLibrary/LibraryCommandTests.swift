#if Command
import BlobTestSupport
import Foundation
import Testing

/// `blob library`, and assets as arguments of the other commands.
@Suite struct LibraryCommandTests {
    private let library: CommandLibrary
    private let file: String
    private var folder: TemporaryFolder { self.library.folder }

    init() throws {
        self.library = try CommandLibrary()
        self.file = try self.library.folder.write("hello", to: "note.TXT")
    }

    @Test func whatIsImportedIsReadAndRemovedByItsURL() throws {
        let urls = try self.library.add(self.file)
        let url = try #require(urls.first)
        #expect(url.hasPrefix("assets-library://asset/asset.TXT?id=") && url.hasSuffix("&ext=TXT"))
        expect(try self.library.run("cat", url), prints: "hello")
        expect(try self.library.run("cat", url, "--offset", "3"), prints: "lo")
        expect(
            try self.library.run("sum", url),
            prints: "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824  \(url)\n")
        #expect(try self.library.run("info", url).text.contains("name: note.TXT\n"))
        expect(try self.library.run("test", url), prints: "\(url): OK, 5 bytes, no checksum\n")
        expect(try self.library.run("library", "ls"), prints: "\(url)\n")
        expect(try self.library.run("library", "remove", url), prints: "")
        expect(try self.library.run("library", "ls"), prints: "")
        expect(try self.library.run("cat", url), failsWith: "notFound", 66, saying: url)
        expect(try self.library.run("library", "remove", url), failsWith: "notFound", 66, saying: "no such asset")
    }

    @Test func theMembersThatAPatternSelectsAreImported() throws {
        let names = ["1.txt", "2.txt", "3.bin"]
        for name in names { try self.folder.write("content of \(name)", to: name) }
        let tar = try self.folder.pack(names, into: "x.tgz")
        let urls = try self.library.add("\(tar)#*.txt")
        #expect(urls.count == 2)
        for (url, name) in zip(urls, ["1.txt", "2.txt"]) {
            expect(try self.library.run("cat", url), prints: "content of \(name)")
        }
    }

    @Test func theEnvironmentNamesTheLibraryUnlessAnOptionDoes() throws {
        let url = try #require(try self.library.add(self.file).first)
        let launch = { (variable: String, arguments: [String]) in
            try Launch(arguments).with { $0.prelude = "export BLOB_LIBRARY='\(variable)'" }.run()
        }
        expect(try launch(self.library.path, ["cat", url]), prints: "hello")
        expect(try launch(self.library.path, ["library", "ls"]), prints: "\(url)\n")
        expect(try launch("/nowhere", ["cat", url, "--library", self.library.path]), prints: "hello")
        expect(try launch("/nowhere", ["cat", url]), failsWith: "notFound", 66, saying: "/nowhere")
        expect(try launch("", ["cat", url]), failsWith: "invalidArgument", 64, saying: "BLOB_LIBRARY")
        expect(try launch("", ["library", "ls"]), failsWith: "invalidArgument", 64, saying: "--library")
        // What names no asset needs no library.
        expect(try launch("", ["cat", self.file]), prints: "hello")
    }

    @Test func severalFilesAndOddNamesAreImported() throws {
        let odd = try self.folder.write("odd", to: "a\nb #1 %41.x!")
        let urls = try self.library.add(self.file, odd, try self.folder.write("", to: "empty"))
        #expect(urls.count == 3)
        expect(try Launch(["cat", "--library", self.library.path] + urls).run(), prints: "helloodd")
        #expect(try self.library.run("library", "ls", "-l").text.contains("a%0Ab #1 %2541.x!\n"))
        let json = try self.library.run("library", "ls", "--json").text.split(separator: "\n")
        #expect(json.count == 3)
        let object = try JSONSerialization.jsonObject(with: Data(json[1].utf8)) as? [String: Any]
        #expect(object?["name"] as? String == "a\nb #1 %41.x!")
        #expect(object?["byte_count"] as? Int == 3)
        #expect(object?["locator"] as? String == urls[1])
    }

    /// Those without the library of the helper are told of it.
    @Test func aThumbnailIsAJPEGOrItsLibraryIsMissing() throws {
        let picture = try self.folder.write(CommandLibrary.picture, to: "a.png")
        let url = try #require(try self.library.add(picture).first)
        let output = self.folder.path("small.jpg")
        let launch = { (variable: String) in
            try Launch("library", "thumbnail", url, "-o", output, "--library", self.library.path).with {
                $0.prelude = "export XDG_CACHE_HOME='\(self.folder.path)' \(variable)"
            }.run()
        }
        expect(
            try launch("BLOB_MEDIA_HELPER=/nowhere/helper"), failsWith: "unavailable", 69, saying: "/nowhere/helper")
        if isLinux {
            let helper = try UnconfinedHelper.make(of: "blob-media-helper", in: self.folder, refusing: .filter)
            expect(
                try launch("BLOB_MEDIA_HELPER=\(helper)"), failsWith: "unavailable", 69,
                saying: "Use --allow-format media to allow this.")
        }
        let outcome = try launch("")
        if outcome.ending == .status(0) {
            #expect(FileManager.default.contents(atPath: output)?.starts(with: [0xFF, 0xD8]) == true)
            #expect(try launch("BLOB_MEDIA_HELPER=/nowhere/helper").ending == .status(0))
        } else {
            expect(outcome, failsWith: "unavailable", 69, saying: "libvips42")
        }
        #expect(try self.library.run("library", "thumbnail", url, "--size", "100").ending == .status(64))
    }

    @Test func aNameOfBytesIsImported() throws {
        try self.folder.write(Array("x".utf8), to: [0x61, 0xFF, 0x62])
        let outcome = try Launch(
            raw: Array("library".utf8), Array("import".utf8), Array("--library".utf8), Array(self.library.path.utf8),
            self.folder.pathBytes([0x61, 0xFF, 0x62])
        ).run()
        #expect(outcome.ending == .status(0), "\(outcome.errorText)")
        #expect(try self.library.run("library", "ls", "-l").text.contains("a\u{FFFD}b"))
    }

    @Test func theOthersAreImportedWhenOneIsMissing() throws {
        let outcome = try self.library.run("library", "import", self.folder.path("none"), self.file)
        #expect(outcome.ending == .status(66))
        #expect(outcome.errorText.hasPrefix("blob: notFound: "))
        #expect(outcome.text.hasPrefix("assets-library://"))
    }

    @Test func standardInputIsImported() throws {
        let outcome = try Launch("library", "import", "--library", self.library.path, "-").run(
            input: Array("piped".utf8))
        let url = String(outcome.text.dropLast())
        #expect(!url.contains("ext="))
        expect(try self.library.run("cat", url), prints: "piped")
    }

    @Test func theSameBytesAreOneAssetUnlessAskedOtherwise() throws {
        let copy = try self.folder.write("hello", to: "copy.txt")
        let urls = try self.library.add(self.file, copy)
        #expect(urls.count == 2 && urls[0] == urls[1])
        let outcome = try self.library.run("library", "import", "--duplicates", copy)
        #expect(!outcome.text.contains(urls[0]))
        #expect(try self.library.run("library", "ls").text.split(separator: "\n").count == 2)
    }

    @Test func processesImportAtOnce() throws {
        let files = try (0..<8).map { try self.folder.write("file \($0 % 4)", to: "file\($0)") }
        let processes = try files.map { try Launch("library", "import", "--library", self.library.path, $0).start() }
        for process in processes { #expect(process.finish().ending == .status(0)) }
        #expect(try self.library.run("library", "ls").text.split(separator: "\n").count == 4)
    }

    @Test func aDamagedOriginalIsAChecksumMismatch() throws {
        let url = try #require(try self.library.add(self.file).first)
        let id = try #require(url.split(separator: "=").dropFirst().first?.prefix(36))
        try Data("jello".utf8).write(
            to: URL(fileURLWithPath: "\(self.library.path)/originals/\(id.prefix(2))/\(id).txt"))
        expect(try self.library.run("cat", url), failsWith: "checksumMismatch", 65, saying: url)
        // Also where reading begins behind the damage, or ends before the end.
        expect(try self.library.run("cat", url, "--offset", "1"), failsWith: "checksumMismatch", 65, saying: url)
        expect(try self.library.run("cat", url, "--length", "1"), failsWith: "checksumMismatch", 65, saying: url)
        // The file that was imported is whole: once more, and the original is too.
        let outcome = try self.library.run("library", "import", self.file)
        #expect(outcome.ending == .status(0) && outcome.text == "\(url)\n")
        #expect(outcome.errorText.contains("repaired") && outcome.errorText.contains(url))
        expect(try self.library.run("cat", url), prints: "hello")
    }

    @Test func theURLsOfManyFilesComeInTheirOrder() throws {
        // More than a group of commits.
        let files = try (0..<130).map { try self.folder.write("number \($0)", to: "file\($0)") }
        let outcome = try Launch(["library", "import", "--library", self.library.path] + files).run()
        #expect(outcome.ending == .status(0), "\(outcome.errorText)")
        expect(try self.library.run("library", "ls"), prints: outcome.text)
        let urls = outcome.text.split(separator: "\n").map(String.init)
        expect(
            try Launch(["cat", "--library", self.library.path, urls[7], urls[129]]).run(), prints: "number 7number 129")
    }

    @Test func noLibraryIsMadeAmongOtherFiles() throws {
        let pictures = self.folder.path("pictures")
        try self.folder.makeFolder("pictures/2020")
        let file = try self.folder.write("mine", to: "pictures/2020/summer.jpg")
        expect(
            try Launch("library", "create", pictures).run(), failsWith: "invalidArgument", 64, saying: "empty", "2020")
        #expect(try String(contentsOfFile: file, encoding: .utf8) == "mine")
    }

    @Test func aMediaTypeOfADamagedCatalogueIsOneLine() throws {
        let url = try #require(try self.library.add(self.file).first)
        let change = "UPDATE original SET media_type = 'image/x' || char(10) || 'y', capture_date = 'a' || char(27)"
        try self.folder.run(
            "python3", "-c",
            """
            import sqlite3; c = sqlite3.connect('library/catalog.sqlite'); c.execute("\(change)"); c.commit()
            """)
        #expect(try self.library.run("info", url).text.contains("media type: image/x%0Ay\n"))
        #expect(try self.library.run("library", "ls", "-l").text.contains("  -  image/x%0Ay  present"))
    }

    @Test func aLibraryIsNotMadeOverAFile() throws {
        for path in [self.file, "\(self.file)/below"] {
            let outcome = try Launch("library", "create", path).run()
            #expect(outcome.ending == .status(path == self.file ? 64 : 66), "\(outcome.errorText)")
            #expect(outcome.errorText.hasPrefix("blob: ") && outcome.errorText.contains("note.TXT"))
            #expect(!outcome.errorText.contains("Cocoa"))
        }
        #expect(try String(contentsOfFile: self.file, encoding: .utf8) == "hello")
    }

    @Test func mistakesAreOneLine() throws {
        expect(try self.library.run("library", "create"), failsWith: "invalidArgument", 64, saying: "already")
        expect(try self.library.run("library", "remove", "x"), failsWith: "invalidLocator", 64)
        expect(try self.library.run("library", "remove", "file:///x"), failsWith: "invalidLocator", 64)
        expect(try self.library.run("library", "import"), failsWith: "invalidArgument", 64)
        expect(try self.library.run("library", "ls", "-l", "--json"), failsWith: "invalidArgument", 64)
        expect(try self.library.run("library", "bogus"), failsWith: "invalidArgument", 64)
        expect(
            try Launch("library", "create", "a", "--library", "b").run(), failsWith: "invalidArgument", 64)
        expect(
            try Launch("library", "ls", "--library", self.folder.path("none")).run(), failsWith: "notFound", 66,
            saying: "No asset library")
    }

    @Test func theSchemeIsRegistered() throws {
        #expect(try Launch("schemes").run().text.contains("assets-library  origin     AssetLibrarySource\n"))
    }
}
#endif
