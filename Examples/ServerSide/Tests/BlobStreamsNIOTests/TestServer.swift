import NIOCore
import NIOHTTP1
import NIOPosix

/// A server on a free port that records each request, and responds to it as a test specifies.
final class TestServer: Sendable {
    /// A request, or the part of a request that arrived.
    struct Request: Sendable {
        let head: HTTPRequestHead
        var bytes = ByteChecksum()
        /// True if the end of the body arrived.
        var isWhole = false
    }

    struct Answer: Sendable {
        var status = HTTPResponseStatus.created
        var headers = HTTPHeaders()
        var body = ""
        /// The number of body bytes after which the response is sent; nil to send it at the end of the request.
        var afterByteCount: Int?
    }

    private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    private let channel: any Channel
    private let log: RequestLog

    /// - Parameter answer: Returns the response to a request; nil to send no response.
    init(answer: @escaping @Sendable (HTTPRequestHead) -> Answer?) async throws {
        let log = RequestLog()
        self.log = log
        self.channel = try await ServerBootstrap(group: self.group)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline(withPipeliningAssistance: false)
                    try channel.pipeline.syncOperations.addHandler(TestHandler(log, answer))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
    }

    func url(_ path: String = "/x") -> String { "http://127.0.0.1:\(self.channel.localAddress?.port ?? 0)\(path)" }

    /// Waits until `count` requests have ended, whether complete or not.
    func requests(_ count: Int) async -> [Request] { await self.log.ended(count) }

    /// Waits until a byte of a body has arrived.
    func waitForBytes() async { await self.log.waitForBytes() }

    func stop() async throws {
        try await self.channel.close()
        try await self.group.shutdownGracefully()
    }
}

/// The requests received by a server.
final class RequestLog: Sendable {
    private let (ended, endedContinuation) = AsyncStream.makeStream(of: TestServer.Request.self)
    private let (bytes, bytesContinuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    func add(_ request: TestServer.Request) { self.endedContinuation.yield(request) }

    func recordBytes() { self.bytesContinuation.yield() }

    func ended(_ count: Int) async -> [TestServer.Request] {
        var requests: [TestServer.Request] = []
        for await request in self.ended.prefix(count) { requests.append(request) }
        return requests
    }

    func waitForBytes() async { for await _ in self.bytes { return } }
}

/// Handles one connection.
private final class TestHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let log: RequestLog
    private let answer: @Sendable (HTTPRequestHead) -> TestServer.Answer?
    private var request: TestServer.Request?
    private var pending: TestServer.Answer?

    init(_ log: RequestLog, _ answer: @escaping @Sendable (HTTPRequestHead) -> TestServer.Answer?) {
        self.log = log
        self.answer = answer
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch self.unwrapInboundIn(data) {
        case .head(let head):
            self.request = TestServer.Request(head: head)
            self.pending = self.answer(head)
            self.sendAnswer(context)
        case .body(let bytes):
            self.log.recordBytes()
            bytes.withUnsafeReadableBytes { self.request?.bytes.add($0) }
            self.sendAnswer(context)
        case .end:
            self.request?.isWhole = true
            self.sendAnswer(context)
            self.endRequest()
        }
    }

    func channelInactive(context: ChannelHandlerContext) { self.endRequest() }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    private func endRequest() {
        if let request = self.request.take() { self.log.add(request) }
    }

    private func sendAnswer(_ context: ChannelHandlerContext) {
        guard let answer = self.pending, let request,
            request.isWhole || request.bytes.count >= answer.afterByteCount ?? .max
        else { return }
        self.pending = nil
        var headers = answer.headers
        headers.replaceOrAdd(name: "Content-Length", value: "\(answer.body.utf8.count)")
        context.write(
            self.wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: answer.status, headers: headers))),
            promise: nil)
        context.write(self.wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: answer.body)))), promise: nil)
        context.writeAndFlush(self.wrapOutboundOut(.end(nil)), promise: nil)
    }
}
