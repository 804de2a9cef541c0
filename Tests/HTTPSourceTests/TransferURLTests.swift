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
