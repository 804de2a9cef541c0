import BlobTestSupport
import Foundation
import Testing

@testable import BlobCore
@testable import BlobStreams

@Suite struct DataURLTests {
    private static let ascii = "text/plain;charset=US-ASCII"

    @Test(
        arguments: [
            ("data:,", ascii, ""), ("data:,hello", ascii, "hello"), ("DATA:,hello%20world", ascii, "hello world"),
            ("data:,a,b;c?d=e/f", ascii, "a,b;c?d=e/f"), ("data:,a+b", ascii, "a+b"),
            ("data:,a%2Bb%23c", ascii, "a+b#c"),
            ("data:text/html,%3Cp%3E", "text/html", "<p>"),
            ("data:;charset=utf-8,%C3%A9", "text/plain;charset=utf-8", "é"),
            ("data:text/x;a=%22b%22;c=d,x", "text/x;a=\"b\";c=d", "x"), ("data:;base64,", ascii, ""),
            ("data:;base64,aGVsbG8=", ascii, "hello"), ("data:;base64,aGVsbG8", ascii, "hello"),
            ("data:a/b;BASE64,aGVs%0D%0AbG8%3D", "a/b", "hello"), ("data:a/b;base64,Pz8/Pj4%2B", "a/b", "???>>>"),
            ("data:a/b;base64,Pz8/Pj4+", "a/b", "???>>>"), ("data:a/b;base64=x,aGk=", "a/b;base64=x", "aGk="),
        ])
    func aURLHoldsItsTypeAndItsBytes(text: String, mediaType: String, content: String) throws {
        let source = try registry.source(for: text)
        #expect(try source.data(upTo: 100) == Data(content.utf8))
        #expect(try source.info().mediaType == mediaType)
        #expect(try source.info().byteCount == Int64(content.utf8.count))
        #expect(source.traits == [.neverBlocks, .repeatable, .concurrentReaders])
    }

    @Test(
        arguments: [
            ("data:", 5), ("data:hello", 10), ("data:hello,x", 5), ("data:a/,x", 5), ("data:/b,x", 5),
            ("data:a/b/c,x", 5), ("data://a/b,x", 5), ("data:a%20/b,x", 5), ("data:a/b%0Ax,y", 5),
            ("data:a/b;c=%C3%A9,y", 5),
            ("data:base64,aGk=", 5), ("data:;base64,a", 14), ("data:;base64,aGk=!", 17), ("data:;base64,aG*k", 15),
            ("data:;base64,aG%2Ak", 15), ("data:;base64,aGk==", 18), ("data:;base64,aGk=aGk=", 17),
            ("data:;base64,aGl=", 17), ("data:;base64,aG-_", 15), ("data:;base64,====", 17), ("data:;base64,=", 14),
            ("data:,a%2", 7), ("data:,a b", 7), ("data:,é", 6),
        ] as [(String, Int64)])
    func aMalformedURLTellsTheByte(text: String, byteOffset: Int64) throws {
        let error = try #require(throws: BlobError.self) { try registry.source(for: text) }
        #expect(error.code == .invalidLocator)
        #expect(error.byteOffset == byteOffset)
    }

    /// A `#` begins the selectors (RFC 3986, section 3.5), which need a container.
    @Test func dataEndsAtANumberSign() {
        #expect(codeThrown { try registry.source(for: "data:,a#b") } == .unsupported)
    }

    @Test func aLongURLIsShownInPart() throws {
        let text = "data:;base64," + String(repeating: "A", count: 100_001)
        let error = try #require(throws: BlobError.self) { try registry.source(for: text) }
        #expect(error.description.utf8.count < 2000)
    }

    /// Each byte value and length, as Foundation encodes them; every prefix and every flipped bit of it ends at once.
    @Test func base64IsWhatFoundationTakesItFor() throws {
        for length in 0...20 {
            let bytes = Data((0..<length).map { UInt8(truncatingIfNeeded: $0 * 89 + length * 31) })
            let url = "data:;base64," + bytes.base64EncodedString()
            #expect(try registry.source(for: url).data(upTo: 100) == bytes)
            for end in url.utf8.indices {
                _ = try? registry.source(for: String(url[..<end])).data(upTo: 100)
                for bit in 0..<8 {
                    var flipped = Array(url.utf8)
                    flipped[url.utf8.distance(from: url.startIndex, to: end)] ^= 1 << bit
                    let text = String(decoding: flipped, as: UTF8.self)
                    guard text.hasPrefix("data:;base64,"), let data = try? registry.source(for: text).data(upTo: 100)
                    else { continue }
                    // What is accepted is what the other decoder accepts, if it ignores white space and fills up.
                    let characters = text.dropFirst(13).filter { $0 != "=" }.removingPercentEncoding ?? ""
                    let padded = characters.padding(
                        toLength: (characters.count + 3) / 4 * 4, withPad: "=", startingAt: 0)
                    #expect(Data(base64Encoded: padded) == data, "\(text)")
                }
            }
        }
    }

    private var registry: BlobRegistry {
        var registry = BlobRegistry()
        try? registry.register(.dataURL)
        return registry
    }
}
