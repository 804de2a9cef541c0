import BlobCore
import BlobPlatform
import CCurl

/// One upload, from the first byte of its source to the last of its answer, run by the thread of all transfers.
final class UploadTransfer: LoopTransfer, SocketUser, @unchecked Sendable {  // Safe: used by that thread.
    /// The longest wait for the body of a refusal, from the last byte received.
    private static let refusalTimeout = Duration.seconds(1)

    /// The longest time for a server to close its side of the connection after its answer.
    ///
    /// A server that has read everything closes it at once, so the wait is a round trip. One that keeps its side open
    /// costs each upload this much.
    private static let closeTimeout = Duration.milliseconds(250)

    /// The connection of a request.
    enum Connection {
        /// One that was used before, if there is one.
        case pooled
        /// A new one, which is used again.
        case new
        /// A new one, which is closed after the request.
        case own
    }

    let upload: BlobUploadRequest
    let isEncrypted: Bool
    let connection: Connection
    let byteCount: Int64?
    let info: BlobInfo
    let pump: BodyPump
    let exchange: UploadExchange
    /// The idle limit of the source.
    let sourceLimit: Duration?
    private(set) var handle: CurlHandle?
    /// The URL, once the request is set up.
    var url: TransferURL?
    private(set) var loop: TransferLoop?
    private let rateLimit: RateLimit?
    var isPaced: Bool { self.rateLimit != nil }
    private var isPaused = false
    private var hasPausedForInput = false
    private var isAnswerPaused = false
    private var isOver = false
    var lastActivity = Moment.now
    private var lastCounts: (up: Int64, down: Int64) = (0, 0)

    /// The error for which a callback ended the request; libcurl only reports that one did.
    private(set) var failure: BlobError?
    private(set) var head = ResponseHead()
    private(set) var body = Data()
    /// The number of bytes of the body handed to libcurl, whose own count includes framing.
    var sent: Int64 = 0
    /// The number of bytes that the owner was told, and the time; at first, that of the first bytes.
    var (notedCount, noteTime) = (Int64(0), Moment.now)
    var isBodySent = false
    /// True when libcurl has the whole body from the beginning, and does not ask for it.
    var hasWholeBody = false

    /// The socket of the request, once it is connected.
    var socket: PeerSocket?
    /// The socket of a success, which libcurl has closed as far as it knows.
    var closing: PeerSocket?
    /// The number of bytes of the body of the answer.
    private var answeredByteCount: Int64 = 0
    /// True once the request has a connection.
    var hasBegun = false
    /// True when a connection that was used before broke before an answer.
    var isStale = false
    /// The number of bytes of the body sent when a success began, including framing.
    var uploadedAtAnswer: Int64?

    init(
        _ upload: BlobUploadRequest, _ info: BlobInfo, _ pump: BodyPump, _ exchange: UploadExchange,
        _ connection: Connection, idleLimit: Duration?
    ) {
        (self.upload, self.info, self.connection) = (upload, info, connection)
        self.isEncrypted = upload.url.prefix(7).lowercased() != "http://"
        self.byteCount = upload.isChunked ? nil : self.info.byteCount
        (self.pump, self.exchange, self.sourceLimit) = (pump, exchange, idleLimit)
        self.rateLimit = upload.ownPace.map { RateLimit($0) }
    }

    // MARK: On any thread

    /// Starts the request. Called once.
    ///
    /// - Throws: ``BlobError/Code/unavailable`` without libcurl, memory or a thread.
    func start() throws(BlobError) {
        try TransferLoop.shared.get().perform { loop in
            (self.loop, self.lastActivity) = (loop, loop.time)
            loop.enqueue(self)
        }
    }

    /// Continues after the pump had no bytes.
    func continueBody() { self.perform { self.resumeBody($0) } }

    /// Continues after the exchange had no room.
    func continueAnswer() {
        self.perform { loop in
            guard self.isAnswerPaused else { return }
            (self.isAnswerPaused, self.lastActivity) = (false, loop.time)
            self.handle?.resume()
        }
    }

    /// Ends the upload; without effect when it has ended.
    func cancel() { self.perform { self.end(.failure(BlobError(.cancelled, "The upload was cancelled.")), $0) } }

    private func perform(_ job: @escaping TransferLoop.Job) { try? TransferLoop.shared.get().perform(job) }

    // MARK: On the thread of the loop

    func connect(_ loop: TransferLoop) {
        guard !self.isOver else { return }
        self.lastActivity = loop.time
        do throws(BlobError) {
            let handle = try CurlHandle()
            self.handle = handle
            try self.setUp(handle, loop)
            self.isBodySent = self.byteCount == 0
            try loop.add(handle, self)
        } catch {
            self.fail(error, loop)
        }
    }

    func finish(_ code: CURLcode, _ loop: TransferLoop) {
        self.end(Result { () throws(BlobError) in try self.outcome(of: code) }, loop)
    }

    func fail(_ error: BlobError, _ loop: TransferLoop) { self.end(.failure(error), loop) }

    private func end(_ result: Result<BlobUploadResponse, BlobError>, _ loop: TransferLoop) {
        guard !self.isOver else { return }
        self.isOver = true
        let result = result.mapError { error in
            // An error of the source is not about the request.
            guard error.operation == "write" else { return error }
            return SentSecrets([self.upload.url], self.upload.fields, self.upload.settings).removed(from: error)
        }
        // Callbacks may still have a socket to close.
        if let handle { loop.remove(handle) }
        self.handle = nil
        if let socket { loop.sockets.release(socket.descriptor) }
        let (exchange, isStale) = (self.exchange, self.isStale)
        let news = self.hasProgress ? self.sent : nil
        guard let closing, let response = try? result.get(), let resetError else {
            closing?.close()
            return exchange.end(UploadExchange.Ending(result: result, isStale: isStale), sent: news)
        }
        if let news { exchange.note(sent: news) }
        loop.closingSockets.close(closing, within: Self.closeTimeout) { isReset in
            let result = isReset ? .failure(resetError) : Result<_, BlobError>.success(response)
            exchange.end(UploadExchange.Ending(result: result, isStale: false))
        }
    }

    /// True once the server has refused the request; the rest of its answer is only an explanation.
    private var isRefused: Bool { self.head.isFinal && !self.head.isSuccess }

    /// The remaining time to wait for the rest of the explanation.
    private var remainingRefusalTime: Duration {
        if let length = self.head.contentLength, self.body.count >= length { return .zero }
        let idleLimit = self.upload.idleLimit ?? self.sourceLimit
        return min(Self.refusalTimeout, idleLimit ?? Self.refusalTimeout) - self.idleTime
    }

    private var idleTime: Duration { self.time - self.lastActivity }

    var time: Moment { self.loop?.time ?? .now }

    /// Returns the wait until the rate limit allows bytes; nil when it allows bytes now.
    private func delayOfRateLimit() -> Duration? {
        guard self.rateLimit?.allowance() == 0 else { return nil }
        return self.rateLimit?.delay
    }

    private func resumeBody(_ loop: TransferLoop) {
        guard self.isPaused, !self.isRefused, let handle else { return }
        if let delay = self.delayOfRateLimit() { return loop.check(within: delay) }
        guard self.pump.hasNews() else { return }
        // The connection had nothing to move until now: that time is the source's.
        (self.isPaused, self.lastActivity) = (false, loop.time)
        handle.resume()
    }

    func checkLimits(_ loop: TransferLoop) {
        guard !self.isOver else { return }
        self.noteProgress()
        if self.isRefused {
            // While paused, libcurl would not end before the source does; with a server that stalls, never.
            let rest = self.remainingRefusalTime
            return rest > .zero ? loop.check(within: rest) : self.finish(CURLE_OK, loop)
        }
        self.resumeBody(loop)
        guard !self.isAnswerPaused else { return }
        // The source checks this limit itself, and its error is more precise.
        let isSourceSlow = self.isPaused && self.delayOfRateLimit() == nil && !self.pump.hasNews()
        guard let limit = isSourceSlow ? self.sourceLimit : self.upload.idleLimit ?? self.sourceLimit else { return }
        let rest = limit + (isSourceSlow ? .seconds(1) : .zero) - self.idleTime
        guard rest <= .zero else { return loop.check(within: rest) }
        let what = isSourceSlow ? "The source gave nothing" : "Nothing moved on the connection"
        self.fail(self.error(.timedOut, "\(what) for \(limit), which is the idle limit; \(self.stage)."), loop)
    }

    // MARK: Callbacks

    /// Supplies the next bytes of the body to libcurl.
    func supply(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
        // libcurl continues sending even if the server announces that it closes the connection.
        if self.isRefused { return self.pause() }
        // Once before each piece: libcurl never takes what comes behind the end of the other side.
        self.hasPausedForInput = self.isEncrypted && !self.hasPausedForInput && self.socket?.hasInput == true
        if self.hasPausedForInput {
            self.loop?.check(within: .zero)
            return self.pause()
        }
        var room = buffer
        if self.rateLimit != nil {
            let allowance = self.rateLimit?.allowance() ?? 0
            guard allowance > 0 else {
                self.loop?.check(within: self.rateLimit?.delay ?? .zero)
                return self.pause()
            }
            room = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(allowance))
        }
        switch self.pump.take(into: room) {
        case .bytes(let count):
            self.rateLimit?.use(count)
            self.noteHandover(of: Int64(count))
            return count
        case .end:
            self.isBodySent = true
            return 0
        case .pending:
            return self.pause()
        case .failed(let error):
            self.failure = error
            return Int(CURL_READFUNC_ABORT)
        }
    }

    private func pause() -> Int {
        self.isPaused = true
        return Int(CURL_READFUNC_PAUSE)
    }

    /// Takes a line of a response head; returns false to end the request.
    func takeLine(_ line: UnsafeRawBufferPointer) -> Bool {
        self.lastActivity = self.time
        do {
            try self.head.take(line)
            try self.checkBeginningOfAnswer()
            if self.isRefused { self.loop?.check(within: .zero) }
            self.noteAnswer(0)
            return true
        } catch {
            self.failure = error
            return false
        }
    }

    /// Takes bytes of the response body; returns their number, or another one to pause or end the request.
    func takeBody(_ bytes: UnsafeRawBufferPointer) -> Int {
        self.lastActivity = self.time
        if self.head.isSuccess, self.upload.onAnswer != nil {
            self.isAnswerPaused = !self.exchange.offer(bytes)
            if !self.isAnswerPaused { self.noteAnswer(bytes.count) }
            return self.isAnswerPaused ? Int(CURL_WRITEFUNC_PAUSE) : bytes.count
        }
        self.noteAnswer(bytes.count)
        let room = BlobUploadResponse.maximumBodyByteCount - self.body.count
        self.body.append(contentsOf: bytes.prefix(room))
        if self.isRefused { self.loop?.check(within: .zero) }
        // The beginning of an explanation is enough; the excess of a success is dropped, but read to its end.
        return bytes.count <= room || self.head.isSuccess ? bytes.count : 0
    }

    private func noteAnswer(_ byteCount: Int) {
        self.answeredByteCount += Int64(byteCount)
        let byteCount = self.head.status == 204 ? 0 : self.head.contentLength
        if self.answeredByteCount == byteCount { self.endSending() }
    }

    func noteCounts(up: Int64, down: Int64) {
        guard self.lastCounts != (up, down) else { return }
        self.lastCounts = (up, down)
        self.lastActivity = self.time
    }
}
