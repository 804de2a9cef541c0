#if Receiver
import BlobCore
import BlobPlatform
import BlobReceiving
import NIOCore
import NIOHTTP1

/// Handles one connection: passes the requests to a service in order, and sends its responses.
///
/// The service works off the event loop, so that a slow disk or ten thousand parts do not delay other connections. If
/// several pieces of a body are waiting for the service, reading from the connection pauses; a response is read from its
/// source only as fast as the client takes it.
final class ConnectionHandler: ChannelDuplexHandler {
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
        case receiving(RequestWork)
        /// The whole body has arrived, and the service has not answered yet.
        case finishing(RequestWork)
        case sending(BodyBuffers)
        case refused
    }

    /// The number of bytes of a body to collect for one call of the service. A body may arrive in chunks of one byte.
    private static let pieceByteCount = 64 * 1024

    /// The number of buffers after which a fast client waits for the other connections of its thread.
    private static let maximumBufferCount = 16

    private let service: any RequestService
    private let limits: HTTPServer.Limits
    private let drain: DrainHandler
    private let onAnswer: @Sendable (RequestAnswer) -> Void
    private var phase = Phase.awaitingHead
    private var timer: Scheduled<Void>?
    // The facts of the current request that determine the form of its response.
    private var (omitsBody, staysOpen, isVersion0) = (false, false, false)
    private var isDraining = false
    private var piece = ByteBuffer()  // The bytes of the body that the service has not received.
    private var pace: BodyPace?  // Set while the pace of a body is monitored.
    private var waitingEvents = CircularBuffer<Event>()  // Events that arrived while a request was being finished.
    private var holdsRead = false
    private var (isPumping, unsentHead) = (false, HTTPResponseHead?.none)
    private var outputEnd: EventLoopFuture<Void>?

    /// - Parameters:
    ///   - drain: The connection's handler that discards the rest of a refused body.
    ///   - onAnswer: Called off the event loop with each answer of the service, in the order of a connection's requests.
    init(
        _ service: any RequestService, _ limits: HTTPServer.Limits, _ drain: DrainHandler,
        _ onAnswer: @escaping @Sendable (RequestAnswer) -> Void
    ) {
        (self.service, self.limits, self.drain, self.onAnswer) = (service, limits, drain, onAnswer)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        if context.channel.isActive { self.awaitHead(context) }
    }

    func channelActive(context: ChannelHandlerContext) {
        self.awaitHead(context)
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        self.handle(.part(self.unwrapInboundIn(data)), context)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        self.passOnPiece(context)
        context.fireChannelReadComplete()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event as? ChannelEvent == .inputClosed { self.handle(.end, context) }
        if event is ServerIsDraining {
            (self.isDraining, self.staysOpen) = (true, false)
            if case .awaitingHead = self.phase, !self.drain.isInRequest {
                self.phase = .refused
                self.linger(for: Self.briefLingerTime, context)
            }
        }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if error is HTTPParserError { return self.handle(.parserError(error), context) }
        self.abandon()
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.abandon()
        context.fireChannelInactive()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable {
            self.pump(context)
            self.resumeReading(context)
        }
        context.fireChannelWritabilityChanged()
    }

    /// Reads from the connection only if there is room for more bytes and for the responses to more requests.
    func read(context: ChannelHandlerContext) {
        self.holdsRead =
            switch self.phase {
            case .finishing, .sending: true
            case .receiving(let work): !work.hasRoom(self.onLoop(context) { $0.resumeReading($1) })
            case .awaitingHead: !context.channel.isWritable
            case .refused: false
            }
        guard self.holdsRead else { return context.read() }
        if case .receiving = self.phase { self.pace?.hold(at: .now) }
    }

    private func resumeReading(_ context: ChannelHandlerContext) {
        guard self.holdsRead else { return }
        self.holdsRead = false
        if case .receiving = self.phase { self.pace?.resume(at: .now) }
        self.read(context: context)
    }

    private func handle(_ event: Event, _ context: ChannelHandlerContext) {
        guard !self.isAnswering else { return self.waitingEvents.append(event) }
        switch event {
        case .part(.head(let head)): self.begin(head, context)
        case .part(.body(let bytes)): self.handle(bytes, context)
        case .part(.end): self.finish(context)
        case .parserError(HTTPParserError.headerOverflow):
            self.refuse(431, "The header is too long.", context)
        case .parserError(let error):
            self.refuse(400, "The request is not valid HTTP: \(error).", context)
        case .end: self.endConnection(context)
        }
    }

    /// Handles the end of the sender's data.
    private func endConnection(_ context: ChannelHandlerContext) {
        self.abandon()
        // The connection is closed once all pending responses are sent.
        self.endOutput(context).assumeIsolated().whenComplete { _ in context.close(promise: nil) }
    }

    private func endOutput(_ context: ChannelHandlerContext) -> EventLoopFuture<Void> {
        let end = self.outputEnd ?? context.close(mode: .output)
        self.outputEnd = end
        return end
    }

    private var isAnswering: Bool {
        switch self.phase {
        case .finishing, .sending: true
        case .awaitingHead, .receiving, .refused: false
        }
    }

    /// Handles the events that arrived while a request was being answered.
    private func handlePendingEvents(_ context: ChannelHandlerContext) {
        while !self.isAnswering, let event = self.waitingEvents.popFirst() { self.handle(event, context) }
        self.resumeReading(context)
    }

    // MARK: Requests

    private func begin(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        guard case .awaitingHead = self.phase else { return }
        self.endTimer()
        (self.omitsBody, self.staysOpen) = (head.method == .HEAD, head.isKeepAlive && !self.isDraining)
        self.isVersion0 = head.version.minor == 0
        let hosts = head.headers["host"]
        guard head.version.major == 1,
            hosts.count == 1 && RequestHead.isHost(hosts[0])
                || hosts.isEmpty && head.version.minor == 0
        else { return self.refuse(400, "A request must have exactly one valid Host field.", context) }
        // A body with another coding would be taken for the content.
        let codings = head.headers["transfer-encoding"]
        guard codings.isEmpty || head.version.minor > 0 && codings.map({ $0.lowercased() }) == ["chunked"] else {
            return self.refuse(501, "The only accepted Transfer-Encoding is chunked.", context)
        }
        let work = RequestWork()
        self.phase = .receiving(work)
        let asks = head.headers["expect"].contains { $0.lowercased() == "100-continue" }
        let begun = self.onLoop(context) { (handler, context, result: Result<RequestAnswer?, BlobError>) in
            handler.didBegin(result, goingOn: asks, context)
        }
        let fields = head.headers.map { (name: $0.name, value: $0.value) }
        work.begin(
            RequestHead(method: head.method.rawValue, target: head.uri, fields: fields), self.service, then: begun)
    }

    private func didBegin(
        _ result: Result<RequestAnswer?, BlobError>, goingOn: Bool, _ context: ChannelHandlerContext
    ) {
        guard case .success(let interim) = result else {
            if case .failure(let error) = result { self.refuse(error, context) }
            return
        }
        guard case .receiving = self.phase else { return }
        self.watchBody(context)
        if let interim { self.writeInterim(interim.status, interim.fields, context) }
        if goingOn { self.writeInterim(100, [], context) }
    }

    private func writeInterim(_ status: Int, _ fields: [RequestHead.Field], _ context: ChannelHandlerContext) {
        let head = HTTPResponseHead(
            version: .http1_1, status: Self.status(status), headers: HTTPHeaders(fields.map { ($0.name, $0.value) }))
        context.writeAndFlush(self.wrapOutboundOut(.head(head)), promise: nil)
    }

    /// Returns the status for a status code. SwiftNIO has no reason phrase for 104, so it is specified here.
    private static func status(_ number: Int) -> HTTPResponseStatus {
        number == 104
            ? .custom(code: 104, reasonPhrase: "Upload Resumption Supported") : HTTPResponseStatus(statusCode: number)
    }

    private func handle(_ bytes: ByteBuffer, _ context: ChannelHandlerContext) {
        guard case .receiving = self.phase else { return }
        self.pace?.add(bytes.readableBytes, at: .now)
        var bytes = bytes
        if self.piece.readableBytes == 0, bytes.readableBytes >= Self.pieceByteCount / 8 {
            self.piece = bytes
        } else {
            self.piece.writeBuffer(&bytes)
        }
        if self.piece.readableBytes >= Self.pieceByteCount / 8 { self.passOnPiece(context) }
    }

    private func passOnPiece(_ context: ChannelHandlerContext) {
        guard case .receiving(let work) = self.phase, self.piece.readableBytes > 0 else { return }
        work.receive(self.piece, fail: self.onLoop(context) { $0.refuse($2, $1) })
        self.piece = ByteBuffer()
    }

    private func finish(_ context: ChannelHandlerContext) {
        guard case .receiving(let work) = self.phase else { return }
        self.passOnPiece(context)
        self.endTimer()
        self.drain.isInRequest = false
        self.phase = .finishing(work)
        let finished = self.onLoop(context) { (handler, context, result: Result<RequestAnswer, BlobError>) in
            handler.didFinish(result, context)
        }
        work.finish { [onAnswer] result in
            // In the order of the requests, even if the sender does not wait for the response.
            if case .success(let answer) = result { onAnswer(answer) }
            finished(result)
        }
    }

    private func didFinish(_ result: Result<RequestAnswer, BlobError>, _ context: ChannelHandlerContext) {
        guard case .finishing = self.phase else { return }
        switch result {
        case .success(let answer): self.send(answer, context)
        case .failure(let error): self.refuse(error, context)
        }
    }

    // MARK: Answers

    /// The time for which bytes are read and discarded after a refusal. Closing the connection with unread bytes would
    /// destroy the response before a slow sender reads it.
    private static let lingerTime = Duration.seconds(30)

    /// The time for which bytes are read and discarded after the response to a complete request.
    private static let briefLingerTime = Duration.seconds(2)

    private func send(_ answer: RequestAnswer, _ context: ChannelHandlerContext) {
        // The end of such a body is the end of the connection.
        if answer.byteCount == nil, self.isVersion0 { self.staysOpen = false }
        var head = self.head(answer)
        if answer.byteCount == nil, self.isVersion0 { head.version = .http1_0 }
        guard let body = answer.body, !self.omitsBody else {
            context.write(self.wrapOutboundOut(.head(head)), promise: nil)
            return self.endAnswer(context)
        }
        do throws(BlobError) {
            let reader = try body.withoutBlocking.open()
            // Sent with the first bytes, so that a source that cannot be read is reported as an error.
            self.unsentHead = head
            self.phase = .sending(BodyBuffers(reader))
            self.watchBody(context)
            self.pump(context)
        } catch {
            self.refuse(error, context)
        }
    }

    /// Sends the bytes of the body that the client can take now.
    private func pump(_ context: ChannelHandlerContext) {
        guard case .sending(let buffers) = self.phase, !self.isPumping else { return }
        self.isPumping = true
        defer { self.isPumping = false }
        do throws(BlobError) {
            var count = 0
            while context.channel.isWritable {
                let (result, bytes) = try buffers.nextNow()
                switch result {
                case .bytes:
                    self.writeHead(context)
                    self.pace?.add(bytes.readableBytes, at: .now)
                    self.pace?.resume(at: .now)
                    context.writeAndFlush(self.wrapOutboundOut(.body(.byteBuffer(bytes))), promise: nil)
                    count += 1
                    guard count < Self.maximumBufferCount else {
                        return self.onLoop(context) { $0.pump($1) }()
                    }
                case .end:
                    self.writeHead(context)
                    buffers.close()
                    return self.endAnswer(context)
                case .notYet:
                    // The client is not to blame for a slow source.
                    self.pace?.hold(at: .now)
                    return buffers.whenReadable(BlobWaker(self.onLoop(context) { $0.pump($1) }))
                }
            }
        } catch {
            buffers.close()
            guard self.unsentHead != nil else {
                // Without its end, the client cannot mistake the body for a complete one.
                self.phase = .refused
                self.endTimer()
                return context.close(promise: nil)
            }
            (self.phase, self.unsentHead) = (.awaitingHead, nil)
            // Without the message, which may contain paths of this machine.
            self.refuse(error.answer.status, "The content cannot be read: \(error.code).", context)
        }
    }

    private func writeHead(_ context: ChannelHandlerContext) {
        guard let head = self.unsentHead.take() else { return }
        context.write(self.wrapOutboundOut(.head(head)), promise: nil)
    }

    private func endAnswer(_ context: ChannelHandlerContext) {
        if self.omitsBody {
            // The encoder would end a chunked body, of which a client would take the end for the next response.
            context.flush()
        } else {
            context.writeAndFlush(self.wrapOutboundOut(.end(nil)), promise: nil)
        }
        self.endTimer()
        if self.staysOpen {
            self.phase = .awaitingHead
            self.awaitHead(context)
        } else {
            self.phase = .refused
            self.linger(for: Self.briefLingerTime, context)
        }
        self.handlePendingEvents(context)
    }

    private func head(_ answer: RequestAnswer) -> HTTPResponseHead {
        var head = HTTPResponseHead(
            version: .http1_1, status: Self.status(answer.status),
            headers: HTTPHeaders(answer.fields.map { ($0.name, $0.value) }))
        // These statuses have no body, and the first has no length (RFC 9110, sections 8.6 and 15.4.5).
        if let byteCount = answer.byteCount, head.status != .noContent, head.status != .notModified {
            head.headers.add(name: "Content-Length", value: String(byteCount))
        }
        head.headers.add(name: "Date", value: HTTPDate(seconds: Int64(time(nil))).text)
        if !self.staysOpen { head.headers.add(name: "Connection", value: "close") }
        return head
    }

    private func refuse(_ status: Int, _ message: String, _ context: ChannelHandlerContext) {
        self.refuse(RequestAnswer(status: status, text: message + "\n"), context)
    }

    private func refuse(_ error: BlobError, _ context: ChannelHandlerContext) { self.refuse(error.answer, context) }

    private func refuse(_ answer: RequestAnswer, _ context: ChannelHandlerContext) {
        if case .refused = self.phase { return }
        // Without unread bytes, closing the connection destroys nothing.
        let mayBeSending = self.drain.isInRequest
        self.abandon()
        self.staysOpen = false
        context.write(self.wrapOutboundOut(.head(self.head(answer))), promise: nil)
        if !self.omitsBody, let text = try? answer.body?.data(upTo: 1 << 20) {
            context.write(self.wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: text)))), promise: nil)
        }
        context.writeAndFlush(self.wrapOutboundOut(.end(nil)), promise: nil)
        self.linger(for: mayBeSending ? Self.lingerTime : Self.briefLingerTime, context)
        self.handlePendingEvents(context)
    }

    /// Discards an incomplete request and its files, and a response that is being sent.
    private func abandon() {
        self.endTimer()
        switch self.phase {
        case .receiving(let work), .finishing(let work): work.abandon()
        case .sending(let buffers): buffers.close()
        case .awaitingHead, .refused: break
        }
        self.phase = .refused
    }

    // MARK: Time

    private func endTimer() {
        self.timer?.cancel()
        self.pace = nil
    }

    /// Reads and discards arriving bytes for a while.
    private func linger(for time: Duration, _ context: ChannelHandlerContext) {
        self.endTimer()
        self.drain.begin()
        _ = self.endOutput(context)
        self.schedule(TimeAmount(min(time, self.limits.idleTimeout)), context) { $1.close(promise: nil) }
    }

    private func awaitHead(_ context: ChannelHandlerContext) {
        self.schedule(TimeAmount(self.limits.headerTimeout), context) { handler, context in
            handler.refuse(408, "No complete header arrived in time.", context)
        }
    }

    /// Ends a request whose body arrives too slowly, or whose response is taken too slowly. The time for which the
    /// service or the source is waited for does not count.
    private func watchBody(_ context: ChannelHandlerContext) {
        var pace =
            self.pace ?? BodyPace(timeLimit: self.limits.idleTimeout, minimumRate: self.limits.minimumRate, at: .now)
        let verdict = pace.check(at: .now)
        self.pace = pace
        if case .fine(let delay) = verdict { return self.schedule(TimeAmount(delay), context) { $0.watchBody($1) } }
        if case .sending = self.phase { return context.close(promise: nil) }
        let text =
            verdict == .idle
            ? "No bytes of the body arrived in time."
            : "The body arrived at fewer than \(self.limits.minimumRate) bytes per second."
        self.refuse(408, text, context)
    }

    private func schedule(
        _ time: TimeAmount, _ context: ChannelHandlerContext,
        _ action: @escaping (ConnectionHandler, ChannelHandlerContext) -> Void
    ) {
        self.timer = context.eventLoop.assumeIsolated().scheduleTask(in: time) { action(self, context) }
    }

    // MARK: Threads

    /// Returns a function that calls `action` on the event loop. The function can be called on any thread.
    private func onLoop<Value: Sendable>(
        _ context: ChannelHandlerContext,
        _ action: @escaping (ConnectionHandler, ChannelHandlerContext, Value) -> Void
    ) -> @Sendable (Value) -> Void {
        let loop = context.eventLoop
        let bound = NIOLoopBound((handler: self, context: context, action: action), eventLoop: loop)
        return { value in
            loop.execute { bound.value.action(bound.value.handler, bound.value.context, value) }
        }
    }

    private func onLoop(
        _ context: ChannelHandlerContext, _ action: @escaping (ConnectionHandler, ChannelHandlerContext) -> Void
    ) -> @Sendable () -> Void {
        let call = self.onLoop(context) { (handler, context, _: Bool) in action(handler, context) }
        return { call(true) }
    }
}
#endif
