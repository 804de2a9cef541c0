import BlobReceiving
import BlobStreams
import NIOCore
import NIOHTTP1

/// One connection: request after request, each answered when its body is whole, or refused before.
///
/// Hashes and writes on the thread of its event loop: so nothing more is read from the connection than is stored.
final class ReceivingHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private enum Phase {
        case awaitingHead
        case receiving(RequestReceiver, staysOpen: Bool)
        /// A request that has no body to keep.
        case answering(HTTPResponseStatus, staysOpen: Bool)
        case refused
    }

    /// How long a sender may go on after it was refused: it reads the answer only when it stops sending.
    private static let lingering = TimeAmount.seconds(2)

    private let settings: ReceivingServer.Settings
    private let print: @Sendable (String) -> Void
    private var phase = Phase.awaitingHead
    private var timer: Scheduled<Void>?
    private var lastRead = NIODeadline.now()

    init(_ settings: ReceivingServer.Settings, _ print: @escaping @Sendable (String) -> Void) {
        self.settings = settings
        self.print = print
    }

    func channelActive(context: ChannelHandlerContext) { self.awaitHead(context) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch self.unwrapInboundIn(data) {
        case .head(let head): self.begin(head, context)
        case .body(let bytes): self.take(bytes, context)
        case .end: self.finish(context)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if case .refused = self.phase { return }
        guard error is HTTPParserError else {
            self.abandon()
            return context.close(promise: nil)
        }
        self.refuse(.badRequest, "The request is not what HTTP knows: \(error).", context)
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.abandon()
        context.fireChannelInactive()
    }

    // MARK: Requests

    private func begin(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        guard case .awaitingHead = self.phase else { return }
        self.timer?.cancel()
        guard head.version.major == 1, head.version.minor == 0 || head.headers["host"].count == 1 else {
            return self.refuse(.badRequest, "A request names its Host once.", context)
        }
        guard head.method == .PUT || head.method == .POST else {
            guard head.method == .GET else {
                return self.refuse(.methodNotAllowed, "PUT and POST are taken here.", context)
            }
            self.phase = .answering(.methodNotAllowed, staysOpen: head.isKeepAlive)
            return
        }
        let length = head.headers.first(name: "content-length").flatMap { Int64($0) }
        if let length, let maximum = self.settings.maximumByteCount, length > maximum {
            return self.refuse(.payloadTooLarge, "The body has more bytes than the limit of \(maximum).", context)
        }
        do {
            let receiver = try RequestReceiver(
                path: head.uri, contentType: head.headers.first(name: "content-type"), folder: self.settings.folder,
                maximumByteCount: self.settings.maximumByteCount)
            self.phase = .receiving(receiver, staysOpen: head.isKeepAlive)
        } catch {
            return self.refuse(error, context)
        }
        if head.headers["expect"].contains(where: { $0.lowercased() == "100-continue" }) {
            context.writeAndFlush(
                self.wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: .continue))), promise: nil)
        }
        self.lastRead = .now()
        self.watchBody(context)
    }

    private func take(_ bytes: ByteBuffer, _ context: ChannelHandlerContext) {
        guard case .receiving(let receiver, _) = self.phase else { return }
        self.lastRead = .now()
        do {
            try bytes.withUnsafeReadableBytes { try receiver.take($0) }
        } catch {
            self.refuse(BlobError(wrapping: error), context)
        }
    }

    private func finish(_ context: ChannelHandlerContext) {
        switch self.phase {
        case .receiving(let receiver, let staysOpen):
            do {
                let lines = try receiver.finish().map(\.line)
                for line in lines { self.print(line) }
                self.answer(.created, lines.joined(separator: "\n") + "\n", staysOpen, context)
            } catch {
                self.refuse(error, context)
            }
        case .answering(let status, let staysOpen):
            self.answer(status, "PUT and POST are taken here.\n", staysOpen, context)
        case .awaitingHead, .refused: break
        }
    }

    private func answer(
        _ status: HTTPResponseStatus, _ text: String, _ staysOpen: Bool, _ context: ChannelHandlerContext
    ) {
        self.write(status, text, closes: !staysOpen, context)
        guard staysOpen else {
            self.phase = .refused
            return self.linger(context)
        }
        self.phase = .awaitingHead
        self.awaitHead(context)
    }

    private func refuse(_ error: BlobError, _ context: ChannelHandlerContext) {
        let status: HTTPResponseStatus =
            switch error.code {
            case .limitExceeded: .payloadTooLarge
            case .corrupted, .truncated, .invalidArgument: .badRequest
            default: .internalServerError
            }
        self.refuse(status, error.description, context)
    }

    private func refuse(_ status: HTTPResponseStatus, _ message: String, _ context: ChannelHandlerContext) {
        if case .refused = self.phase { return }
        self.abandon()
        self.write(status, message + "\n", closes: true, context)
        self.linger(context)
    }

    /// Nothing of a request that is not over stays.
    private func abandon() {
        self.timer?.cancel()
        if case .receiving(let receiver, _) = self.phase { receiver.abandon() }
        self.phase = .refused
    }

    private func write(
        _ status: HTTPResponseStatus, _ text: String, closes: Bool, _ context: ChannelHandlerContext
    ) {
        var head = HTTPResponseHead(version: .http1_1, status: status)
        let type = status == .created ? "application/x-ndjson" : "text/plain; charset=utf-8"
        head.headers.add(name: "Content-Type", value: type)
        head.headers.add(name: "Content-Length", value: String(text.utf8.count))
        if status == .methodNotAllowed { head.headers.add(name: "Allow", value: "PUT, POST") }
        if closes { head.headers.add(name: "Connection", value: "close") }
        context.write(self.wrapOutboundOut(.head(head)), promise: nil)
        context.write(self.wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: text)))), promise: nil)
        context.writeAndFlush(self.wrapOutboundOut(.end(nil)), promise: nil)
    }

    // MARK: Time

    /// What still comes is read and dropped for a while: closing with unread bytes would destroy the answer.
    private func linger(_ context: ChannelHandlerContext) {
        self.timer?.cancel()
        context.close(mode: .output, promise: nil)
        self.schedule(Self.lingering, context) { $1.close(promise: nil) }
    }

    private func awaitHead(_ context: ChannelHandlerContext) {
        let limit = TimeAmount.nanoseconds(Int64(self.settings.headerTimeout * 1e9))
        self.schedule(limit, context) { handler, context in
            handler.refuse(.requestTimeout, "No whole header arrived in time.", context)
        }
    }

    private func watchBody(_ context: ChannelHandlerContext) {
        let limit = TimeAmount.nanoseconds(Int64(self.settings.idleTimeout * 1e9))
        let rest = self.lastRead + limit - NIODeadline.now()
        guard rest > .nanoseconds(0) else {
            return self.refuse(.requestTimeout, "Nothing of the body arrived in time.", context)
        }
        self.schedule(rest, context) { $0.watchBody($1) }
    }

    private func schedule(
        _ time: TimeAmount, _ context: ChannelHandlerContext,
        _ action: @escaping (ReceivingHandler, ChannelHandlerContext) -> Void
    ) {
        self.timer = context.eventLoop.assumeIsolated().scheduleTask(in: time) { action(self, context) }
    }
}
