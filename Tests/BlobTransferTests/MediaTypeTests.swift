import BlobStreams
import BlobStreamsTesting
import BlobTestSupport
import Foundation
import Testing

@testable import BlobTransfer

/// The media type that the first bytes of a body tell, found while it is sent.
@Suite(.timeLimit(.minutes(5))) struct MediaTypeTests {
    /// Returns what the server got of a body, whose media type is the number of its bytes that were seen, 12 at most.
    private func message(
        of source: any BlobInputStreamDataSource, _ content: [UInt8], isChunked: Bool = false
    ) async throws -> (type: String?, body: [UInt8]) {
        let messages = Recorder<[UInt8]>()
        let server = try ScriptedServer { connection in
            connection.receiveBody(content.count, isChunked: isChunked)
            messages.append(connection.received)
            connection.send(created)
        }
        var request = BlobUploadRequest(.put, server.url)
        request.isChunked = isChunked
        request.mediaTypeDetection = .init(byteCount: 12) { bytes in
            bytes.isEmpty || !content.starts(with: bytes) ? nil : "x/\(min(bytes.count, 12))"
        }
        _ = try await upload(source, request)
        let message = try #require(await messages.values(count: 1).first)
        let lines = String(decoding: message.prefix(1000), as: UTF8.self).components(separatedBy: "\r\n")
        let type = lines.first { $0.hasPrefix("Content-Type: ") }.map { String($0.dropFirst(14)) }
        let start = try #require(headCount(message.prefix(4096)))
        return (type, isChunked ? try #require(dechunked(message)) : Array(message[start...]))
    }

    @Test(arguments: [0, 1, 11, 12, 13, 5000, 100_000], [false, true])
    func itsBytesAreSeenAndSent(byteCount: Int, isChunked: Bool) async throws {
        let content = makeContent(byteCount)
        let memory = MemorySource(Data(content))
        let drip = DripSource(memory, pieceByteCount: byteCount > 5000 ? 777 : 1)
        for source: any BlobInputStreamDataSource in [memory, drip] {
            let (type, body) = try await self.message(of: source, content, isChunked: isChunked)
            #expect(type == (byteCount == 0 ? "application/octet-stream" : "x/\(min(byteCount, 12))"))
            let isEqual = body == content
            #expect(isEqual)
        }
    }

    /// It waits for no byte that does not come soon.
    @Test func aSlowSourceConnectsWithItsFirstByte() async throws {
        let types = Recorder<String?>()
        let server = try ScriptedServer { connection in
            connection.receiveBody(0)
            let lines = String(decoding: connection.received, as: UTF8.self).components(separatedBy: "\r\n")
            types.append(lines.first { $0.hasPrefix("Content-Type: ") })
            connection.receiveBody(2)
            connection.send(created)
        }
        let pipe = BlobPipe(info: BlobInfo(byteCount: 2))
        var request = BlobUploadRequest(.put, server.url)
        request.mediaTypeDetection = BlobUploadRequest.MediaTypeDetection(byteCount: 12) { "x/\($0.count)" }
        async let response = BlobUploader().upload(pipe.source, with: request)
        try await pipe.write(Data([1]))
        // The head has come, and only then the rest of the body.
        #expect(await types.values(count: 1) == ["Content-Type: x/1"])
        try await pipe.write(Data([2]))
        pipe.finish()
        #expect(try await response.status == 201)
    }

    @Test func thatOfAFieldIsEnough() async throws {
        let server = try ScriptedServer { connection in
            connection.receiveBody(2)
            connection.send(created)
        }
        var request = BlobUploadRequest(.put, server.url, fields: [BlobHTTPField("content-type", "text/plain")])
        request.mediaTypeDetection = .init(byteCount: 12) { _ in
            Issue.record("Nothing had to be detected.")
            return nil
        }
        try await upload(MemorySource([1, 2]), request)
    }

    @Test func thatOfTheSourceComesFirst() async throws {
        let content = makeContent(100)
        let source = MemorySource(Data(content), mediaType: "text/plain")
        #expect(try await self.message(of: source, content).type == "text/plain")
    }
}
