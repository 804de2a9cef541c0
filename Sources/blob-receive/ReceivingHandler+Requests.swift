import BlobCore
import BlobReceiving
import NIOCore
import NIOHTTP1

/// The requests of a connection.
extension ReceivingHandler {
    func begin(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        guard case .awaitingHead = self.phase else { return }
        self.endTimer()
        guard head.version.major == 1, head.version.minor == 0 || head.headers["host"].count == 1 else {
            return self.refuse(.badRequest, "A request names its Host once.", context)
        }
        self.omitsBody = head.method == .HEAD
        let resumable = ResumableUploads.request(
            method: head.method.rawValue, path: head.uri, fields: head.headers.map { ($0.name, $0.value) })
        let asksForFile = resumable == nil && head.method == .HEAD && self.settings.stored != nil
        guard resumable != nil || head.method == .PUT || head.method == .POST || asksForFile else {
            guard head.method == .GET else {
                return self.refuse(.methodNotAllowed, "PUT and POST are taken here.", context)
            }
            self.phase = .answering(.methodNotAllowed, staysOpen: head.isKeepAlive)
            return
        }
        // A body in another coding would be stored in that coding, as if it were the file.
        let codings = head.headers["transfer-encoding"]
        guard codings.isEmpty || head.version.minor > 0 && codings.map({ $0.lowercased() }) == ["chunked"] else {
            return self.refuse(.notImplemented, "The only Transfer-Encoding taken here is chunked.", context)
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
                if asksForFile, let stored = settings.stored { return stored.headReceiver(path) }
                return try RequestReceiver(
                    path: path, contentType: type, folder: settings.folder, maximumByteCount: settings.maximumByteCount,
                    stored: settings.stored)
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

    /// Returns the status of a number, with the reason of the ones that are not in the registry yet.
    static func status(_ number: Int) -> HTTPResponseStatus {
        number == 104
            ? .custom(code: 104, reasonPhrase: "Upload Resumption Supported") : HTTPResponseStatus(statusCode: number)
    }

    func take(_ bytes: ByteBuffer, _ context: ChannelHandlerContext) {
        guard case .receiving(let work, _) = self.phase else { return }
        self.pace?.add(bytes.readableBytes, at: .now)
        work.take(bytes, fail: self.onLoop(context) { $0.refuse($2, $1) })
    }

    func finish(_ context: ChannelHandlerContext) {
        switch self.phase {
        case .receiving(let work, let staysOpen):
            self.endTimer()
            self.phase = .finishing(staysOpen: staysOpen)
            // Printed in the order of the requests, even when the sender does not wait for its answer.
            let finished = self.onLoop(context) { (handler, context, result: Result<Finished, BlobError>) in
                handler.didFinish(result, context)
            }
            work.finish { [print] result in
                // Made here, not on the event loop: ten thousand lines take a while.
                let result = result.map { Finished(answer: $0, lines: $0.parts.map(\.line).joined(separator: "\n")) }
                if case .success(let request) = result, !request.lines.isEmpty { print(request.lines) }
                finished(result)
            }
        case .answering(let status, let staysOpen):
            self.answer(status, text: "PUT and POST are taken here.\n", staysOpen, context)
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
}

/// A request that was accepted, with the lines of its parts.
private struct Finished: Sendable {
    let answer: RequestAnswer
    let lines: String
}
