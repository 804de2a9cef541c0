import BlobStreamsStandard
import BlobTestSupport
import Foundation
import MultipartFormData
import MultipartURLRequest
import Testing

/// What other people's parsers read out of our bodies, and what curl makes of the same form.
@Suite(.timeLimit(.minutes(10))) struct PeerTests {
    /// A part as a parser saw it; what it does not tell is nil.
    private struct Part: Codable, Equatable {
        var name: String?
        var fileName: String?
        var type: String?
        var bytes: String  // In hexadecimal.
    }

    private static let trickyNames = [
        "plain.txt", "naïve 日本語.txt", "👩‍👩‍👧‍👦.jpg", "e\u{301}.txt", "dir\\back.txt", "a; b=c.txt", "semi;colon", "a,b",
        "it's.txt", " spaces ", "équipe#1?.bin", String(repeating: "x", count: 255),
    ]

    /// The form that all parsers are given: fields, files with tricky names, and contents that look like a form.
    private func makeForm() throws -> (body: MultipartBody, parts: [Part]) {
        var parts: [Part] = []
        var form = MultipartForm()
        func hex(_ bytes: some Sequence<UInt8>) -> String { Array(bytes).hexadecimal }
        for value in ["", "v", "naïve 日本語", "two\nlines", "--", "a=b&c=d"] {
            try form.appendPart(value: value, name: "field")
            parts.append(Part(name: "field", bytes: hex(value.replacingOccurrences(of: "\n", with: "\r\n").utf8)))
        }
        for name in Self.trickyNames {
            let bytes = Data("\r\n--\r\n\0\u{FF}\(name)".utf8)
            try form.appendPart(data: bytes, name: "f [\(parts.count)] é", fileName: name, mediaType: "image/x-test")
            parts.append(Part(name: "f [\(parts.count)] é", fileName: name, type: "image/x-test", bytes: hex(bytes)))
        }
        try form.appendPart(data: Data(), name: "empty", fileName: "empty.bin")
        parts.append(Part(name: "empty", fileName: "empty.bin", type: "application/octet-stream", bytes: ""))
        let large = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        try form.appendPart(
            makingStreams: { InputStream(data: large) }, byteCount: 300_000, name: "large", fileName: "large.bin")
        parts.append(
            Part(name: "large", fileName: "large.bin", type: "application/octet-stream", bytes: hex(large)))
        return (try form.body(), parts)
    }

    private func parse(_ body: MultipartBody, with program: String) async throws -> [Part] {
        try await withFile("body", try await bytes(of: body)) { file in
            let output = try await Python.run(program, [file.path, body.contentType])
            return try JSONDecoder().decode([Part].self, from: output)
        }
    }

    @Test(.enabled(if: Python.has("werkzeug"), "Python's werkzeug is not there."))
    func werkzeugReadsWhatWasPutIn() async throws {
        let (body, parts) = try self.makeForm()
        let found = try await self.parse(
            body,
            with: """
                import io, json, sys
                from werkzeug.formparser import FormDataParser
                class Ordered(list):
                    def __init__(self, items=()): super().__init__(items)
                    @property
                    def lists(self): return self
                data = open(sys.argv[1], "rb").read()
                parser = FormDataParser(silent=False, max_form_memory_size=None, cls=Ordered)
                _, form, files = parser.parse(io.BytesIO(data), sys.argv[2].split(";")[0], len(data),
                                              {"boundary": sys.argv[2].split("boundary=")[1]})
                parts = [dict(name=n, bytes=v.encode().hex()) for n, v in form]
                parts += [dict(name=n, fileName=f.filename, type=f.content_type, bytes=f.read().hex()) for n, f in files]
                print(json.dumps(parts))
                """)
        #expect(found == parts)
    }

    @Test(.enabled(if: Python.has("email"), "Python is not there."))
    func theParserOfMailReadsWhatWasPutIn() async throws {
        let (body, parts) = try self.makeForm()
        let found = try await self.parse(
            body,
            with: """
                import email.parser, email.policy, json, sys
                data = open(sys.argv[1], "rb").read()
                message = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(
                    b"Content-Type: " + sys.argv[2].encode() + b"\\r\\n\\r\\n" + data)
                assert not message.defects, message.defects
                parts = []
                for part in message.iter_parts():
                    assert part.get_content_disposition() == "form-data" and not part.defects
                    parts.append(dict(bytes=part.get_payload(decode=True).hex()))
                    if part["content-type"]: parts[-1]["type"] = part.get_content_type()
                print(json.dumps(parts))
                """)
        #expect(found.map(\.bytes) == parts.map(\.bytes))
        #expect(found.map(\.type) == parts.map(\.type))
    }

    /// What a backslash at the end would do: the file behind it is lost, or merged with the part.
    @Test(.enabled(if: Python.has("werkzeug"), "Python's werkzeug is not there."))
    func aFileWhoseNameEndsWithABackslashIsNotLost() async throws {
        var form = MultipartForm()
        try form.appendPart(data: Data("x".utf8), name: "ends\\", fileName: "with\\")
        try form.appendPart(value: "y", name: "next")
        let found = try await self.parse(
            form.body(),
            with: """
                import io, json, sys
                from werkzeug.test import EnvironBuilder
                from werkzeug.formparser import parse_form_data
                data = open(sys.argv[1], "rb").read()
                _, form, files = parse_form_data(
                    EnvironBuilder(method="POST", input_stream=io.BytesIO(data), content_type=sys.argv[2],
                                   content_length=len(data)).get_environ())
                parts = [dict(name=n, fileName=f.filename, type=f.content_type, bytes=f.read().hex())
                         for n, f in files.items(multi=True)]
                parts += [dict(name=n, bytes=v.encode().hex()) for n, v in form.items(multi=True)]
                print(json.dumps(parts))
                """)
        #expect(found.map(\.bytes) == ["78", "79"])
        #expect(found.first?.fileName == "with%5C")
    }
}

/// Python programs, run to their end.
enum Python {
    /// Whether Python is there, with a module.
    static func has(_ module: String) -> Bool {
        (try? self.runBlocking("import \(module)", [])) != nil
    }

    /// What the program prints; an error, with what it says of it, when it fails.
    static func run(_ program: String, _ arguments: [String]) async throws -> Data {
        try await onThread { try self.runBlocking(program, arguments) }
    }

    private static func runBlocking(_ program: String, _ arguments: [String]) throws -> Data {
        let process = try FinishedProcess("python3", ["-c", program] + arguments)
        guard process.status == 0 else { throw BlobError(.internalError, process.errors) }
        return process.output
    }
}
