import BlobStreams
import BlobTestSupport
import Foundation
import MultipartFormData
import Testing

/// The bytes of names, row by row of what browsers send and receivers read.
@Suite struct NamingTests {
    /// What stands behind `filename=` in a form with one file.
    private func fileName(_ name: String, _ naming: MultipartNaming = MultipartNaming()) async throws -> String? {
        let body = try makeBody(naming: naming) { try $0.appendPart(data: Data(), name: "n", fileName: name) }
        return try await self.between(#"Content-Disposition: form-data; name="n"; filename="#, "\r\nContent-Type", body)
    }

    /// What stands behind `name=` in a form with one field.
    private func name(_ name: String, _ naming: MultipartNaming = MultipartNaming()) async throws -> String? {
        let body = try makeBody(naming: naming) { try $0.appendPart(value: "", name: name) }
        return try await self.between("Content-Disposition: form-data; name=", "\r\n\r\n", body)
    }

    private func between(_ before: String, _ after: String, _ body: MultipartBody) async throws -> String? {
        let all = try await bytes(of: body)
        guard let start = all.range(of: Data(before.utf8)), let end = all.range(of: Data(after.utf8)) else {
            return nil
        }
        return String(decoding: all[start.upperBound..<end.lowerBound], as: UTF8.self)
    }

    @Test(arguments: [
        (#"my "best" file.txt"#, #""my %22best%22 file.txt""#), ("a\nb", #""a%0Ab""#), ("a\rb", #""a%0Db""#),
        ("a\r\nb", #""a%0D%0Ab""#), (#"dir\back.txt"#, #""dir\back.txt""#), (#"ends with\"#, #""ends with%5C""#),
        (#"two\\"#, #""two%5C%5C""#),
        (#"a\b\\\"#, #""a\b%5C%5C%5C""#), (#"a\"b"#, #""a\%22b""#), ("100%22 sure %0A", #""100%22 sure %0A""#),
        ("naïve 日本語", #""naïve 日本語""#), ("👩‍👩‍👧‍👦", #""👩‍👩‍👧‍👦""#), ("e\u{301}é", "\"e\u{301}é\""),
        ("a; name=z; filename=evil.txt", #""a; name=z; filename=evil.txt""#), ("", #""""#), (" a ", #"" a ""#),
    ])
    func fileNamesAreWrittenAsBrowsersDo(name: String, written: String) async throws {
        let found = try #require(await self.fileName(name))
        #expect(Array(found.utf8) == Array(written.utf8))
    }

    @Test(arguments: [
        ("line\r\nbreak", #""line%0D%0Abreak""#), ("line\nbreak", #""line%0D%0Abreak""#),
        ("line\rbreak", #""line%0D%0Abreak""#), ("\n\r", #""%0D%0A%0D%0A""#), ("\r\r\n", #""%0D%0A%0D%0A""#),
        (#"my "best""#, #""my %22best%22""#), (#"ends with\"#, #""ends with%5C""#), (#"a\"b"#, #""a\%22b""#),
        ("100%22", #""100%22""#), ("photos[]", #""photos[]""#), ("日本語", #""日本語""#), ("", #""""#),
    ])
    func namesOfFieldsAreWrittenAsBrowsersDo(name: String, written: String) async throws {
        let found = try #require(await self.name(name))
        #expect(Array(found.utf8) == Array(written.utf8))
    }

    @Test(arguments: ["\0", "a\u{1}b", "\t", "a\u{1F}", "\u{7F}"]) func controlCharactersAreRefused(name: String) throws
    {
        var form = MultipartForm()
        #expect(codeThrown { try form.appendPart(value: "", name: name) } == .invalidArgument)
        #expect(codeThrown { try form.appendPart(data: Data(), name: "a", fileName: name) } == .invalidArgument)
        #expect(form.partCount == 0)
    }

    @Test func controlCharactersAreReplacedIfThatIsAskedFor() async throws {
        let naming = MultipartNaming(controlCharacters: .replaced)
        #expect(try await self.fileName("a\0b\tc\u{7F}", naming) == #""a_b_c_""#)
        #expect(try await self.name("a\0\n", naming) == #""a_%0D%0A""#)
    }

    @Test func quotedPairsAreBackslashes() async throws {
        let naming = MultipartNaming(style: .quotedPair)
        #expect(try await self.fileName(#"a\"b\"#, naming) == #""a\\\"b\\""#)
        #expect(try await self.name(#"a"b"#, naming) == #""a\"b""#)
        var form = MultipartForm(naming: naming)
        #expect(codeThrown { try form.appendPart(value: "", name: "a\nb") } == .invalidArgument)
    }

    @Test func sanitizedFileNamesHaveNothingThatReceiversStumbleOver() async throws {
        let naming = MultipartNaming(style: .sanitized)
        #expect(
            try await self.fileName("a; name=z; filename=e/v\\il\"%22\r\n.txt", naming)
                == #""a_ name_z_ filename_e_v_il__22__.txt""#)
        // Names of fields are the program's own: another one would be another field.
        #expect(try await self.name("a=b;", naming) == #""a=b;""#)
    }

    @Test func namesHaveLimits() throws {
        var form = MultipartForm()
        try form.appendPart(data: Data(), name: "a", fileName: String(repeating: "x", count: 255))
        let long = #expect(throws: BlobError.self) {
            try form.appendPart(data: Data(), name: "a", fileName: String(repeating: "é", count: 128))
        }
        #expect(long?.code == .limitExceeded)
        #expect(long?.message.contains("255") == true)
        // 43 bytes of the header are not the name.
        try form.appendPart(value: "", name: String(repeating: "x", count: 1024 - 43))
        #expect(
            codeThrown { try form.appendPart(value: "", name: String(repeating: "x", count: 1025 - 43)) }
                == .limitExceeded)
        #expect(form.partCount == 2)
        var generous = MultipartForm(
            naming: MultipartNaming(maximumFileNameByteCount: 5000, maximumHeaderByteCount: 5000))
        try generous.appendPart(data: Data(), name: "a", fileName: String(repeating: "x", count: 4000))
    }

    @Test(arguments: [
        ("Content-Type", "text/plain\r\nX: y"), ("Content-Type", "a\nb"), ("Content-Type", ""), ("A B", "c"), ("", "c"),
        ("A:", "c"), ("Content-Transfer-Encoding", "base64"), ("A", "\0"),
    ])
    func headersCannotBeInjected(name: String, value: String) throws {
        var form = MultipartForm()
        #expect(
            codeThrown { try form.appendPart(headers: [(name, value)], body: MemorySource([])) } == .invalidArgument)
        if name == "Content-Type" {
            #expect(codeThrown { try form.appendPart(value: Data(), name: "a", mediaType: value) } == .invalidArgument)
        }
    }
}
