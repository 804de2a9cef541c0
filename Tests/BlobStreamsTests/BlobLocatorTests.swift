import BlobStreams
import BlobTestSupport
import Foundation
import Testing

@Suite struct BlobLocatorTests {
    // MARK: Grammar

    @Test func theExamplesOfTheDesignAreUnderstood() throws {
        let plain = try BlobLocator("file:///x.bin")
        #expect(plain.scheme == "file")
        #expect(plain.schemeSpecificPart == "///x.bin")
        #expect(plain.selectors.isEmpty)

        let filtered = try BlobLocator("gzip+file:///x.gz")
        #expect(filtered.scheme == "gzip+file")
        #expect(filtered.filePath == Array("/x.gz".utf8))

        let member = try BlobLocator("tar+gzip+file:///x.tgz#dir/a.txt")
        #expect(member.scheme == "tar+gzip+file")
        #expect(member.selectors == [.name("dir/a.txt")])

        let nested = try BlobLocator("zip+tar+gzip+file:///x.tgz#dir/in.zip!/a.txt")
        #expect(nested.selectors == [.name("dir/in.zip"), .name("a.txt")])

        let bySignature = try BlobLocator("archive+file:///x.any#member")
        #expect(bySignature.scheme == "archive+file")

        let asset = try BlobLocator("assets-library://asset/asset.JPG?id=UUID&ext=JPG")
        #expect(asset.scheme == "assets-library")
        #expect(asset.schemeSpecificPart == "//asset/asset.JPG?id=UUID&ext=JPG")
    }

    @Test func selectorsAreBytesAndIndexes() throws {
        #expect(try BlobLocator("a:#@0").selectors == [.index(0)])
        #expect(try BlobLocator("a:#@12!/@3").selectors == [.index(12), .index(3)])
        #expect(try BlobLocator("a:#%400").selectors == [.name("@0")])
        #expect(try BlobLocator("a:#x@0").selectors == [.name("x@0")])
        #expect(try BlobLocator("a:#%21%23%25").selectors == [.name("!#%")])
        #expect(try BlobLocator("a:#%ff%00").selectors == [.name([0xFF, 0])])
        #expect(try BlobLocator("a:#").selectors == [.name("")])
        #expect(try BlobLocator("a:#!/").selectors == [.name(""), .name("")])
        #expect(try BlobLocator("a:").selectors.isEmpty)
    }

    @Test func selectorsAreWrittenSoThatTheyNeedNoQuoting() throws {
        let base = try BlobLocator("zip+file:///x")
        #expect(base.selecting(.name("a b!c#d%e")).text == "zip+file:///x#a%20b%21c%23d%25e")
        #expect(base.selecting(.name("@1")).text == "zip+file:///x#%401")
        #expect(base.selecting(.name("a@1")).text == "zip+file:///x#a@1")
        #expect(base.selecting(.index(1)).text == "zip+file:///x#@1")
        #expect(base.selecting(.name([0xFF, 0x0A])).text == "zip+file:///x#%FF%0A")
        #expect(base.selecting(.name("é")).text == "zip+file:///x#%C3%A9")
        #expect(base.selecting(.name("")).selecting(.name("")).text == "zip+file:///x#!/")
        #expect(base.selecting(.name("a!/b")).selecting(.index(7)).text == "zip+file:///x#a%21/b!/@7")
    }

    @Test func theSchemeIsInLowerCase() throws {
        #expect(try BlobLocator("GZip+FILE:///X").text == "gzip+file:///X")
    }

    // MARK: Malformed

    @Test func everyMalformedFormTellsTheByteThatIsWrong() throws {
        let table: [(text: String, byteOffset: Int64)] = [
            ("", 0), ("x.bin", 0), ("/x.bin", 0), ("#a", 0),
            (":x", 0), ("1file:///x", 0), ("+file:///x", 0), ("/x:y", 0), ("-a:", 0),
            ("gzip++file:///x", 5), ("gzip+:///x", 5), ("gz ip:///x", 2), ("gzip+2file:x", 5), ("a_b:x", 1),
            ("\u{212A}ey:///x", 0), ("fi\u{212A}:///x", 2), ("file\n:x", 4),
            ("file:///a b", 9), ("file:///é", 8), ("file:///a\n", 9), ("file:///a\"", 9), ("file:///\u{0}", 8),
            ("file:///a\\b", 9), ("file:///<>", 8), ("file:///a|b", 9), ("file:///a^", 9), ("file:///`{}", 8),
            ("file:///a%", 9), ("file:///a%2", 9), ("file:///a%G0", 9), ("file:///a%0G", 9),
            ("file:///%41%zz", 11), ("file:///%41b%4", 12),
            ("file:///x#a#b", 11), ("file:///x#a!b", 11), ("file:///x#a!", 11), ("file:///x#!", 10),
            ("file:///x#a!/b!c", 14), ("file:///x#a b", 11), ("file:///x#a[", 11), ("file:///x#é", 10),
            ("file:///x#%", 10), ("file:///x#%41%4", 13), ("file:///x#a!/%41%4x", 16),
            ("file:///x#@", 10), ("file:///x#@x", 10), ("file:///x#@1x", 10), ("file:///x#@-1", 10),
            ("file:///x#@+1", 10), ("file:///x#@%30", 10), ("file:///x#a!/@", 13),
            ("file:///x#@99999999999999999999", 10),
        ]
        for (text, byteOffset) in table {
            let error = try #require(throws: BlobError.self, "\(text)") { try BlobLocator(text) }
            #expect(error.code == .invalidLocator, "\(text)")
            #expect(error.byteOffset == byteOffset, "\(text)")
            #expect(error.operation == "resolve")
            #expect(!error.description.contains("\n"))
        }
    }

    // MARK: Passwords

    @Test func aPasswordIsInTheTextAndNeverInTheDescription() throws {
        let table: [(text: String, description: String)] = [
            ("http://user:secret@host/x", "http://***@host/x"),
            ("http://:secret@host", "http://***@host"),
            ("http://user:@host/", "http://***@host/"),
            ("http://user:se:cret@host:80/a:b@c?q=@", "http://***@host:80/a:b@c?***"),
            ("http://user:se@cret@host/", "http://***@host/"),
            ("http://user:secret@host?a/b", "http://***@host?***"),
            ("gzip+ftp://user:secret@[::1]:21/x.gz", "gzip+ftp://***@[::1]:21/x.gz"),
            ("zip+http://user:secret@host/x#a!/@1", "zip+http://***@host/x#a!/@1"),
            ("http://user@host/x", "http://***@host/x"), ("s3://b/k?versionId=x", "s3://b/k?***"),
            ("assets-library://asset/a.JPG?id=1", "assets-library://asset/a.JPG?id=1"),
            ("https://host/?a=b#dir/c?d", "https://host/?***#dir/c?d"), ("http:a:b@c?d", "***@c?***"),
            ("http://host:80/x@y:z", "http://host:80/x@y:z"),
            ("file:///a:b@c", "file:///a:b@c"),
            ("mem:a:b@c", "mem:a:b@c"),
        ]
        for (text, description) in table {
            let locator = try BlobLocator(text)
            #expect(locator.text == text)
            #expect(locator.description == description)
            #expect("\(locator)" == description)
        }
    }

    @Test func aPasswordIsNotInTheErrorsOfMalformedLocators() throws {
        let texts = [
            "http://user:secret@host/a b", "http://user:secret@host/%", "http://user:sec ret@host/",
            "ht tp://user:secret@host/", "//user:secret@host/x", "user:secret@host/ x",
            "http://user:x@secret@host/ x", "http://user:secret@\u{301}host/", "http://user:secret@host/x#@y",
            "http://user:secret@host/x#a!b", "http://user:x#secret@host/ x", "http://user:secret@host/x y@z",
            "http://user:secret@host/\u{1F1E6}\u{1F1E8}", "gzip++http://user:secret@host/",
        ]
        for text in texts {
            let error = try #require(throws: BlobError.self, "\(text)") { try BlobLocator(text) }
            for shown in ["\(error)", error.message, error.locator ?? "", (error as NSError).localizedDescription] {
                #expect(!shown.contains("secret"), "\(text) is shown as \(shown)")
                #expect(!shown.contains("sec "), "\(text) is shown as \(shown)")
            }
        }
    }

    @Test func aURLIsPrintedWithoutSecrets() {
        for (text, printed) in [
            ("https://me:a@b/x?c#d", "https://***@b/x?***"), ("http://h/a@b", "http://h/a@b"), ("/x?c", "/x?***"),
            ("//me:a@h/x#c", "//***@h/x"), ("me:a@h:80/x", "***@h:80/x"), ("", ""), ("h:80/a@b", "h:80/a@b"),
            ("http://me:p/q@h/x?c", "http://***@h/x?***"), ("http://me:p?q@h/x", "http://***@h/x"),
            ("http:///me:a@h/x", "http://***@h/x"), ("/x?next=http://me:a@h", "/x?***"),
            ("http://[::1]:80/a@b", "http://[::1]:80/a@b"),
            ("{\"a\":\"http://me:a@h?c\"}", "{\"a\":\"http://***@h?***"), ("http://h#?a", "http://h"),
        ] {
            #expect(printableURL(text) == printed, "\(text)")
            #expect(printableURL(printed) == printed)
        }
    }

    @Test func aPasswordIsNotInTheErrorsOfTheRegistry() throws {
        var registry = BlobRegistry()
        try registry.register(
            BlobProvider(
                .origin { _, _ in throw BlobError(.notFound, "Nothing there.") }, schemes: ["far"]))
        for text in ["far://user:secret@host/x", "near://user:secret@host/x", "near+far://user:secret@host/x#a"] {
            let error = try #require(throws: BlobError.self) { try registry.source(for: text) }
            #expect(error.locator?.contains("***@host") == true)
            #expect(!"\(error) \(error.message)".contains("secret"))
        }
    }

    // MARK: Files

    @Test func aFilePathIsBytes() throws {
        let paths: [[UInt8]] = [
            Array("/".utf8), Array("/a b/%41/é?#!@[x]".utf8), [0x2F, 0xFF, 0x0A, 0x80], Array("//double".utf8),
            Array("///triple//x/".utf8), Array("/a;b=c:d&e".utf8), Array("/localhost/x".utf8),
        ]
        for path in paths {
            let locator = BlobLocator(filePath: path)
            #expect(locator.scheme == "file")
            #expect(locator.filePath == path, "\(locator)")
            #expect(try BlobLocator(locator.text) == locator)
            #expect(try BlobLocator(locator.text).filePath == path)
        }
        #expect(BlobLocator(filePath: "/a b".utf8).text == "file:///a%20b")
        #expect(BlobLocator(filePath: [0x2F, 0xFF]).text == "file:///%FF")
    }

    @Test func onlyALocalFileHasAPath() throws {
        func path(_ text: String) throws -> String? {
            try BlobLocator(text).filePath.map { String(decoding: $0, as: UTF8.self) }
        }
        #expect(try path("file:///x") == "/x")
        #expect(try path("file:/x") == "/x")
        #expect(try path("file://localhost/x") == "/x")
        #expect(try path("file:///localhost/x") == "/localhost/x")
        #expect(try path("tar+gzip+file:///x.tgz#a") == "/x.tgz")
        #expect(try path("file:///x%2Fy%00") == "/x/y\0")
        for text in ["file://host/x", "file://localhost.net/x", "file:x", "file:", "file://", "file://localhost"] {
            #expect(try path(text) == nil, "\(text)")
        }
        #expect(try path("file:///x?q") == nil)
        #expect(try path("http:///x") == nil)
        #expect(try path("file+http:///x") == nil)
    }

    // MARK: Wrappers

    @Test func wrappersAreAddedOnTheOutside() throws {
        let file = try BlobLocator("file:///x")
        #expect(try file.wrapped(in: "gzip").text == "gzip+file:///x")
        #expect(try file.wrapped(in: "gzip").wrapped(in: "TAR").text == "tar+gzip+file:///x")
        #expect(try file.selecting(.name("a")).wrapped(in: "zip").text == "zip+file:///x#a")
        for wrapper in ["", "gz ip", "1x", "gzip+", "+gzip", "gzip:", "gzip:x", "gzip://user:secret@host/", "é", "#"] {
            let error = try #require(throws: BlobError.self, "\(wrapper)") { try file.wrapped(in: wrapper) }
            #expect(error.code == .invalidLocator)
            #expect(!"\(error)".contains("secret"))
        }
    }

    // MARK: Properties

    @Test func anySelectorsComeBackFromTheirText() throws {
        var random = SplitMix64(announcedBy: "anySelectorsComeBackFromTheirText")
        let bases = try ["file:///x", "a:", "zip+http://u:p@h:1/a%20b?c=%23", "tar+gzip+file:///%FF"]
            .map(BlobLocator.init)
        for round in 0..<1000 {
            var locator = bases[round % bases.count]
            for _ in 0..<Int.random(in: 0...8, using: &random) { locator = locator.selecting(random.selector()) }
            let text = locator.text
            let back = try BlobLocator(text)
            #expect(back == locator, "\(text)")
            #expect(back.text == text)
            #expect(text.utf8.allSatisfy { 0x21...0x7E ~= $0 }, "\(text)")
            #expect(URL(string: text, encodingInvalidCharacters: false)?.absoluteString == text)
        }
    }

    @Test func anyPathComesBackFromItsText() throws {
        var random = SplitMix64(announcedBy: "anyPathComesBackFromItsText")
        for _ in 0..<500 {
            let path = Array("/".utf8) + random.bytes()
            let locator = BlobLocator(filePath: path)
            #expect(try BlobLocator(locator.text) == locator)
            #expect(try BlobLocator(locator.text).filePath == path, "\(locator)")
        }
    }

    @Test func aDamagedTextIsRefusedOrUnderstoodForGood() throws {
        var random = SplitMix64(announcedBy: "aDamagedTextIsRefusedOrUnderstoodForGood")
        for _ in 0..<2000 {
            var locator = try BlobLocator("zip+gzip+http://u:p@h/%41?q")
            for _ in 0..<Int.random(in: 0...3, using: &random) { locator = locator.selecting(random.selector()) }
            var bytes = Array(locator.text.utf8)
            for _ in 0..<Int.random(in: 1...3, using: &random) { random.damage(&bytes) }
            let text = String(decoding: bytes, as: UTF8.self)
            do {
                let parsed = try BlobLocator(text)
                #expect(try BlobLocator(parsed.text) == parsed, "\(text)")
                #expect(try BlobLocator(parsed.text).text == parsed.text, "\(text)")
            } catch {
                #expect(error.code == .invalidLocator, "\(text)")
                let byteOffset = try #require(error.byteOffset)
                #expect((0...Int64(text.utf8.count)).contains(byteOffset), "\(text)")
            }
        }
    }
}

extension SplitMix64 {
    /// A generator whose seed is printed; `BLOB_TEST_SEED` repeats a run.
    fileprivate init(announcedBy name: String) {
        let seed = environmentNumber("BLOBSTREAMS_SEED") ?? UInt64.random(in: 0 ... .max)
        print("\(name): BLOB_TEST_SEED=\(seed)")
        self.init(seed: seed)
    }

    /// Any bytes, with the ones that mean something more often than others.
    fileprivate mutating func bytes() -> [UInt8] {
        let special = Array("@!#%/+?:&=[] \n\0é".utf8) + [0xFF, 0xC0]
        return (0..<Int.random(in: 0...12, using: &self)).map { _ in
            Bool.random(using: &self)
                ? UInt8.random(in: 0 ... .max, using: &self)
                : special[Int.random(in: 0..<special.count, using: &self)]
        }
    }

    fileprivate mutating func selector() -> BlobLocator.Selector {
        switch Int.random(in: 0..<6, using: &self) {
        case 0: .index(Int.random(in: 0 ... .max, using: &self))
        case 1: .index(Int.random(in: 0...20, using: &self))
        case 2: .name(Array("@".utf8) + self.bytes())
        case 3: .name([])
        default: .name(self.bytes())
        }
    }

    fileprivate mutating func damage(_ bytes: inout [UInt8]) {
        let index = Int.random(in: 0..<max(bytes.count, 1), using: &self)
        switch Int.random(in: 0..<3, using: &self) {
        case 0: bytes.insert(contentsOf: self.bytes().prefix(1), at: min(index, bytes.count))
        case 1 where !bytes.isEmpty: bytes.remove(at: index)
        default: if !bytes.isEmpty { bytes[index] = UInt8.random(in: 0 ... .max, using: &self) }
        }
    }
}
