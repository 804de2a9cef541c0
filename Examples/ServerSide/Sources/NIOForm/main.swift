import BlobCore
import BlobReceiving
import CryptoDigest
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix

// Answers a form with one line per part, its SHA-256, length and name: what a framework does between its requests and
// the parts of their bodies. Nothing is stored, and a body may have any length.
//
// NIOForm [PORT]
// curl -F film=@film.mov -F title=Film http://127.0.0.1:PORT/

typealias Connection = NIOAsyncChannel<HTTPServerRequestPart, HTTPServerResponsePart>

/// The body of one request, which is read from the connection only as fast as it is iterated over.
final class Body: AsyncSequence, AsyncIteratorProtocol {
    private var parts: NIOAsyncChannelInboundStream<HTTPServerRequestPart>.AsyncIterator
    private var isOver = false

    init(_ parts: NIOAsyncChannelInboundStream<HTTPServerRequestPart>.AsyncIterator) { self.parts = parts }

    func makeAsyncIterator() -> Body { self }

    func next() async throws -> ByteBufferView? {
        guard !self.isOver, case .body(let bytes)? = try await self.parts.next() else {
            self.isOver = true
            return nil
        }
        return bytes.readableBytesView
    }
}

func answer(_ head: HTTPRequestHead, _ body: Body) async throws -> (HTTPResponseStatus, String) {
    do {
        guard let boundary = try head.headers.first(name: "Content-Type").flatMap(MultipartHeader.boundary) else {
            return (.unsupportedMediaType, "Send a form: multipart/form-data.\n")
        }
        var lines = ""
        for try await part in try MultipartParts(of: body, boundary: boundary) {
            var (hasher, byteCount) = (CryptoDigest.sha256.makeHasher(), 0)
            for try await bytes in part.bytes {
                bytes.withUnsafeBytes { hasher.update($0) }
                byteCount += bytes.count
            }
            lines += "\(hasher.finalizeHexadecimal()) \(byteCount) \(part.name)\n"
        }
        return (.ok, lines)
    } catch let error as BlobError {
        return (HTTPResponseStatus(statusCode: error.answer.status), "\(error)\n")
    }
}

func handle(_ connection: Connection) async throws {
    try await connection.executeThenClose { inbound, outbound in
        var parts = inbound.makeAsyncIterator()
        while case .head(let head)? = try await parts.next() {
            let body = Body(parts)
            let (status, text) = try await answer(head, body)
            let fields: HTTPHeaders = ["Content-Type": "text/plain", "Content-Length": String(text.utf8.count)]
            try await outbound.write(.head(HTTPResponseHead(version: .http1_1, status: status, headers: fields)))
            try await outbound.write(.body(.byteBuffer(ByteBuffer(string: text))))
            try await outbound.write(.end(nil))
            // The rest of a refused body, before the next request.
            for try await _ in body {}
            guard head.isKeepAlive else { return }
        }
    }
}

let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
    .bind(host: "127.0.0.1", port: CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 0) { channel in
        channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.configureHTTPServerPipeline()
            return try Connection(wrappingChannelSynchronously: channel)
        }
    }
FileHandle.standardOutput.write(Data("http://127.0.0.1:\(server.channel.localAddress?.port ?? 0)/\n".utf8))
try await server.executeThenClose { connections in
    try await withThrowingDiscardingTaskGroup { group in
        // The error of one connection must not end the others.
        for try await connection in connections { group.addTask { try? await handle(connection) } }
    }
}
