#if Command
import BlobTestSupport
import Foundation
import Testing

/// `blob library adjust`, and the versions of an asset.
@Suite struct LibraryAdjustTests {
    private let library: CommandLibrary
    private let picture = CommandLibrary.picture
    private let url: String
    private var folder: TemporaryFolder { self.library.folder }

    init() throws {
        self.library = try CommandLibrary()
        self.url = try self.library.add(self.library.folder.write(self.picture, to: "a.png"))[0]
    }

    @Test func mistakesAreOneLine() throws {
        for arguments in [
            ["--crop", "1,2,3"], ["--crop", "1,2,3,x"], ["--rotate", "45"], ["--straighten", "46"],
            ["--exposure", "-11"],
            ["--orientation", "9"], ["--reset", "--rotate", "90"], [], ["--crop", "0,0,5,2"], ["--crop", "-1,0,2,2"],
        ] {
            let outcome = try Launch(
                ["library", "adjust", "--library", self.library.path, self.url] + arguments
            ).run()
            #expect(outcome.ending == .status(64), "\(arguments): \(outcome.errorText)")
            #expect(outcome.errorText.hasPrefix("blob: invalidArgument: "), "\(outcome.errorText)")
        }
        expect(
            try self.library.run("library", "adjust", UUID().uuidString, "--rotate", "90"), failsWith: "notFound", 66)
    }

    @Test func theOriginalStaysAVersion() throws {
        let file = try self.folder.write("text", to: "b.txt")
        let text = String(try self.library.run("library", "import", file).text.dropLast())
        expect(try self.library.run("library", "adjust", text, "--rotate", "90"), failsWith: "unsupported", 65)
        expect(try self.library.run("library", "adjust", self.url, "--rotate", "-90"), prints: "")
        let original = try self.library.run("cat", "\(self.url)&version=original")
        #expect(original.ending == .status(0) && Array(original.output) == self.picture)
        expect(
            try self.library.run("cat", "\(self.url)&version=x"), failsWith: "invalidLocator", 64, saying: "original")
        expect(try self.library.run("library", "adjust", self.url, "--reset"), prints: "")
        #expect(try Array(self.library.run("cat", self.url).output) == self.picture)
    }

    @Test func anAdjustedPictureIsListedWithoutALength() throws {
        let column = { (number: Int) in
            try self.library.run("library", "ls", "-l").text.dropLast().split(separator: "  ").map(String.init)[number]
        }
        let row = {
            let text = try self.library.run("library", "ls", "--json").text
            return try #require(JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        }
        #expect(try column(1) == "\(self.picture.count)" && column(5) == "present")
        #expect(try row()["adjusted"] as? Bool == false && row()["byte_count"] as? Int == self.picture.count)
        expect(try self.library.run("library", "adjust", self.url, "--rotate", "90"), prints: "")
        #expect(try (1...5).map(column) == ["-", "2x4", "-", "image/jpeg", "adjusted"])
        let adjusted = try row()
        #expect(adjusted["adjusted"] as? Bool == true && adjusted["byte_count"] == nil && adjusted["sha256"] == nil)
        #expect(adjusted["original_byte_count"] as? Int == self.picture.count && adjusted["pixel_width"] as? Int == 2)
        let sidecar = try self.folder.write("Apple's", to: "b.AAE")
        expect(try self.library.run("library", "adjust", self.url, "--sidecar", sidecar, "--reset"), prints: "")
        #expect(try column(1) == "-" && column(5) == "unrenderable")
        #expect(try row()["unrenderable_adjustments"] as? [String] == ["AAE"])
        #expect(try row()["original_sha256"] is String && row()["byte_count"] == nil)
    }

    @Test func theFactsOfAnAdjustedPictureAreThoseOfItsBytes() throws {
        expect(try self.library.run("library", "adjust", self.url, "--rotate", "90"), prints: "")
        let bytes = try self.library.run("cat", self.url)
        // Without libvips there are none.
        guard bytes.ending != .status(69) else { return }
        let facts = try self.library.run("info", self.url).text
        for line in [
            "bytes: \(bytes.output.count)", "width in pixels: 2", "height in pixels: 4", "adjusted: yes",
            "original bytes: \(self.picture.count)",
        ] {
            #expect(facts.contains("\n\(line)\n"), "\(facts)")
        }
        #expect(try !self.library.run("info", "\(self.url)&version=original").text.contains("adjusted"))
    }

    @Test func anOptionChoosesWhatIsReadInPlaceOfAPictureThatCannotBeRendered() throws {
        let sidecar = try self.folder.write("Apple's", to: "b.AAE")
        expect(try self.library.run("library", "adjust", self.url, "--sidecar", sidecar), prints: "")
        expect(try self.library.run("cat", self.url, "--unrenderable", "fail"), failsWith: "unsupported", 65)
        #expect(try Array(self.library.run("cat", self.url, "--unrenderable", "original").output) == self.picture)
        expect(try self.library.run("cat", self.url, "--unrenderable", "render"), failsWith: "unsupported", 65)
        let file = try self.folder.write("rendered", to: "b.jpg")
        let render = String(try self.library.run("library", "import", file).text.dropLast())
        expect(try self.library.run("library", "adjust", self.url, "--stored-render", render), prints: "")
        expect(try self.library.run("cat", self.url, "--unrenderable", "render"), prints: "rendered")
        expect(
            try self.library.run("cat", "\(self.url)&unrenderable=fail", "--unrenderable", "render"),
            failsWith: "unsupported",
            65)
        expect(try self.library.run("cat", self.url, "--unrenderable", "x"), failsWith: "invalidArgument", 64)
        let output = self.folder.path("o")
        expect(
            try self.library.run("library", "adjust", self.url, "--render", output, "--unrenderable", "original"),
            prints: "")
        #expect(try Array(Data(contentsOf: URL(fileURLWithPath: output))) == self.picture)
    }

    @Test func whatIsNoAssetIsNamedInPlainWords() throws {
        let file = self.folder.path("a.png")
        for (argument, kind) in [(file, "a file"), (self.folder.path, "a folder"), ("ph", "not an asset")] {
            for command in [["adjust", "--rotate", "90"], ["remove"], ["thumbnail"]] {
                expect(
                    try Launch(["library"] + command + [argument, "--library", self.library.path]).run(),
                    failsWith: "invalidLocator", 64,
                    saying: "is \(kind)", "blob library ls")
            }
        }
        expect(try self.library.run("library", "ls", "ph"), failsWith: "invalidArgument", 64, saying: "--library ph")
    }

    @Test func sidecarsAndRendersOfOthersAreKept() throws {
        let sidecar = try self.folder.write("Apple's", to: "b.AAE")
        expect(try self.library.run("library", "adjust", self.url, "--sidecar", sidecar), prints: "")
        expect(try self.library.run("cat", self.url), failsWith: "unsupported", 65, saying: "AAE")
        let file = try self.folder.write("rendered", to: "b.jpg")
        let render = String(try self.library.run("library", "import", file).text.dropLast())
        expect(try self.library.run("library", "adjust", self.url, "--stored-render", render), prints: "")
        expect(try self.library.run("cat", "\(self.url)&unrenderable=render"), prints: "rendered")
        // Made of another adjustment.
        try self.folder.write("Another", to: "b.AAE")
        expect(try self.library.run("library", "adjust", self.url, "--sidecar", sidecar), prints: "")
        expect(try self.library.run("cat", "\(self.url)&unrenderable=render"), failsWith: "unsupported", 65)
        expect(
            try self.library.run("library", "adjust", self.url, "--sidecar", file), failsWith: "invalidArgument", 64,
            saying: ".aae")
        expect(
            try self.library.run("library", "adjust", self.url, "--stored-render", UUID().uuidString),
            failsWith: "notFound",
            66)
    }

    @Test func aPictureThatCannotBeRenderedIsNeverTheOriginal() throws {
        try self.folder.write(Array("Apple's".utf8), to: "c.AAE")
        let file = try self.folder.write(self.picture + [0], to: "c.png")
        let url = String(try self.library.run("library", "import", file).text.dropLast())
        expect(try self.library.run("cat", url), failsWith: "unsupported", 65, saying: url, "AAE")
        #expect(try self.library.run("cat", "\(url)&version=original").ending == .status(0))
        let original = try self.library.run("cat", "\(url)&unrenderable=original")
        #expect(original.ending == .status(0) && Array(original.output) == self.picture + [0])
        expect(try self.library.run("cat", "\(url)&unrenderable=render"), failsWith: "unsupported", 65, saying: "AAE")
        expect(try self.library.run("cat", "\(url)&unrenderable=x"), failsWith: "invalidLocator", 64, saying: "render")
        expect(try self.library.run("cat", "\(url)&unrenderable=fail"), failsWith: "unsupported", 65)
        // Our own adjustment replaces the other; without a helper it cannot be rendered.
        expect(try self.library.run("library", "adjust", url, "--rotate", "180"), prints: "")
        let launch = Launch("cat", url, "--library", self.library.path).with {
            $0.prelude = "export BLOB_MEDIA_HELPER=/nonexistent"
        }
        expect(try launch.run(), failsWith: "unavailable", 69, saying: "/nonexistent")
    }
}
#endif
