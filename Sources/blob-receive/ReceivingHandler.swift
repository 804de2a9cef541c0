import BlobReceiving
import BlobStreams
import Foundation
import NIOCore
import NIOHTTP1

/// The handler of one connection: answers its requests in turn, each when its body is complete, or refuses it before.
///
/// Bodies are hashed and stored off the event loop, so that a slow disk, or ten thousand parts, do not delay other
/// connections. Only a few pieces wait for that; then reading from the connection pauses.
final class ReceivingHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    /// An event of the connection.
    private enum Event {
        case part(HTTPServerRequestPart)
        case parserError(any Error)
        case end
    }

    private enum Phase {
        case awaitingHead
        case receiving(BodyWork, staysOpen: Bool)
        /// The whole body has arrived, but is not stored yet.
        case finishing(staysOpen: Bool)
        /// The request has no body to keep.
        case answering(HTTPResponseStatus, staysOpen: Bool)
        case refused
    }

    /// The time that a sender may continue after a refusal: it reads the answer only when it stops sending.
    private static let lingering = TimeAmount.seconds(2)

    /// The errors for a full disk, an exhausted quota, and a file that is too large.
    private static let fullDisk: Set = [ENOSPC, EDQUOT, EFBIG]

    private let settings: ReceivingServer.Settings
    private let print: @Sendable (String) -> Void
    private var phase = Phase.awaitingHead
    private var timer: Scheduled<Void>?
    private var lastRead = NIODeadline.now()
    private var waiting = CircularBuffer<Event>()  // Events that arrived while a request is being finished.
    private var holdsRead = false
    private var outputEnd: EventLoopFuture<Void>?

    init(_ settings: ReceivingServer.Settings, _ print: @escaping @Sendable (String) -> Void) {
        self.settings = settings
        self.print = print
    }

    func channelActive(context: ChannelHandlerContext) { self.awaitHead(context) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        self.take(.part(self.unwrapInboundIn(data)), context)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event as? ChannelEvent == .inputClosed { self.take(.end, context) }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if error is HTTPParserError { return self.take(.parserError(error), context) }
        self.abandon()
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.abandon()
        context.fireChannelInactive()
    }

    /// Reads from the connection only when there is room for more bytes.
    func read(context: ChannelHandlerContext) {
        switch self.phase {
        case .finishing: self.holdsRead = true
        case .receiving(let work, _):
            self.holdsRead = !work.hasRoom(self.onLoop(context) { $0.resumeReading($1) })
            if !self.holdsRead { context.read() }
        case .awaitingHead, .answering, .refused: context.read()
        }
    }

    private func resumeReading(_ context: ChannelHandlerContext) {
        guard self.holdsRead else { return }
        self.holdsRead = false
        self.read(context: context)
    }

    private func take(_ event: Event, _ context: ChannelHandlerContext) {
        guard !self.isFinishing else { return self.waiting.append(event) }
        switch event {
        case .part(.head(let head)): self.begin(head, context)
        case .part(.body(let bytes)): self.take(bytes, context)
        case .part(.end): self.finish(context)
        case .parserError(let error):
            self.refuse(.badRequest, "The request is not valid HTTP: \(error).", context)
        case .end: self.endConnection(context)
        }
    }

    /// Handles the end of what the sender sends.
    private func endConnection(_ context: ChannelHandlerContext) {
        self.abandon()
        // Closed after all pending answers are sent.
        self.endOutput(context).assumeIsolated().whenComplete { _ in context.close(promise: nil) }
    }

    private func endOutput(_ context: ChannelHandlerContext) -> EventLoopFuture<Void> {
        let end = self.outputEnd ?? context.close(mode: .output)
        self.outputEnd = end
        return end
    }

    private var isFinishing: Bool {
        if case .finishing = self.phase { return true }
        return false
    }

    /// Handles the events that arrived while a request was being finished.
    private func handlePendingEvents(_ context: ChannelHandlerContext) {
        while !self.isFinishing, let event = self.waiting.popFirst() { self.take(event, context) }
        self.resumeReading(context)
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
        let work = BodyWork()
        self.phase = .receiving(work, staysOpen: head.isKeepAlive)
        let asks = head.headers["expect"].contains { $0.lowercased() == "100-continue" }
        let (path, type) = (head.uri, head.headers.first(name: "content-type"))
        let begun = self.onLoop(context) { (handler, context, result: Result<Void, BlobError>) in
            handler.didBegin(result, goingOn: asks, context)
        }
        work.begin(
            { [settings] () throws(BlobError) in
                try RequestReceiver(
                    path: path, contentType: type, folder: settings.folder, maximumByteCount: settings.maximumByteCount)
            }, then: begun)
        self.lastRead = .now()
        self.watchBody(context)
    }

    private func didBegin(_ result: Result<Void, BlobError>, goingOn: Bool, _ context: ChannelHandlerContext) {
        if case .failure(let error) = result { return self.refuse(error, context) }
        guard goingOn, case .receiving = self.phase else { return }
        context.writeAndFlush(
            self.wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: .continue))), promise: nil)
    }

    private func take(_ bytes: ByteBuffer, _ context: ChannelHandlerContext) {
        guard case .receiving(let work, _) = self.phase else { return }
        self.lastRead = .now()
        work.take(bytes, fail: self.onLoop(context) { $0.refuse($2, $1) })
    }

    private func finish(_ context: ChannelHandlerContext) {
        switch self.phase {
        case .receiving(let work, let staysOpen):
            self.timer?.cancel()
            self.phase = .finishing(staysOpen: staysOpen)
            // Printed in the order of the requests, even when the sender does not wait for its answer.
            let finished = self.onLoop(context) { (handler, context, result: Result<[String], BlobError>) in
                handler.didFinish(result, context)
            }
            work.finish { [print] result in
                if case .success(let lines) = result, !lines.isEmpty { print(lines.joined(separator: "\n")) }
                finished(result)
            }
        case .answering(let status, let staysOpen):
            self.answer(status, "PUT and POST are taken here.\n", staysOpen, context)
        case .awaitingHead, .finishing, .refused: break
        }
    }

    private func didFinish(_ result: Result<[String], BlobError>, _ context: ChannelHandlerContext) {
        guard case .finishing(let staysOpen) = self.phase else { return }
        switch result {
        case .success(let lines): self.answer(.created, lines.joined(separator: "\n") + "\n", staysOpen, context)
        case .failure(let error): self.refuse(error, context)
        }
        self.handlePendingEvents(context)
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
            case .io where Self.fullDisk.contains(error.systemErrorNumber ?? 0): .insufficientStorage
            default: .internalServerError
            }
        self.refuse(status, error.description, context)
    }

    private func refuse(_ status: HTTPResponseStatus, _ message: String, _ context: ChannelHandlerContext) {
        if case .refused = self.phase { return }
        self.abandon()
        self.write(status, message + "\n", closes: true, context)
        self.linger(context)
        self.handlePendingEvents(context)
    }

    /// Discards a request that is not complete, and its files.
    private func abandon() {
        self.timer?.cancel()
        if case .receiving(let work, _) = self.phase { work.abandon() }
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

    /// Reads and drops what still arrives for a while: closing with unread bytes would destroy the answer.
    private func linger(_ context: ChannelHandlerContext) {
        self.timer?.cancel()
        _ = self.endOutput(context)
        self.schedule(Self.lingering, context) { $1.close(promise: nil) }
    }

    private func awaitHead(_ context: ChannelHandlerContext) {
        let limit = TimeAmount.nanoseconds(Int64(self.settings.headerTimeout * 1e9))
        self.schedule(limit, context) { handler, context in
            handler.refuse(.requestTimeout, "No whole header arrived in time.", context)
        }
    }

    private func watchBody(_ context: ChannelHandlerContext) {
        // The time that the disk takes does not count against the sender.
        if case .receiving(let work, _) = self.phase, work.hasPendingPieces { self.lastRead = .now() }
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
