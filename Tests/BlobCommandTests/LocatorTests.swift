#if Command
import BlobTestSupport
import Foundation
import Testing

/// What an argument can be, and which file it means.
@Suite struct LocatorTests {
    private let folder: TemporaryFolder

    init() throws { self.folder = try TemporaryFolder() }

    @Test func aPathAFileURLAndStandardInputAreRead() throws {
        let path = try self.folder.write("hello", to: "a")
        expect(try Launch("cat", path).run(), prints: "hello")
        expect(try Launch("cat", "file://\(path)").run(), prints: "hello")
        expect(try Launch("cat", "file://localhost\(path)").run(), prints: "hello")
        expect(try Launch("cat", "FILE:\(path)").run(), prints: "hello")
        expect(try Launch("cat", "-").run(input: Array("input".utf8)), prints: "input")
        expect(try Launch("cat", "stdin:").run(input: Array("input".utf8)), prints: "input")
        expect(try Launch("cat", path, "-", path).run(input: Array("-".utf8)), prints: "hello-hello")
    }

    @Test func aDataURLIsReadWhereverALocatorIs() throws {
        expect(try Launch("cat", "data:,hello%20world").run(), prints: "hello world")
        let gzip = "gzip+data:application/gzip;base64,H4sIAAAAAAACA8tIzcnJBwCGphA2BQAAAA=="  // As of gzip(1).
        expect(try Launch("cat", gzip).run(), prints: "hello")
        let info = try Launch("info", "data:text/html,x").run().text
        #expect(info.contains("locator: data:text/html,x\n") && info.contains("media type: text/html\n"))
        expect(
            try Launch("form", "--boundary", "B", "-F", "a=@\"data:a/b,x\"", "-F", "b=<data:,y").run(),
            prints: "--B\r\nContent-Disposition: form-data; name=\"a\"; filename=\"blob\"\r\n"
                + "Content-Type: a/b\r\n\r\nx\r\n"
                + "--B\r\nContent-Disposition: form-data; name=\"b\"\r\n\r\ny\r\n--B--\r\n")
        expect(try Launch("cat", "data:;base64,a").run(), failsWith: "invalidLocator", 64, saying: "(at byte 14)")
    }

    @Test(arguments: [
        "a#b", "#", "a#", "a+b", "gzip+a", "a b", " ", "100%", "%41", "a\nb", "a:b", "file:a", "stdin:", "http://x",
        "a?b", "a!b", "@1", "é", "a\\b", "\u{1}", "~", "*", "'", "\"", "$x", "archive+a", "a#b#c!/d",
    ])
    func aFileThatIsNamedSoWins(name: String) throws {
        let name = name.replacing("/", with: "_")
        try self.folder.write(name, to: name)
        expect(try Launch("cat", self.folder.path(name)).run(), prints: name)
        let inside = self.inFolder("cat", name)
        expect(try inside.run(), prints: name)
        // The locator that `info` prints means the same file.
        let info = self.inFolder("info", "--json", name)
        let object = try JSONSerialization.jsonObject(with: Data(info.run().output)) as? [String: Any]
        let locator = try #require(object?["locator"] as? String)
        #expect(locator.hasPrefix("file:///"))
        expect(try Launch("cat", locator).run(), prints: name)
    }

    @Test func aNameWithALeadingDashFollowsTwoDashes() throws {
        try self.folder.write("dash", to: "-x")
        try self.folder.write("help", to: "--help")
        expect(try self.inFolder("cat", "--", "-x", "--help").run(), prints: "dashhelp")
        expect(try self.inFolder("cat", "./-x").run(), prints: "dash")
        expect(try self.inFolder("cat", "--", "-").run(input: [65]), prints: "A")
        expect(try self.inFolder("cat", "-x").run(), failsWith: "invalidArgument", 64)
    }

    @Test func aNameThatIsNoUTF8IsReadAsItIs() throws {
        for name: [UInt8] in [[0xFF], [0x61, 0xC3], [0xED, 0xA0, 0x80], [0xFE, 0x20, 0x23, 0x25]] {
            try self.folder.write(name, to: name)
            let path = self.folder.pathBytes(name)
            expect(try Launch(raw: Array("cat".utf8), path).run(), prints: name)
            for launch in [
                Launch(raw: Array("cat".utf8), name), Launch(raw: Array("cat".utf8), Array("--".utf8), name),
            ] {
                expect(try launch.inFolder(self.folder).run(), prints: name)
            }
            let encoded = name.map { "%" + ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
            expect(try Launch("cat", "file://\(self.folder.path)/\(encoded)").run(), prints: name)
        }
    }

    @Test func aNameThatIsNoUTF8AndIsNotThereIsNamedInItsLocator() throws {
        let path = self.folder.pathBytes(Array("x".utf8) + [0xFF])
        let outcome = try Launch(raw: Array("cat".utf8), path).run()
        expect(outcome, failsWith: "notFound", 66, saying: "\(self.folder.path)/x%FF")
    }

    @Test func anOptionWithAValueThatIsNoUTF8IsNotTakenForALocator() throws {
        let path = try self.folder.write("hello", to: "a")
        let outcome = try Launch(
            raw: Array("cat".utf8), Array(path.utf8), Array("--output=\(self.folder.path)/".utf8) + [0xFF]
        ).run()
        expect(outcome, failsWith: "invalidArgument", 64, saying: "%FF")
        #expect(self.folder.names == ["a"])
    }

    @Test func aListMayBeNamedByBytesThatAreNoUTF8() throws {
        let path = try self.folder.write("hello", to: "a")
        try self.folder.write(Array(path.utf8), to: [0xFF])
        let list = self.folder.pathBytes([0xFF])
        expect(try Launch(raw: Array("cat".utf8), Array("--from-file".utf8), list).run(), prints: "hello")
    }

    @Test func aMemberOfAFileThatIsNoContainerIsUnsupported() throws {
        let path = try self.folder.write("hello", to: "a")
        for command in ["cat", "info", "sum"] {
            for argument in ["\(path)#member", "file://\(path)#member", "archive+\(path)#x", "\(path)#a/b!/c d"] {
                expect(try Launch(command, argument).run(), failsWith: "unsupported", 65)
            }
        }
        expect(try Launch("cat", self.folder.path("none#member")).run(), failsWith: "notFound", 66)
    }

    @Test func anUnknownSchemeListsWhatIsRegistered() throws {
        for command in ["cat", "info", "sum"] {
            expect(
                try Launch(command, "bogus:x").run(), failsWith: "notRegistered", 64, saying: "'bogus'", "file, ",
                "https, ", "stdin")
        }
        let outcome = try Launch("cat", "bogus+file:///x").run()
        expect(outcome, failsWith: "notRegistered", 64, saying: "'bogus'", "gzip, ", "more.")
        #expect(!outcome.errorText.contains("stdin"))
    }

    @Test func aPasswordIsNotRepeated() throws {
        let outcome = try Launch("cat", "bogus://user:secret@host/x").run()
        expect(outcome, failsWith: "notRegistered", 64)
        #expect(!outcome.errorText.contains("secret"))
    }

    @Test(arguments: ["file:", "file:x", "file://host/x", "file:///x y", "file:///%", "stdin:x", "file:///x#a!b", "-#"])
    func aLocatorThatIsNoneIsInvalid(locator: String) throws {
        let outcome = try Launch("cat", locator).run()
        #expect(outcome.ending != .status(0))
        #expect(outcome.output.isEmpty)
        #expect(outcome.errors.count { $0 == UInt8(ascii: "\n") } == 1)
        if locator != "-#" { expect(outcome, failsWith: "invalidLocator", 64) }
    }

    @Test func aSymbolicLinkIsFollowed() throws {
        try self.folder.write("hello", to: "a")
        try #require(symlink("a", self.folder.path("link")) == 0)
        try #require(symlink("none", self.folder.path("dangling")) == 0)
        expect(try Launch("cat", self.folder.path("link")).run(), prints: "hello")
        expect(try Launch("cat", self.folder.path("dangling")).run(), failsWith: "notFound", 66)
    }

    @Test func standardInputIsTakenOnce() throws {
        expect(
            try Launch("cat", "-", "-").run(input: [65]), failsWith: "unsupported", 65, saying: "once", after: [65])
    }

    private func inFolder(_ arguments: String...) -> Launch {
        Launch(arguments).inFolder(self.folder)
    }

    @Test func aFileWithAColonInItsNameHasMembers() throws {
        let path = self.folder.path("a:b.zip")
        let script = "import sys, zipfile; zipfile.ZipFile(sys.argv[1], 'w').writestr('x', 'hello')"
        try self.folder.run("python3", "-c", script, path)
        for name in ["a:b.zip#x", "./a:b.zip#x", "\(path)#x"] {
            expect(try self.inFolder("cat", name).run(), prints: "hello")
        }
        expect(try self.inFolder("cat", "c:b.zip#x").run(), failsWith: "notRegistered", 64)
    }
}
#endif
