import BlobStreams
import BlobTestSupport
import Foundation
import Testing

@testable import BlobReceiving

@Suite struct MultipartParserTests {
    private static let form =
        "--B\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\none\r\n"
        + "--B\r\nContent-Disposition: form-data; name=\"f\"; filename=\"x\\y.bin\"\r\nContent-Type: image/png\r\n\r\n"
        + "\r\n--\r\n--A\r\r\n-\r\n--B\r\nContent-Disposition: form-data; name=\"\"\r\n\r\n\r\n--B--\r\n"

    private static let parts = [
        Part(name: "a", content: "one"),
        Part(name: "f", filename: "x\\y.bin", mediaType: "image/png", content: "\r\n--\r\n--A\r\r\n-"),
        Part(name: "", content: ""),
    ]

    @Test func aFormIsTakenApartWhereverItIsSplit() throws {
        let bytes = Array(Self.form.utf8)
        for first in 0...bytes.count {
            // A second split further away meets the parser in no other state.
            for second in first...min(first + 12, bytes.count) {
                let pieces = [bytes[..<first], bytes[first..<second], bytes[second...]]
                #expect(try parse(pieces) == Self.parts, "\(first) \(second)")
            }
        }
        #expect(try parse(bytes.map { [$0] }) == Self.parts)
    }

    @Test func everyPrefixIsTruncatedAndLosesNothingThatCame() throws {
        let bytes = Array(Self.form.utf8)
        // The last line end is the epilogue's.
        for count in 0..<(bytes.count - 2) {
            #expect(throws: BlobError.self) { try parse([bytes[..<count]]) }
            #expect(codeThrown { try parse([bytes[..<count]]) } == .truncated, "\(count)")
        }
        #expect(try parse([bytes.dropLast(2)]) == Self.parts)
    }

    @Test func everyFlippedByteIsAnErrorOrAForm() throws {
        let bytes = Array(Self.form.utf8)
        for index in bytes.indices {
            for bit in 0..<8 {
                let changed = bytes.flipping(1 << bit, at: index)
                let whole = Result { try parse([changed[...]]) }
                let split = Result { try parse(changed.map { [$0][...] }) }
                #expect((try? whole.get()) == (try? split.get()), "\(index) \(bit)")
            }
        }
    }

    @Test func whatStandsBeforeAndBehindIsDropped() throws {
        let text = "preamble\r\n--C\r\n" + Self.form + "--B\r\nepilogue"
        #expect(try parse([Array(text.utf8)[...]]) == Self.parts)
        #expect(try parse(text.utf8.map { [$0][...] }) == Self.parts)
        #expect(try parse([Array(Self.form.replacing("--B\r\n", with: "--B \t\r\n").utf8)[...]]) == Self.parts)
    }

    /// As Go and RFC 2046 have it: the blank line behind the header is the line end of the delimiter.
    @Test func aDelimiterDirectlyBehindAHeaderEndsThePart() throws {
        let disposition = "Content-Disposition: form-data; name="
        let text = "--B\r\n\(disposition)a\r\n\r\n--B\r\n\(disposition)b\r\n\r\n--A\r\n--B--"
        let parts = [Part(name: "a", content: ""), Part(name: "b", content: "--A")]
        #expect(try parse([Array(text.utf8)[...]]) == parts)
        #expect(try parse(text.utf8.map { [$0][...] }) == parts)
    }

    @Test func aFormWithoutPartsHasNone() throws {
        #expect(try parse([Array("--B--\r\n".utf8)[...]]) == [])
        #expect(try parse([Array("\r\n--B--".utf8)[...]]) == [])
    }

    @Test(arguments: [
        "--B\r\nContent-Disposition: form-data; name=a\r\n\r\n1\r\n--Bx\r\n--B--",
        "--B\nContent-Disposition: form-data; name=a\n\n1\n--B--",
        "--B\r\nContent-Disposition: form-data; name=a\n\r\n1\r\n--B--", "--B\r\n\r\n1\r\n--B--",
        "--B\r\nContent-Type: text/plain\r\n\r\n1\r\n--B--", "--B-\r\n", "--B\rx",
        "--B\r\nContent-Disposition: attachment; name=a\r\n\r\n1\r\n--B--",
        "--B\r\nContent-Disposition: form-data\r\n\r\n1\r\n--B--",
        "--B\r\nContent-Disposition: form-data; name=\"a\r\n\r\n1\r\n--B--",
        "--B\r\nContent-Disposition: form-data; name=\"a\"b\r\n\r\n1\r\n--B--",
        "--B\r\nContent-Disposition: form-data; name=a; name=b\r\n\r\n1\r\n--B--",
        "--B\r\nContent-Disposition: form-data; name=a;\r\n filename=b\r\n\r\n1\r\n--B--",
        "--B\r\nContent-Disposition: form-data; name=a b\r\n\r\n1\r\n--B--",
        "--B\r\nContent-Disposition: form-data; name=\"a\0\"\r\n\r\n1\r\n--B--",
        "--B\r\nContent-Disposition: form-data; name=\"a\rb\"\r\n\r\n1\r\n--B--",
        "--B\r\nContent-Disposition : form-data; name=a\r\n\r\n1\r\n--B--",
        "--B\r\nContent-Disposition: form-data; name=a\r\ncontent-disposition: form-data; name=b\r\n\r\n1\r\n--B--",
    ])
    func whatPeersReadDifferentlyIsCorrupted(text: String) {
        let code = codeThrown { try parse([Array(text.utf8)[...]]) }
        let splitCode = codeThrown { try parse(text.utf8.map { [$0][...] }) }
        // A line end that is none only looks like data before the first part.
        #expect(code == .corrupted || text.hasPrefix("--B\n") && code != nil, "\(String(describing: code))")
        #expect(splitCode == code)
    }

    @Test func whatIsTooLargeIsRefused() throws {
        let disposition = "Content-Disposition: form-data; name=a\r\n"
        var limits = MultipartParser.Limits()
        limits.maximumPartCount = 2
        limits.maximumHeaderByteCount = 100
        limits.maximumPreambleByteCount = 10
        let part = "\r\n--B\r\n\(disposition)\r\n"
        for text in [
            part + part + part, "--B\r\n\(disposition)X: " + String(repeating: "x", count: 100),
            String(repeating: "y", count: 11), String(repeating: "\r\n-", count: 10),
            "--B" + String(repeating: " ", count: 100),
        ] {
            #expect(codeThrown { try parse([Array(text.utf8)[...]], limits) } == .limitExceeded, "\(text)")
            #expect(codeThrown { try parse(text.utf8.map { [$0][...] }, limits) } == .limitExceeded, "\(text)")
        }
    }

    @Test(arguments: ["", "a ", String(repeating: "b", count: 71), "a\r\n", "é", "a\"b"])
    func whatCannotBeABoundaryIsRefused(boundary: String) {
        #expect(codeThrown { try MultipartParser(boundary: boundary) } == .invalidArgument)
    }

    @Test func quotedNamesKeepWhatBrowsersSend() throws {
        for (written, name) in [
            (#"a\"b"#, #"a"b"#), (#"a\\b"#, #"a\b"#), (#"C:\dir\x"#, #"C:\dir\x"#), ("%22%0D%0A", "%22%0D%0A"),
            ("naïve 日本語; filename=evil", "naïve 日本語; filename=evil"), (#"ends with\"#, #"ends with\"#),
            ("a\tb", "a\tb"), (#"a\";b"#, #"a";b"#), (#"a\"; x=y"#, #"a"; x=y"#),
        ] {
            let text = "--B\r\nContent-Disposition: form-data; name=\"\(written)\"\r\n\r\n\r\n--B--"
            #expect(try parse([Array(text.utf8)[...]]) == [Part(name: name, content: "")])
        }
    }

    @Test(arguments: [
        (#"name="f"; filename="ends with\""#, #"ends with\"#), (#"name="f\"; filename="x\" "#, #"x\"#),
        (#"filename="x\"; name="f\""#, #"x\"#), (#"filename="x\" ; NAME=f"#, #"x\"#),
        (#"name="f"; filename*=UTF-8''na%C3%AFve%20%22.txt"#, #"naïve ".txt"#),
        (#"name="f"; filename="plain"; filename*=utf-8''other"#, "other"), (#"name="f"; filename*=utf-8'en'"#, ""),
        // Postman, and .NET.
        (#"name="f"; filename="na_ve.txt"; filename*=UTF-8''na%C3%AFve.txt"#, "naïve.txt"),
        (#"name=f; filename="=?utf-8?B?bmHDr3ZlLnR4dA==?="; filename*=utf-8''na%C3%AFve.txt"#, "naïve.txt"),
        (#"filename*=UTF-8''%C3%AF; name=f; filename=i"#, "ï"), (#"name=f; filename=i; filename*=UTF-8''"#, "i"),
        (#"name=f; filename=i; filename*=ISO-8859-1''%EF"#, "i"), (#"name=f; filename=i; filename*=UTF-8''%C"#, "i"),
        ("name=\"f\"; filename=\"a\tb\"", "a\tb"),
    ])
    func fileNamesThatBrowsersAndCurlSendAreTaken(parameters: String, name: String) throws {
        let text = "--B\r\nContent-Disposition: form-data; \(parameters)\r\n\r\n\r\n--B--"
        #expect(try parse([Array(text.utf8)[...]]).map(\.filename) == [name])
    }

    /// A name that another parser would take apart is never taken apart here.
    @Test(arguments: [
        #"name="a\"; filename=\"x""#, #"name="a\"; filename=x; z=\"""#, #"name="a\"; filename=x; filename="y""#,
        #"name="f"; filename*=UTF-8''%2"#, #"name="f"; filename*=ISO-8859-1''a"#, #"name="f"; filename*=a"#,
    ])
    func anAmbiguousNameIsRefused(parameters: String) {
        let text = "--B\r\nContent-Disposition: form-data; \(parameters)\r\n\r\n\r\n--B--"
        #expect(codeThrown { try parse([Array(text.utf8)[...]]) } == .corrupted)
    }

    @Test func randomFormsComeBackWhole() throws {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SplitMix64(seed: seed)
        for _ in 0..<300 {
            let alphabet = Array("\r\n-B".utf8)
            var text: [UInt8] = []
            var parts: [Part] = []
            for number in 0..<Int.random(in: 0...4, using: &random) {
                var content = (0..<Int.random(in: 0...30, using: &random)).compactMap { _ in
                    alphabet.randomElement(using: &random)
                }
                // What holds the delimiter cannot be sent with it.
                if ("\r\n" + String(decoding: content, as: UTF8.self)).utf8Contains("\r\n--B") { content = [] }
                let part = Part(name: "\(number)", content: String(decoding: content, as: UTF8.self))
                parts.append(part)
                text += Array("--B\r\nContent-Disposition: form-data; name=\"\(number)\"\r\n\r\n".utf8) + content
                text += Array("\r\n".utf8)
            }
            text += Array("--B--".utf8)
            var pieces: [ArraySlice<UInt8>] = []
            var rest = text[...]
            while !rest.isEmpty {
                let count = Int.random(in: 1...min(7, rest.count), using: &random)
                pieces.append(rest.prefix(count))
                rest = rest.dropFirst(count)
            }
            #expect(try parse(pieces) == parts, "seed \(seed)")
        }
    }
}

struct Part: Equatable {
    var name: String
    var filename: String?
    var mediaType: String?
    var content: String
}

/// Parses a body with the boundary `B` that comes in pieces; checks the order of the events.
private func parse(
    _ pieces: [some Collection<UInt8>], _ limits: MultipartParser.Limits = .init()
) throws -> [Part] {
    var parser = try MultipartParser(boundary: "B", limits: limits)
    var parts: [Part] = []
    var content: [UInt8]?
    for piece in pieces {
        try Array(piece).withUnsafeBytes { bytes in
            try parser.parse(bytes) { event in
                switch event {
                case .begin(let header):
                    #expect(content == nil)
                    content = []
                    parts.append(
                        Part(
                            name: String(decoding: header.name, as: UTF8.self),
                            filename: header.filename.map { String(decoding: $0, as: UTF8.self) },
                            mediaType: header.mediaType, content: ""))
                case .bytes(let bytes):
                    #expect(!bytes.isEmpty)
                    content?.append(contentsOf: bytes)
                case .end:
                    parts[parts.count - 1].content = String(decoding: content ?? [], as: UTF8.self)
                    content = nil
                }
            }
        }
    }
    try parser.finish()
    #expect(content == nil)
    return parts
}

extension String {
    /// By bytes: CR LF is one character.
    fileprivate func utf8Contains(_ part: String) -> Bool {
        let (bytes, wanted) = (Array(self.utf8), Array(part.utf8))
        guard bytes.count >= wanted.count else { return false }
        return (0...(bytes.count - wanted.count)).contains { Array(bytes[$0..<($0 + wanted.count)]) == wanted }
    }
}
