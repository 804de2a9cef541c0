import BlobStreamsStandard
import BlobTestSupport
import Foundation
import MultipartFormData
import MultipartURLRequest
import Testing

/// Nested parameters, and the media types of files without an extension.
@Suite struct ParameterTests {
    /// The names and values of the fields, one a line.
    private func fields(_ parameters: [String: MultipartValue]) async throws -> [String] {
        let all = try await bytes(of: makeBody { try $0.appendParts(parameters) })
        let parts = String(decoding: all, as: UTF8.self).components(separatedBy: "--B\r\n").dropFirst()
        return parts.map { part in
            let lines = part.components(separatedBy: "\r\n")
            #expect(lines[1] == "")
            return lines[0].replacingOccurrences(of: "Content-Disposition: form-data; name=", with: "") + "=" + lines[2]
        }
    }

    /// As `AFQueryStringPairsFromDictionary` of AFNetworking 4.0.1 names and orders them.
    @Test func nestedParametersAreFlattenedAsByAFNetworking() async throws {
        let found = try await self.fields([
            "title": "Holidays", "tags": ["sun", "sea"], "place": ["lon": "12.1", "lat": "54.1"],
            "people": [["name": "A", "age": "1"], ["name": "B"]], "set": .set(["c", "a", "b"]), "none": nil,
            "deep": ["a": ["b": ["c": .data(Data("x".utf8))]]], "empty": [], "nothing": [:],
        ])
        #expect(
            found == [
                #""deep[a][b][c]"=x"#, #""none"="#, #""people[][age]"=1"#, #""people[][name]"=A"#,
                #""people[][name]"=B"#, #""place[lat]"=54.1"#, #""place[lon]"=12.1"#, #""set"=a"#, #""set"=b"#,
                #""set"=c"#, #""tags[]"=sun"#, #""tags[]"=sea"#, #""title"=Holidays"#,
            ])
    }

    @Test func parametersAreAppendedTogetherOrNotAtAll() throws {
        var form = MultipartForm()
        #expect(codeThrown { () throws in try form.appendParts(["a": "1", "b": ["\0": "2"]]) } == .invalidArgument)
        #expect(form.partCount == 0)
    }

    /// Only what neither the source nor the extension tells is looked for in the bytes.
    @Test(arguments: [
        ("photo", "\u{89}PNG\r\n\u{1A}\nrest", "image/png"), ("photo.dat", "GIF89a", "image/gif"),
        ("photo.txt", "GIF89a", "text/plain"), ("x", "GIF89", "application/octet-stream"),
        ("x", "", "application/octet-stream"), ("x", "RIFF....WEBPVP8", "image/webp"),
        ("x", "%PDF-1.7", "application/pdf"),
        ("x", "\0\0\0\u{18}ftypheic", "image/heic"), ("x", "PK\u{3}\u{4}", "application/zip"),
    ])
    func filesOfUnknownExtensionsAreKnownByTheirSignature(name: String, content: String, type: String) async throws {
        let data = Data(content.unicodeScalars.map { UInt8($0.value) })
        let body = try makeBody {
            try $0.appendPart(data: data, name: "a", fileName: name)
            try $0.appendPart(data: data, name: "a", fileName: name, mediaType: "x/y")
        }
        let parts = try await String(decoding: bytes(of: body), as: UTF8.self).components(separatedBy: "--B\r\n")
        #expect(parts[1].contains("Content-Type: \(type)\r\n"))
        #expect(parts[2].contains("Content-Type: x/y\r\n"))
    }

    /// A stream for one reading would lose what is looked at.
    @Test func aSourceForOneReadingIsNotLookedAt() async throws {
        let body = try makeBody {
            try $0.appendPart(
                inputStream: InputStream(data: Data("GIF89a".utf8)), byteCount: 6, name: "a", fileName: "x")
        }
        let text = try await String(decoding: bytes(of: body), as: UTF8.self)
        #expect(text.contains("Content-Type: application/octet-stream\r\n\r\nGIF89a\r\n"))
    }
}
