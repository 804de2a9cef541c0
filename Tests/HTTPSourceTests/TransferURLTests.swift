import BlobCore
import Testing

@testable import BlobTransfer

/// URLs as libcurl takes them.
@Suite struct TransferURLTests {
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
            try line.unicodeScalars.map { UInt8($0.value) }.withUnsafeBytes { try head.parse($0) }
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
}
