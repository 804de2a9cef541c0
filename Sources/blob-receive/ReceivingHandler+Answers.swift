import BlobCore
import BlobPlatform
import BlobReceiving
import NIOCore
import NIOHTTP1

/// The answers of a connection, and its limits of time.
extension ReceivingHandler {
    /// The time for which bytes are read and dropped after a refusal: closing with unread bytes would destroy the
    /// answer before a slow sender reads it.
    private static let lingering = TimeAmount.seconds(30)

    /// The same after an answer to a whole request.
    private static let briefLingering = TimeAmount.seconds(2)

    /// The errors for a full disk, an exhausted quota, and a file that is too large.
    private static let fullDisk: Set = [ENOSPC, EDQUOT, EFBIG]

    func answer(
        _ status: HTTPResponseStatus, fields: [RequestAnswer.Field] = [], text: String, _ staysOpen: Bool,
        _ context: ChannelHandlerContext
    ) {
        self.write(status, fields, text, closes: !staysOpen, context)
        guard staysOpen else {
            self.phase = .refused
            return self.linger(for: Self.briefLingering, context)
        }
        self.phase = .awaitingHead
        self.awaitHead(context)
    }

    func refuse(_ error: BlobError, _ context: ChannelHandlerContext) {
        let refusal = error.cause as? RequestRefusal
        let status: HTTPResponseStatus =
            switch error.code {
            case _ where refusal != nil: HTTPResponseStatus(statusCode: refusal?.status ?? 500)
            case .limitExceeded: .payloadTooLarge
            case .corrupted, .truncated, .invalidArgument: .badRequest
            case .io where Self.fullDisk.contains(error.systemErrorNumber ?? 0): .insufficientStorage
            default: .internalServerError
            }
        let type = refusal?.problem.map { _ in [("Content-Type", "application/problem+json")] } ?? []
        self.refuse(
            status, refusal?.problem ?? error.description, fields: (refusal?.fields ?? []) + type, context)
    }

    func refuse(
        _ status: HTTPResponseStatus, _ message: String, fields: [RequestAnswer.Field] = [],
        _ context: ChannelHandlerContext
    ) {
        if case .refused = self.phase { return }
        self.abandon()
        self.write(status, fields, message + "\n", closes: true, context)
        self.linger(for: Self.lingering, context)
        self.handlePendingEvents(context)
    }

    /// Discards a request that is not complete, and its files.
    func abandon() {
        self.endTimer()
        if case .receiving(let work, _) = self.phase { work.abandon() }
        self.phase = .refused
    }

    private func write(
        _ status: HTTPResponseStatus, _ fields: [RequestAnswer.Field], _ text: String, closes: Bool,
        _ context: ChannelHandlerContext
    ) {
        // Neither this status nor a HEAD has a body, and the status no length of one (RFC 9110, section 8.6).
        let text = self.omitsBody || status == .noContent ? "" : text
        var head = HTTPResponseHead(version: .http1_1, status: status)
        let type = status == .created ? "application/x-ndjson" : "text/plain; charset=utf-8"
        for field in fields { head.headers.add(name: field.name, value: field.value) }
        if !text.isEmpty, !head.headers.contains(name: "Content-Type") {
            head.headers.add(name: "Content-Type", value: type)
        }
        // The answer to a HEAD has the length that a file has.
        if status != .noContent, !head.headers.contains(name: "Content-Length") {
            head.headers.add(name: "Content-Length", value: String(text.utf8.count))
        }
        if status == .methodNotAllowed {
            head.headers.add(name: "Allow", value: self.settings.stored == nil ? "PUT, POST" : "PUT, POST, HEAD")
        }
        if closes { head.headers.add(name: "Connection", value: "close") }
        context.write(self.wrapOutboundOut(.head(head)), promise: nil)
        context.write(self.wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: text)))), promise: nil)
        context.writeAndFlush(self.wrapOutboundOut(.end(nil)), promise: nil)
    }

    // MARK: Time

    func endTimer() {
        self.timer?.cancel()
        self.pace = nil
    }

    /// Reads and drops what still arrives for a while.
    private func linger(for time: TimeAmount, _ context: ChannelHandlerContext) {
        self.endTimer()
        self.drain.begin()
        _ = self.endOutput(context)
        self.schedule(time, context) { $1.close(promise: nil) }
    }

    func awaitHead(_ context: ChannelHandlerContext) {
        let limit = TimeAmount.nanoseconds(Int64(self.settings.headerTimeout * 1e9))
        self.schedule(limit, context) { handler, context in
            handler.refuse(.requestTimeout, "No whole header arrived in time.", context)
        }
    }

    /// Refuses a body that arrives too slowly. The time that the disk takes does not count against the sender.
    func watchBody(_ context: ChannelHandlerContext) {
        let limit = Duration.seconds(self.settings.idleTimeout)
        var pace = self.pace ?? BodyPace(limit: limit, minimumRate: self.settings.minimumRate, at: .now)
        let verdict = pace.check(at: .now)
        self.pace = pace
        switch verdict {
        case .fine(let delay): self.schedule(TimeAmount(delay), context) { $0.watchBody($1) }
        case .idle: self.refuse(.requestTimeout, "Nothing of the body arrived in time.", context)
        case .slow:
            let rate = self.settings.minimumRate
            self.refuse(.requestTimeout, "The body arrived at less than \(rate) bytes a second.", context)
        }
    }

    private func schedule(
        _ time: TimeAmount, _ context: ChannelHandlerContext,
        _ action: @escaping (ReceivingHandler, ChannelHandlerContext) -> Void
    ) {
        self.timer = context.eventLoop.assumeIsolated().scheduleTask(in: time) { action(self, context) }
    }
}
