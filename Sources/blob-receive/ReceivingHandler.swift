#if Receiver
import BlobCore
import BlobPlatform
import BlobReceiving
import NIOCore
import NIOHTTP1

/// Handles one connection. It responds to requests in order once their bodies are complete, or refuses them.
///
/// Bodies are hashed and stored off the event loop, so that a slow disk or ten thousand parts do not delay other
/// connections. If several pieces are waiting for the disk, reading from the connection pauses.
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
        /// The whole body has arrived but is not yet stored.
        case finishing(staysOpen: Bool)
        /// The request has no body to store.
        case answering(HTTPResponseStatus, staysOpen: Bool)
        case refused
    }

    private let settings: ReceivingServer.Settings
    private let drain: DrainHandler
    private let print: @Sendable (String) -> Void
    private var phase = Phase.awaitingHead
    private var timer: Scheduled<Void>?
    private var omitsBody = false  // True if the request is a HEAD.
    private var pace: BodyPace?  // Set while the pace of a body is monitored.
    private var waitingEvents = CircularBuffer<Event>()  // Events that arrived while a request was being finished.
    private var holdsRead = false
    private var outputEnd: EventLoopFuture<Void>?

    /// - Parameter drain: The connection's handler that discards the rest of a refused body.
    init(_ settings: ReceivingServer.Settings, _ drain: DrainHandler, _ print: @escaping @Sendable (String) -> Void) {
        self.settings = settings
        self.drain = drain
        self.print = print
    }

    func channelActive(context: ChannelHandlerContext) { self.awaitHead(context) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        self.handle(.part(self.unwrapInboundIn(data)), context)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event as? ChannelEvent == .inputClosed { self.handle(.end, context) }
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
        if context.channel.isWritable { self.resumeReading(context) }
        context.fireChannelWritabilityChanged()
    }

    /// Reads from the connection only if there is room for more bytes and for the responses to more requests.
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

    private func handle(_ event: Event, _ context: ChannelHandlerContext) {
        guard !self.isFinishing else { return self.waitingEvents.append(event) }
        switch event {
        case .part(.head(let head)): self.begin(head, context)
        case .part(.body(let bytes)): self.handle(bytes, context)
        case .part(.end): self.finish(context)
        case .parserError(HTTPParserError.headerOverflow):
            self.refuse(.requestHeaderFieldsTooLarge, "The header is too long.", context)
        case .parserError(let error):
            self.refuse(.badRequest, "The request is not valid HTTP: \(error).", context)
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

    private var isFinishing: Bool {
        if case .finishing = self.phase { return true }
        return false
    }

    /// Handles the events that arrived while a request was being finished.
    private func handlePendingEvents(_ context: ChannelHandlerContext) {
        while !self.isFinishing, let event = self.waitingEvents.popFirst() { self.handle(event, context) }
        self.resumeReading(context)
    }

    // MARK: Requests

    private func begin(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        guard case .awaitingHead = self.phase else { return }
        self.endTimer()
        guard head.version.major == 1, head.version.minor == 0 || head.headers["host"].count == 1 else {
            return self.refuse(.badRequest, "A request must have exactly one Host field.", context)
        }
        self.omitsBody = head.method == .HEAD
        let fields = head.headers.map { (name: $0.name, value: $0.value) }
        let resumable = ResumableUploads.request(method: head.method.rawValue, path: head.uri, fields: fields)
        let asksForFile = resumable == nil && head.method == .HEAD && self.settings.storedFiles != nil
        guard resumable != nil || head.method == .PUT || head.method == .POST || asksForFile else {
            guard head.method == .GET else {
                return self.refuse(.methodNotAllowed, "Only PUT and POST are accepted.", context)
            }
            self.phase = .answering(.methodNotAllowed, staysOpen: head.isKeepAlive)
            return
        }
        // A body with another coding would be stored encoded, as if the encoded bytes were the file.
        let codings = head.headers["transfer-encoding"]
        guard codings.isEmpty || head.version.minor > 0 && codings.map({ $0.lowercased() }) == ["chunked"] else {
            return self.refuse(.notImplemented, "The only accepted Transfer-Encoding is chunked.", context)
        }
        let length = head.headers.first(name: "content-length").flatMap { Int64($0) }
        if let length, length > self.settings.maximumByteCount {
            let limit = self.settings.maximumByteCount
            return self.refuse(.payloadTooLarge, "The body has more bytes than the limit of \(limit).", context)
        }
        let work = BodyWork()
        self.phase = .receiving(work, staysOpen: head.isKeepAlive)
        let asks = head.headers["expect"].contains { $0.lowercased() == "100-continue" }
        let (path, type) = (head.uri, head.headers.first(name: "content-type"))
        let begun = self.onLoop(context) { (handler, context, result: Result<RequestAnswer?, BlobError>) in
            handler.didBegin(result, goingOn: asks, context)
        }
        work.begin(
            { [settings] () throws(BlobError) in
                if let receiver = try resumable?.makeReceiver(settings.uploads) { return receiver }
                if asksForFile, let stored = settings.storedFiles { return stored.headReceiver(path) }
                return try RequestReceiver(
                    path: path, contentType: type, fields: fields, folder: settings.folder,
                    maximumByteCount: settings.maximumByteCount, storedFiles: settings.storedFiles)
            }, then: begun)
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
        if let interim { self.writeInterim(interim, context) }
        if goingOn { self.writeInterim(RequestAnswer(status: 100), context) }
    }

    private func writeInterim(_ answer: RequestAnswer, _ context: ChannelHandlerContext) {
        var head = HTTPResponseHead(version: .http1_1, status: Self.status(answer.status))
        for field in answer.fields { head.headers.add(name: field.name, value: field.value) }
        context.writeAndFlush(self.wrapOutboundOut(.head(head)), promise: nil)
    }

    /// Returns the status for a status code. SwiftNIO has no reason phrase for 104, so it is specified here.
    private static func status(_ number: Int) -> HTTPResponseStatus {
        number == 104
            ? .custom(code: 104, reasonPhrase: "Upload Resumption Supported") : HTTPResponseStatus(statusCode: number)
    }

    private func handle(_ bytes: ByteBuffer, _ context: ChannelHandlerContext) {
        guard case .receiving(let work, _) = self.phase else { return }
        self.pace?.add(bytes.readableBytes, at: .now)
        work.receive(bytes, fail: self.onLoop(context) { $0.refuse($2, $1) })
    }

    private func finish(_ context: ChannelHandlerContext) {
        switch self.phase {
        case .receiving(let work, let staysOpen):
            self.endTimer()
            self.phase = .finishing(staysOpen: staysOpen)
            // Printed in the order of the requests, even if the sender does not wait for the response.
            let finished = self.onLoop(context) { (handler, context, result: Result<Finished, BlobError>) in
                handler.didFinish(result, context)
            }
            work.finish { [print] result in
                // Created here, off the event loop, because creating ten thousand lines takes some time.
                let result = result.map { (answer: $0, lines: $0.parts.map(\.line).joined(separator: "\n")) }
                if case .success(let request) = result, !request.lines.isEmpty { print(request.lines) }
                finished(result)
            }
        case .answering(let status, let staysOpen):
            self.answer(status, text: "Only PUT and POST are accepted.\n", staysOpen, context)
        case .awaitingHead, .finishing, .refused: break
        }
    }

    private func didFinish(_ result: Result<Finished, BlobError>, _ context: ChannelHandlerContext) {
        guard case .finishing(let staysOpen) = self.phase else { return }
        switch result {
        case .success(let request):
            let (answer, text) = (request.answer, request.lines.isEmpty ? "" : request.lines + "\n")
            self.answer(
                HTTPResponseStatus(statusCode: answer.status), fields: answer.fields, text: text, staysOpen, context)
        case .failure(let error): self.refuse(error, context)
        }
        self.handlePendingEvents(context)
    }

    /// The response to an accepted request, and the lines for its parts.
    private typealias Finished = (answer: RequestAnswer, lines: String)

    // MARK: Answers

    /// The time for which bytes are read and discarded after a refusal. Closing the connection with unread bytes would
    /// destroy the response before a slow sender reads it.
    private static let lingerTime = TimeAmount.seconds(30)

    /// The time for which bytes are read and discarded after the response to a complete request.
    private static let briefLingerTime = TimeAmount.seconds(2)

    /// The errors for a full disk, an exceeded quota, and a file that is too large.
    private static let fullDiskErrorNumbers: Set = [ENOSPC, EDQUOT, EFBIG]

    private func answer(
        _ status: HTTPResponseStatus, fields: [RequestAnswer.Field] = [], text: String, _ staysOpen: Bool,
        _ context: ChannelHandlerContext
    ) {
        self.write(status, fields, text, closes: !staysOpen, context)
        guard staysOpen else {
            self.phase = .refused
            return self.linger(for: Self.briefLingerTime, context)
        }
        self.phase = .awaitingHead
        self.awaitHead(context)
    }

    private func refuse(_ error: BlobError, _ context: ChannelHandlerContext) {
        let refusal = error.cause as? RequestRefusal
        let status: HTTPResponseStatus =
            switch error.code {
            case _ where refusal != nil: HTTPResponseStatus(statusCode: refusal?.status ?? 500)
            case .limitExceeded: .payloadTooLarge
            case .corrupted, .truncated, .invalidArgument: .badRequest
            case .io where Self.fullDiskErrorNumbers.contains(error.systemErrorNumber ?? 0): .insufficientStorage
            default: .internalServerError
            }
        let type = refusal?.problem.map { _ in [("Content-Type", "application/problem+json")] } ?? []
        self.refuse(
            status, refusal?.problem ?? error.description, fields: (refusal?.fields ?? []) + type, context)
    }

    private func refuse(
        _ status: HTTPResponseStatus, _ message: String, fields: [RequestAnswer.Field] = [],
        _ context: ChannelHandlerContext
    ) {
        if case .refused = self.phase { return }
        self.abandon()
        self.write(status, fields, message + "\n", closes: true, context)
        self.linger(for: Self.lingerTime, context)
        self.handlePendingEvents(context)
    }

    /// Discards an incomplete request and its files.
    private func abandon() {
        self.endTimer()
        if case .receiving(let work, _) = self.phase { work.abandon() }
        self.phase = .refused
    }

    private func write(
        _ status: HTTPResponseStatus, _ fields: [RequestAnswer.Field], _ text: String, closes: Bool,
        _ context: ChannelHandlerContext
    ) {
        // Neither this status nor a HEAD response has a body, and this status has no length (RFC 9110, section 8.6).
        let text = self.omitsBody || status == .noContent ? "" : text
        var head = HTTPResponseHead(version: .http1_1, status: status)
        let type = status == .created ? "application/x-ndjson" : "text/plain; charset=utf-8"
        for field in fields { head.headers.add(name: field.name, value: field.value) }
        if !text.isEmpty, !head.headers.contains(name: "Content-Type") {
            head.headers.add(name: "Content-Type", value: type)
        }
        // The response to a HEAD request states the length of the file.
        if status != .noContent, !head.headers.contains(name: "Content-Length") {
            head.headers.add(name: "Content-Length", value: String(text.utf8.count))
        }
        if status == .methodNotAllowed {
            head.headers.add(name: "Allow", value: self.settings.storedFiles == nil ? "PUT, POST" : "PUT, POST, HEAD")
        }
        if closes { head.headers.add(name: "Connection", value: "close") }
        context.write(self.wrapOutboundOut(.head(head)), promise: nil)
        context.write(self.wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: text)))), promise: nil)
        context.writeAndFlush(self.wrapOutboundOut(.end(nil)), promise: nil)
    }

    // MARK: Time

    private func endTimer() {
        self.timer?.cancel()
        self.pace = nil
    }

    /// Reads and discards arriving bytes for a while.
    private func linger(for time: TimeAmount, _ context: ChannelHandlerContext) {
        self.endTimer()
        self.drain.begin()
        _ = self.endOutput(context)
        self.schedule(time, context) { $1.close(promise: nil) }
    }

    private func awaitHead(_ context: ChannelHandlerContext) {
        let limit = TimeAmount.nanoseconds(Int64(self.settings.headerTimeout * 1e9))
        self.schedule(limit, context) { handler, context in
            handler.refuse(.requestTimeout, "No complete header arrived in time.", context)
        }
    }

    /// Refuses a body that arrives too slowly. Time spent waiting for the disk does not count against the sender.
    private func watchBody(_ context: ChannelHandlerContext) {
        let limit = Duration.seconds(self.settings.idleTimeout)
        var pace = self.pace ?? BodyPace(timeLimit: limit, minimumRate: self.settings.minimumRate, at: .now)
        let verdict = pace.check(at: .now)
        self.pace = pace
        switch verdict {
        case .fine(let delay): self.schedule(TimeAmount(delay), context) { $0.watchBody($1) }
        case .idle: self.refuse(.requestTimeout, "No bytes of the body arrived in time.", context)
        case .slow:
            let rate = self.settings.minimumRate
            self.refuse(.requestTimeout, "The body arrived at fewer than \(rate) bytes per second.", context)
        }
    }

    private func schedule(
        _ time: TimeAmount, _ context: ChannelHandlerContext,
        _ action: @escaping (ReceivingHandler, ChannelHandlerContext) -> Void
    ) {
        self.timer = context.eventLoop.assumeIsolated().scheduleTask(in: time) { action(self, context) }
    }

    // MARK: Threads

    /// Returns a function that calls `action` on the event loop. The function can be called on any thread.
    private func onLoop<Value: Sendable>(
        _ context: ChannelHandlerContext,
        _ action: @escaping (ReceivingHandler, ChannelHandlerContext, Value) -> Void
    ) -> @Sendable (Value) -> Void {
        let loop = context.eventLoop
        let bound = NIOLoopBound((handler: self, context: context, action: action), eventLoop: loop)
        return { value in
            loop.execute { bound.value.action(bound.value.handler, bound.value.context, value) }
        }
    }

    private func onLoop(
        _ context: ChannelHandlerContext, _ action: @escaping (ReceivingHandler, ChannelHandlerContext) -> Void
    ) -> @Sendable () -> Void {
        let call = self.onLoop(context) { (handler, context, _: Bool) in action(handler, context) }
        return { call(true) }
    }
}

/// A handler that passes on received data until ``begin()`` is called, and discards it afterwards.
final class DrainHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    /// The maximum number of bytes to discard before the connection is closed. It is more than a sender transmits
    /// before it reads a late response, but little compared with the refused body.
    private static let maximumByteCount = 256 << 20

    private var rest: Int?

    /// Discards all data from now on. A second call has no effect.
    func begin() { self.rest = self.rest ?? Self.maximumByteCount }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard let rest else { return context.fireChannelRead(data) }
        let left = rest - self.unwrapInboundIn(data).readableBytes
        self.rest = left
        if left < 0 { context.close(promise: nil) }
    }
}
#endif
