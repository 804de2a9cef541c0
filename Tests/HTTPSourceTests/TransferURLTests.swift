import BlobCore
import BlobTestSupport
import Testing

@testable import BlobTransfer

/// URLs of which only the folder is parsed again and again.
@Suite struct TransferURLTests {
    /// All are as if each were parsed alone.
    private static func check(_ texts: [String]) {
        var parser = TransferURLParser()
        for text in texts {
            let found = try? parser.url(text)
            #expect(found == (try? TransferURL(text)), "\(text)")
        }
    }

    @Test func aComponentChangesNothingElse() {
        let texts = [
            "http://h/a", "http://h/b", "http://h/", "http://h", "http://", "http:///x", "http:/x", "http://h//x",
            "http://h//", "http://h/a/b", "http://h/a/c", "http://h/a?b/c", "http://h/a?b/d", "http://h/a#b/c",
            "http://u:p@h/x", "http://u:p@h/y", "http://u@h/@", "http://h/a@b/c:d", "http://h:80/x", "http://h:80/y",
            "http://h:080/x", "HTTP://H/x", "http://H/y", "https://h/x", "ftp://h/x", "http://[::1]/x",
            "http://[::1]:8/y",
            "http://h/a/../b", "http://h/a/./", "http://h/%2e%2E/x", "http://h/%zz", "http://h/a b", "http://h/ä",
            "http://h/a\\b", "http://h?x/y", "http://h#x/y", "http://a:b:c/x", "http://h:99999/x", "x", "", "/",
            "//h/x",
        ]
        Self.check(texts)
        Self.check(texts.reversed())
        Self.check(texts.flatMap { [$0, $0] })
    }

    /// References as RFC 3986, section 5.4, resolves them, and as servers write them.
    @Test(arguments: [
        ("", "http://h/a/b?q"), ("#f", "http://h/a/b?q"), ("?z", "http://h/a/b?z"), ("c", "http://h/a/c"),
        ("./", "http://h/a/"), ("..", "http://h/"), ("../../c", "http://h/c"), ("/", "http://h/"),
        ("//g", "http://g/"), ("c d?e f", "http://h/a/c%20d?e+f"), ("/%C3%A4", "http://h/%C3%A4"),
        ("http://g", "http://g/"), ("HTTP://u:p@G:80/x#f", "http://G:80/x"),
    ]) func aLocationIsResolved(location: String, url: String) throws {
        let found = try TransferURL("http://u:p@h/a/b?q#f").resolving(location)
        #expect(found.text == url)
        #expect((found.credentials == nil) == !location.contains("u:p@"))
    }

    /// The bytes of a path in an old encoding, and in none.
    @Test(arguments: [
        ("/caf\u{E9}", "/caf%E9"), ("/\u{C3}\u{A9}", "/%C3%A9"), ("/\u{FF}\u{80}x?\u{E9}", "/%FF%80x?%E9"),
        ("http://h/%e9", "http://h/%e9"),
    ]) func theBytesOfALocationAreThoseThatCame(latin1: String, location: String) throws {
        var head = ResponseHead()
        for line in ["HTTP/1.1 302 Found\r\n", "LOCATION:  \(latin1) \r\n", "Location: /second\r\n", "\r\n"] {
            try line.unicodeScalars.map { UInt8($0.value) }.withUnsafeBytes { try head.take($0) }
        }
        #expect(head.location == location)
        #expect(try TransferURL("http://h/").resolving(location).path.hasPrefix("/"))
    }

    @Test(arguments: [
        ["http://h/", "http://h:80/x", "HTTP://H:080?q", "http://u:p@h#f", "http://%68/"],
        ["https://h/", "https://H:443/"], ["http://127.0.0.1/", "http://2130706433/", "http://0x7f.1:80/"],
        ["http://[::1]/", "http://[0:0:0:0:0:0:0:1]:80/"], ["http://\u{E4}.example/", "http://%C3%A4.example/"],
    ]) func anOriginHasManySpellings(urls: [String]) throws {
        let origins = try urls.map { try TransferURL($0).origin }
        #expect(origins.allSatisfy { $0 == origins[0] }, "\(origins)")
    }

    @Test(arguments: [
        "https://h/", "http://h:81/", "http://h./", "http://g/", "http://h.h/", "http://g@h:443/", "http://h@g/",
        "http://[fe80::1%25a]/",
    ]) func otherOriginsAreOthers(url: String) throws {
        #expect(try TransferURL("http://h/").origin != TransferURL(url).origin)
        #expect(try TransferURL("http://[fe80::1%25b]/").origin != TransferURL(url).origin)
    }

    @Test func theFolderIsParsedOnce() throws {
        var parser = TransferURLParser()
        _ = try parser.url("http://u:p@h/a/b")
        #expect(parser.folder?.url == (try TransferURL("http://u:p@h/a/")))
        _ = try parser.url("http://h?x/y")
        #expect(parser.folder?.text == "http://u:p@h/a/")
    }

    @Test func anyTextIsParsedAsAlone() {
        var random = SplitMix64(seed: 1)
        let pieces = ["/", "//", ":", "?", "#", "@", "a", "b.c", "%2F", "..", "[::1]", "80", "\\", " ", "u:p"]
        for _ in 0..<300 {
            let base = "http://" + (0..<3).map { _ in pieces.randomElement(using: &random) ?? "" }.joined()
            Self.check(
                (0..<6).map { _ in
                    base + "/" + (0..<3).map { _ in pieces.randomElement(using: &random) ?? "" }.joined()
                })
        }
    }
}
