import BlobReceiving
import BlobStreams
import BlobStreamsNIO
import Foundation
import NIOCore
import Testing

/// The server of BlobStreamsNIO, whose connections continue after each response.
@Suite(.timeLimit(.minutes(1))) struct NIOServerTests {
    /// The end of a chunked body would be taken for the next response.
    @Test func aHeadRequestOfUnknownLengthHasNoBody() async throws {
        let source = AsyncSequenceSource(isRepeatable: true, chunks: { AsyncStream<Data> { $0.finish() } })
        let service = try ServedBlobs([.init("x", .source(source))], registry: BlobRegistry(), token: nil)
        let server = try HTTPServer(service).listen(host: "127.0.0.1", port: 0)
        defer { server.close() }
        let text = try await withConnection(to: URLComponents(string: server.url)?.port) { connection in
            try await connection.send(ByteBuffer(string: "HEAD /x HTTP/1.1\r\nHost: x\r\n\r\n"))
            try await connection.send(
                ByteBuffer(string: "GET /y HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"))
            return try await connection.readAll()
        }
        let answers = text.components(separatedBy: "HTTP/1.1 ").dropFirst()
        #expect(answers.map { $0.prefix(3) } == ["200", "404"])
        #expect(answers.first?.hasSuffix("\r\n\r\n") == true && answers.first?.contains("\r\n\r\n0") == false)
    }
}
