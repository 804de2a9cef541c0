import BlobStreamsStandard
import BlobTestSupport
import Foundation
import MultipartFormData
import Testing

/// The bytes of whole bodies, and their lengths.
@Suite struct BodyTests {
    private func expect(
        _ body: MultipartBody, _ wanted: String, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let found = try await bytes(of: body)
        #expect(found == Data(wanted.utf8), "\(String(decoding: found, as: UTF8.self))", sourceLocation: sourceLocation)
        #expect(body.byteCount == Int64(wanted.utf8.count), sourceLocation: sourceLocation)
    }

    @Test func aFileAndAFieldAreTheBytesOfTheStandard() async throws {
        let body = try makeBody {
            try $0.appendPart(value: "line\nbreak\r", name: "a")
            try $0.appendPart(data: Data("GIF".utf8), name: "f", fileName: "x.GIF")
        }
        try await self.expect(
            body,
            "--B\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nline\r\nbreak\r\n\r\n"
                + "--B\r\nContent-Disposition: form-data; name=\"f\"; filename=\"x.GIF\"\r\n"
                + "Content-Type: image/gif\r\n\r\nGIF\r\n--B--\r\n")
        #expect(body.contentType == "multipart/form-data; boundary=B")
        #expect(try body.info().mediaType == body.contentType)
    }

    @Test func anEmptyFormIsItsEnd() async throws {
        try await self.expect(try makeBody { _ in }, "--B--\r\n")
    }

    @Test func emptyFieldsAndFilesHaveNoBytes() async throws {
        try await self.expect(
            try makeBody { try $0.appendPart(value: "", name: "a") },
            "--B\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n\r\n--B--\r\n")
        try await self.expect(
            try makeBody { try $0.appendPart(data: Data(), name: "a", fileName: "") },
            "--B\r\nContent-Disposition: form-data; name=\"a\"; filename=\"\"\r\n"
                + "Content-Type: application/octet-stream\r\n\r\n\r\n--B--\r\n")
    }

    @Test func bytesOfAValueAreSentAsTheyAre() async throws {
        let body = try makeBody {
            try $0.appendPart(value: Data("\n".utf8), name: "a", mediaType: "text/plain;charset=utf-8")
            try $0.appendPart(value: MemorySource([0x0D]), name: "b")
        }
        try await self.expect(
            body,
            "--B\r\nContent-Disposition: form-data; name=\"a\"\r\nContent-Type: text/plain;charset=utf-8\r\n\r\n\n\r\n"
                + "--B\r\nContent-Disposition: form-data; name=\"b\"\r\n\r\n\r\r\n--B--\r\n")
    }

    @Test func headersOfOnesOwnAreWrittenInTheirOrder() async throws {
        let body = try makeBody {
            try $0.appendPart(
                headers: [("Content-Disposition", "attachment; filename=é"), ("X-A", "1"), ("X-A", "2")],
                body: MemorySource("x".utf8))
        }
        try await self.expect(
            body,
            "--B\r\nContent-Disposition: attachment; filename=é\r\nX-A: 1\r\nX-A: 2\r\n\r\nx\r\n--B--\r\n")
    }

    @Test func whatIsNotSaidIsAskedOfTheSource() async throws {
        func heading(_ append: (inout MultipartForm) throws -> Void) async throws -> String {
            let text = String(decoding: try await bytes(of: makeBody(append)), as: UTF8.self)
            return text.components(separatedBy: "filename=").last?.components(separatedBy: "\r\n\r\n").first ?? ""
        }
        let named = MemorySource([], mediaType: "image/x-own", name: "own.png")
        #expect(
            try await heading { try $0.appendPart(source: named, name: "a") }
                == "\"own.png\"\r\nContent-Type: image/x-own")
        #expect(
            try await heading { try $0.appendPart(source: named, name: "a", fileName: "b", mediaType: "c/d") }
                == "\"b\"\r\nContent-Type: c/d")
        #expect(
            try await heading { try $0.appendPart(source: MemorySource([]), name: "a") }
                == "\"blob\"\r\nContent-Type: application/octet-stream")
        try await withFile("my photo.JPEG", Data("x".utf8)) { file in
            let found = try await heading { try $0.appendPart(fileURL: file, name: "a") }
            #expect(found == "\"my photo.JPEG\"\r\nContent-Type: image/jpeg")
        }
    }

    @Test func aNameThatOnlyTheSourceKnowsIsCheckedToo() async throws {
        var form = MultipartForm()
        try form.appendPart(source: MemorySource([], name: "a\0"), name: "field")
        let error = await errorThrown { try form.body() }
        #expect(error?.code == .invalidArgument)
        #expect(error?.message.hasPrefix("Part 1 of 1 ('field'): ") == true)
    }

    @Test func aNameOfBytesThatAreNoTextIsReplaced() async throws {
        let path = Array("\(NSTemporaryDirectory())/form-\(UUID().uuidString)".utf8) + [0xFF]
        let characters = (path + [0]).map { CChar(bitPattern: $0) }
        let file = fopen(characters, "w")
        guard let file else { return }  // Not every file system takes such a name.
        defer { unlink(characters) }
        fclose(file)
        let all = try await bytes(of: makeBody { try $0.appendPart(source: FileSource(pathBytes: path), name: "a") })
        #expect(String(data: all, encoding: .utf8)?.contains("\u{FFFD}\"\r\n") == true)
    }

    /// Delimiter, header, empty line, bytes and line break of each part, and the end.
    @Test(arguments: [0, 1, 2, 7]) func theLengthIsTheSumOfItsParts(count: Int) async throws {
        let boundary = String(repeating: "b", count: 1 + 10 * count % 70)
        var sum: Int64 = 0
        let body = try makeBody(boundary: boundary) { form in
            for index in 0..<count {
                try form.appendPart(value: String(repeating: "v", count: index * 100), name: "n\(index)")
                let header = "Content-Disposition: form-data; name=\"n\(index)\"\r\n"
                sum += Int64(2 + boundary.utf8.count + 2 + header.utf8.count + 2 + index * 100 + 2)
            }
        }
        sum += Int64(2 + boundary.utf8.count + 4)
        #expect(body.byteCount == sum)
        #expect(try await Int64(bytes(of: body).count) == sum)
    }

    // MARK: Boundaries

    @Test func aRandomBoundaryHas128BitsAndIsAnotherEachTime() throws {
        let boundaries = try (0..<100).map { _ in try MultipartForm().body().boundary.text }
        #expect(Set(boundaries).count == 100)
        #expect(boundaries.allSatisfy { $0.count == 32 && $0.allSatisfy(\.isHexDigit) })
    }

    @Test(arguments: ["", "a b", "a,b", "a\"", "a_b", "a=b", "é", "a\r\n", String(repeating: "x", count: 71)])
    func aBoundaryThatSomeReceiversCannotReadIsRefused(text: String) {
        #expect(codeThrown { try MultipartBoundary(text) } == .invalidArgument)
    }

    @Test(arguments: ["x", "-", "AaB03x-9", String(repeating: "x", count: 70)])
    func aBoundaryOfLettersDigitsAndHyphensIsTaken(text: String) throws {
        #expect(try MultipartBoundary(text).text == text)
    }
}
