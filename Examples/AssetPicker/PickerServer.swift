#if Receiver && Photos
import BlobStreamsStandard
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix

/// Serves the routes on 127.0.0.1.
struct PickerServer: Sendable {
    private typealias Connection = NIOAsyncChannel<HTTPServerRequestPart, HTTPServerResponsePart>

    /// The maximum number of connections to serve at once. Further connections wait.
    private static let maximumConnectionCount = 64

    /// The maximum length of a request body in bytes.
    static let maximumBodyByteCount = 256 * 1024

    let session: PickerSession
    private let routes: PickerRoutes
    private let channel: NIOAsyncChannel<Connection, Never>

    /// Listens on the session's port stored in `folder`, or on a port chosen by the system, and stores the session.
    ///
    /// - Throws: ``BlobError/Code/unavailable`` if the port is taken, most likely by another picker with this folder.
    init(keepingStateIn folder: URL, _ routes: (PickerSession) -> PickerRoutes) async throws {
        var session = PickerSession.load(from: folder)
        do {
            self.channel = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .bind(host: "127.0.0.1", port: session.port) { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                        try channel.pipeline.syncOperations.addHandler(RequestDeadline())
                        return try Connection(wrappingChannelSynchronously: channel)
                    }
                }
        } catch let error as IOError where error.errnoCode == EADDRINUSE {
            throw BlobError(
                .unavailable,
                "Port \(session.port) is already in use, perhaps by another picker that uses the folder \(folder.path)."
            )
        }
        session.port = self.channel.channel.localAddress?.port ?? 0
        try session.store(in: folder)
        self.session = session
        self.routes = routes(session)
    }

    /// Serves until the process ends.
    func run() async throws {
        try await self.channel.executeThenClose { connections in
            try await withThrowingTaskGroup(of: Void.self) { group in
                var count = 0
                for try await connection in connections {
                    if count == Self.maximumConnectionCount { try await group.next() } else { count += 1 }
                    // An error ends only this connection.
                    group.addTask { try? await self.serve(connection) }
                }
            }
        }
    }

    /// Responds to the requests of a connection in turn.
    private func serve(_ connection: Connection) async throws {
        try await connection.executeThenClose { requests, answers in
            var (head, body) = (HTTPRequestHead(version: .http1_1, method: .GET, uri: ""), Data())
            for try await part in requests {
                switch part {
                case .head(let new): (head, body) = (new, Data())
                case .body(let bytes):
                    body.append(contentsOf: bytes.readableBytesView)
                    guard body.count <= Self.maximumBodyByteCount else {
                        return try await self.write(PickerResponse(status: .payloadTooLarge), to: head, answers)
                    }
                case .end:
                    try await self.write(self.routes.response(to: head, body), to: head, answers)
                    guard head.isKeepAlive else { return }
                }
            }
        }
    }

    private func write(
        _ response: PickerResponse, to request: HTTPRequestHead,
        _ answers: NIOAsyncChannelOutboundWriter<HTTPServerResponsePart>
    ) async throws {
        var head = HTTPResponseHead(version: .http1_1, status: response.status, headers: Self.fields)
        head.headers.add(name: "Content-Type", value: response.type)
        head.headers.add(name: "Content-Length", value: String(response.body.count))
        head.headers.add(
            name: "Cache-Control", value: response.age > 0 ? "private, max-age=\(response.age)" : "no-store")
        if !request.isKeepAlive { head.headers.add(name: "Connection", value: "close") }
        try await answers.write(
            contentsOf: [.head(head), .body(.byteBuffer(ByteBuffer(bytes: response.body))), .end(nil)])
    }

    /// The header fields of all responses. The page runs only its own script, cannot be framed, and never reveals its
    /// URL.
    private static let fields: HTTPHeaders = [
        "Content-Security-Policy":
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
            + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
    ]
}
#endif
