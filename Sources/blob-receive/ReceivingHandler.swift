import BlobReceiving
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

    enum Phase {
        case awaitingHead
        case receiving(BodyWork, staysOpen: Bool)
        /// The whole body has arrived, but is not stored yet.
        case finishing(staysOpen: Bool)
        /// The request has no body to keep.
        case answering(HTTPResponseStatus, staysOpen: Bool)
        case refused
    }

    let settings: ReceivingServer.Settings
    let drain: DrainHandler
    let print: @Sendable (String) -> Void
    var phase = Phase.awaitingHead
    var timer: Scheduled<Void>?
    var omitsBody = false  // True when the request is a HEAD.
    var pace: BodyPace?  // Set while the time of a body is watched.
    private var waiting = CircularBuffer<Event>()  // Events that arrived while a request is being finished.
    private var holdsRead = false
    private var outputEnd: EventLoopFuture<Void>?

    /// - Parameter drain: The handler of the connection that drops the rest of a refused body.
    init(_ settings: ReceivingServer.Settings, _ drain: DrainHandler, _ print: @escaping @Sendable (String) -> Void) {
        self.settings = settings
        self.drain = drain
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

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { self.resumeReading(context) }
        context.fireChannelWritabilityChanged()
    }

    /// Reads from the connection only when there is room for more bytes, and for the answers to more requests.
    func read(context: ChannelHandlerContext) {
        self.holdsRead =
            switch self.phase {
            case .finishing: true
            case .receiving(let work, _): !work.hasRoom(self.onLoop(context) { $0.resumeReading($1) })
            case .awaitingHead, .answering: !context.channel.isWritable
            case .refused: false
            }
        guard self.holdsRead else { return context.read() }
        self.pace?.hold(at: .now)
    }

    private func resumeReading(_ context: ChannelHandlerContext) {
        guard self.holdsRead else { return }
        self.holdsRead = false
        self.pace?.resume(at: .now)
        self.read(context: context)
    }

    private func take(_ event: Event, _ context: ChannelHandlerContext) {
        guard !self.isFinishing else { return self.waiting.append(event) }
        switch event {
        case .part(.head(let head)): self.begin(head, context)
        case .part(.body(let bytes)): self.take(bytes, context)
        case .part(.end): self.finish(context)
        case .parserError(HTTPParserError.headerOverflow):
            self.refuse(.requestHeaderFieldsTooLarge, "The header is too long.", context)
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

    func endOutput(_ context: ChannelHandlerContext) -> EventLoopFuture<Void> {
        let end = self.outputEnd ?? context.close(mode: .output)
        self.outputEnd = end
        return end
    }

    private var isFinishing: Bool {
        if case .finishing = self.phase { return true }
        return false
    }

    /// Handles the events that arrived while a request was being finished.
    func handlePendingEvents(_ context: ChannelHandlerContext) {
        while !self.isFinishing, let event = self.waiting.popFirst() { self.take(event, context) }
        self.resumeReading(context)
    }
}
