import BlobReceiving
import BlobStreams
import BlobStreamsHummingbird
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Testing

/// The services of the library, behind Hummingbird.
@Suite(.timeLimit(.minutes(1))) struct ResponderTests {
    private let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)

    private var files: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: self.folder.path).sorted() }
    }

    @Test func rangesAreServed() async throws {
        let bytes = makeBytes(300_000)
        let service = try ServedBlobs([.init("x", .source(MemorySource(bytes)))], registry: BlobRegistry(), token: nil)
        try await makeApplication(service).test(.live) { client in
            let whole = try await client.execute(uri: "/x", method: .get)
            #expect(whole.status == .ok && Array(buffer: whole.body) == bytes)
            #expect(whole.headers[.contentLength] == "300000" && whole.headers[.acceptRanges] == "bytes")
            let part = try await client.execute(uri: "/x", method: .get, headers: [.range: "bytes=200000-200999"])
            #expect(part.status == .partialContent && Array(buffer: part.body) == Array(bytes[200_000..<201_000]))
            #expect(part.headers[.contentRange] == "bytes 200000-200999/300000")
            let parts = try await client.execute(uri: "/x", method: .get, headers: [.range: "bytes=0-9,299990-"])
            #expect(parts.headers[.contentType]?.hasPrefix("multipart/byteranges; boundary=") == true)
            #expect(parts.headers[.contentLength] == String(parts.body.readableBytes))
            let none = try await client.execute(uri: "/x", method: .get, headers: [.range: "bytes=300000-"])
            #expect(none.status == .rangeNotSatisfiable && none.headers[.contentRange] == "bytes */300000")
            let head = try await client.execute(uri: "/x", method: .head)
            #expect(head.status == .ok && head.headers[.contentLength] == "300000" && head.body.readableBytes == 0)
            let other = try await client.execute(uri: "/y", method: .get)
            #expect(other.status == .notFound)
        }
    }

    /// The service finds the host, which Hummingbird keeps apart from the other fields.
    @Test func theHostIsChecked() async throws {
        let service = try ServedBlobs(
            [.init("x", .source(MemorySource([1])))], registry: BlobRegistry(), token: nil, hosts: ["localhost"])
        try await makeApplication(service).test(.live) { client in
            let right = try await exchange("GET /x HTTP/1.1\r\nHost: localhost:80\r\nConnection: close\r\n\r\n", client)
            #expect(right.hasPrefix("HTTP/1.1 200 "))
            let wrong = try await exchange("GET /x HTTP/1.1\r\nHost: example.org\r\nConnection: close\r\n\r\n", client)
            #expect(wrong.hasPrefix("HTTP/1.1 403 "))
        }
    }

    /// The length of a blob is unknown until it has been read.
    @Test func aHeadRequestHasNoLengthThatIsUnknown() async throws {
        let source = AsyncSequenceSource(isRepeatable: true, chunks: { AsyncStream<Data> { $0.finish() } })
        let service = try ServedBlobs([.init("x", .source(source))], registry: BlobRegistry(), token: nil)
        try await makeApplication(service).test(.live) { client in
            let text = try await exchange("HEAD /x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", client)
            #expect(text.hasPrefix("HTTP/1.1 200 ") && text.lowercased().contains("\r\nconnection: close\r\n"))
            #expect(!text.lowercased().contains("content-length"))
            let whole = try await client.execute(uri: "/x", method: .get)
            #expect(whole.status == .ok && whole.body.readableBytes == 0)
        }
    }

    @Test func aFormIsStored() async throws {
        let service = try UploadService(folder: self.folder.path)
        let bytes = makeBytes(5_000_000)
        var body = ByteBuffer(string: "--b\r\nContent-Disposition: form-data; name=\"title\"\r\n\r\nFilm\r\n--b\r\n")
        body.writeString("Content-Disposition: form-data; name=\"film\"; filename=\"film.mov\"\r\n\r\n")
        body.writeBytes(bytes)
        body.writeString("\r\n--b--\r\n")
        try await makeApplication(service).test(.live) { [body] client in
            let headers: HTTPFields = [.contentType: "multipart/form-data; boundary=b"]
            let response = try await client.execute(uri: "/", method: .post, headers: headers, body: body)
            #expect(response.status == .created && response.headers[.contentType] == "application/x-ndjson")
            let parts = try String(buffer: response.body).split(separator: "\n").map {
                try JSONDecoder().decode(ReceivedPart.self, from: Data($0.utf8))
            }
            #expect(parts.map(\.name) == ["title", "film"] && parts.map(\.byteCount) == [4, 5_000_000])
            #expect(try Data(contentsOf: self.folder.appendingPathComponent("film.mov")) == Data(bytes))
            let broken = try await client.execute(
                uri: "/", method: .post, headers: headers, body: ByteBuffer(string: "--b\r\nx"))
            #expect(broken.status == .badRequest)
            #expect(try self.files.filter { !$0.hasPrefix(".") } == ["film.mov", "title"])
        }
        try FileManager.default.removeItem(at: self.folder)
    }

    @Test func aTusUploadContinuesAfterABrokenConnection() async throws {
        let service = ObservedService(try UploadService(folder: self.folder.path))
        let bytes = makeBytes(3_000_000)
        try await makeApplication(service).test(.live) { client in
            let created = try await client.execute(
                uri: "/", method: .post,
                headers: fields([
                    "Upload-Length": "3000000", "Upload-Metadata": "filename eC5iaW4=",
                    "Content-Type": "application/offset+octet-stream",
                ]))
            #expect(created.status == .created)
            let path = try #require(created.headers[.location])
            try await withConnection(to: client.port) { connection in
                let head = """
                    PATCH \(path) HTTP/1.1\r\nHost: x\r\nTus-Resumable: 1.0.0\r\nUpload-Offset: 0\r\n\
                    Content-Type: application/offset+octet-stream\r\nContent-Length: 3000000\r\n\r\n
                    """
                try await connection.send(ByteBuffer(string: head))
                try await connection.send(ByteBuffer(bytes: bytes[..<1_000_000]))
                await service.wait { $0.byteCount == 1_000_000 }
            }
            await service.wait { $0.abandonedCount == 1 }
            let head = try await client.execute(uri: path, method: .head, headers: fields([:]))
            let offset = try self.name("Upload-Offset")
            #expect(head.status.code < 300 && head.headers[offset] == "1000000")
            let rest = try await client.execute(
                uri: path, method: .patch,
                headers: fields(["Upload-Offset": "1000000", "Content-Type": "application/offset+octet-stream"]),
                body: ByteBuffer(bytes: bytes[1_000_000...]))
            #expect(rest.status == .noContent && rest.headers[offset] == "3000000")
            #expect(try Data(contentsOf: self.folder.appendingPathComponent("x.bin")) == Data(bytes))
        }
        try FileManager.default.removeItem(at: self.folder)
    }

    /// The bodies of which 1,000,000 bytes arrive.
    @Test(arguments: ["Content-Length: 1000001\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\nf4241\r\n"])
    func aBrokenRequestLeavesNothing(start: String) async throws {
        let service = ObservedService(try UploadService(folder: self.folder.path))
        let before = try self.files
        try await makeApplication(service).test(.live) { client in
            try await withConnection(to: client.port) { connection in
                try await connection.send(ByteBuffer(string: "PUT /film.mov HTTP/1.1\r\nHost: x\r\n\(start)"))
                try await connection.send(ByteBuffer(bytes: makeBytes(1_000_000)))
                await service.wait { $0.byteCount == 1_000_000 }
            }
            await service.wait { $0.abandonedCount == 1 }
            #expect(try self.files == before)
        }
        #expect(service.state.answeredCount == 0)
        try FileManager.default.removeItem(at: self.folder)
    }

    private func name(_ text: String) throws -> HTTPField.Name { try #require(HTTPField.Name(text)) }

    /// The fields of a request of tus.
    private func fields(_ values: [String: String]) throws -> HTTPFields {
        var fields = HTTPFields()
        for (name, value) in values.merging(["Tus-Resumable": "1.0.0"], uniquingKeysWith: { $1 }) {
            fields[try self.name(name)] = value
        }
        return fields
    }
}
