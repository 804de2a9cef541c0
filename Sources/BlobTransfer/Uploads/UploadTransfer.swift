import BlobCore
import BlobPlatform
import CCurl

/// One upload, from the first byte of its source to the last byte of the response, run by the thread of all transfers.
final class UploadTransfer: LoopTransfer, SocketUser, @unchecked Sendable {  // Safe: used by that thread.
    /// The maximum wait for the body of a refusal, measured from the last byte received.
    private static let refusalTimeout = Duration.seconds(1)

    /// The maximum time for a server to close its side of the connection after its response.
    ///
    /// A server that has read everything closes it immediately, so the wait is one round trip. A server that keeps its
    /// side open delays each upload by this time.
    private static let closeTimeout = Duration.milliseconds(250)

    /// The maximum wait for a response to `Expect` before the body is sent, the same as libcurl's default.
    private static let expectationTimeout = Duration.seconds(1)

    /// The minimum interval between progress reports, and before the first report, because each wakes the owner's
    /// thread or task.
    private static let progressInterval = Duration.milliseconds(20)

    /// The maximum number of bytes in a TLS record (RFC 8446, section 5.1).
    private static let recordByteCount = 16 * 1024

    /// The maximum length of a body that is sent together with its head over TLS. Both fit into one record, unless the
    /// head is long. A response that arrives before a reset is read between two records or not at all.
    private static let maximumEncryptedByteCount = recordByteCount / 2

    /// The connection of a request.
    enum Connection {
        /// A reused connection, if one is open.
        case pooled
        /// A new connection that can be reused.
        case new
        /// A new connection that is closed after the request.
        case own
    }

    /// The announced length of the body in bytes; nil if it is sent in chunks.
    let byteCount: Int64?

    private let upload: BlobUploadRequest
    private let isEncrypted: Bool
    private let connection: Connection
    private let info: BlobInfo
    private let pump: BodyPump
    private let exchange: UploadExchange
    private let job: RequestJob
    /// The exchange with the server, if it is observed.
    private var activity: BlobActivity?
    private let rate: ByteAllowance.Share?
    private var handle: CurlHandle?
    /// The URL; nil until the request is set up.
    private var url: TransferURL?
    private var loop: TransferLoop?
    private var isPaused = false
    private var hasPausedForInput = false
    private var isAnswerPaused = false
    private var isOver = false
    private var lastActivity = CompactInstant.now
    private var lastByteCounts: (up: Int64, down: Int64) = (0, 0)

    /// The error for which a callback ended the request. libcurl itself reports only that a callback ended it.
    private var failure: BlobError?
    private var head = ResponseHead()
    private var body = Data()
    /// The number of body bytes handed to libcurl, whose own count includes framing.
    private var sentByteCount: Int64 = 0
    /// The number of bytes last reported to the owner, and the time of that report or, initially, of the first bytes.
    private var (reportedByteCount, reportTime) = (Int64(0), CompactInstant.now)
    private var isBodySent = false
    /// True if libcurl received the whole body at the beginning and does not request it.
    private var hasWholeBody = false

    /// The socket of the request, once connected.
    private var socket: PeerSocket?
    /// The socket of a successful upload, which libcurl regards as closed.
    private var closingSocket: PeerSocket?
    /// The number of bytes in the response body so far.
    private var answeredByteCount: Int64 = 0
    /// True once the request has a connection.
    private var hasBegun = false
    /// True if a reused connection broke before a response.
    private var isStale = false
    /// The number of body bytes sent before a success response began, including framing.
    private var uploadedAtAnswer: Int64?

    init(
        _ upload: BlobUploadRequest, _ info: BlobInfo, _ pump: BodyPump, _ exchange: UploadExchange,
        _ connection: Connection, for job: RequestJob
    ) {
        (self.upload, self.info, self.connection) = (upload, info, connection)
        self.isEncrypted = upload.url.prefix(7).lowercased() != "http://"
        self.byteCount = upload.isChunked ? nil : info.byteCount
        (self.pump, self.exchange, self.job) = (pump, exchange, job)
        self.rate = upload.ownAllowance.map { ByteAllowance.Share(of: $0) }
    }

    // MARK: On any thread

    /// Starts the request. Call this method once.
    ///
    /// - Throws: ``BlobError/Code/unavailable`` if libcurl, memory or a thread is unavailable.
    func start() throws(BlobError) {
        try TransferLoop.shared.get().perform { loop in
            (self.loop, self.lastActivity) = (loop, loop.time)
            loop.enqueue(self)
        }
    }

    /// Continues when the pump has bytes again.
    func continueBody() { self.perform { self.resumeBody($0) } }

    /// Continues when the exchange accepts bytes again.
    func continueAnswer() {
        self.perform { loop in
            guard self.isAnswerPaused else { return }
            (self.isAnswerPaused, self.lastActivity) = (false, loop.time)
            self.handle?.resume()
        }
    }

    /// Ends the upload. Has no effect after the upload has ended.
    func cancel() { self.perform { self.end(.failure(BlobError(.cancelled, "The upload was cancelled.")), $0) } }

    private func perform(_ job: @escaping TransferLoop.Job) { try? TransferLoop.shared.get().perform(job) }

    // MARK: On the thread of the loop

    func connect(_ loop: TransferLoop) {
        guard !self.isOver else { return }
        self.lastActivity = loop.time
        do throws(BlobError) {
            let handle = try CurlHandle()
            self.handle = handle
            try self.setUp(handle)
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
        self.reportToActivity()
        let result = result.mapError { error in
            // An error of the source is unrelated to the request.
            guard error.operation == "write" else { return error }
            return SentSecrets([self.upload.url], self.upload.fields, self.upload.settings).removed(from: error)
        }
        if case .failure(let error) = result { self.activity?.end(error) }
        self.activity?.end()
        // Callbacks may still need to close a socket.
        if let handle { loop.remove(handle) }
        self.handle = nil
        if let socket { loop.sockets.release(socket.descriptor) }
        let (exchange, isStale) = (self.exchange, self.isStale)
        let sent = self.hasProgress ? self.sentByteCount : nil
        guard let closing = self.closingSocket, let response = try? result.get(), let resetError else {
            self.closingSocket?.close()
            let isRefused = self.hasExpectation && self.head.status == 417
            return exchange.end(.init(result: result, isStale: isStale, isExpectationRefused: isRefused), sent: sent)
        }
        if let sent { exchange.report(sent: sent) }
        loop.closingSockets.close(closing, within: Self.closeTimeout) { isReset in
            let result = isReset ? .failure(resetError) : Result<_, BlobError>.success(response)
            exchange.end(UploadExchange.Ending(result: result, isStale: false))
        }
    }

    /// True once the server has refused the request; the rest of the response is only an explanation.
    private var isRefused: Bool { self.head.isFinal && !self.head.isSuccess }

    /// The remaining time to wait for the rest of the explanation.
    private var remainingRefusalTime: Duration {
        if let length = self.head.contentLength, self.body.count >= length { return .zero }
        return min(Self.refusalTimeout, self.idleLimit ?? Self.refusalTimeout) - self.idleTime
    }

    private var idleLimit: Duration? { self.upload.idleLimit ?? self.job.idleLimit }
    private var idleTime: Duration { self.time - self.lastActivity }
    private var time: CompactInstant { self.loop?.time ?? .now }

    /// Returns the delay until the rate limit allows bytes; nil if it allows bytes now.
    private func delayOfRate() -> Duration? {
        guard let rate, case let now = ContinuousClock.now, rate.available(at: now) == 0 else { return nil }
        return rate.start - now
    }

    private func resumeBody(_ loop: TransferLoop) {
        guard self.isPaused, !self.isRefused, let handle else { return }
        if let delay = self.delayOfRate() { return loop.check(within: delay) }
        guard self.pump.isReady() else { return }
        // Until now, the connection was idle because of the source.
        (self.isPaused, self.lastActivity) = (false, loop.time)
        handle.resume()
    }

    func checkLimits(_ loop: TransferLoop) {
        guard !self.isOver else { return }
        self.reportProgress()
        self.reportToActivity()
        if self.isRefused {
            // While paused, libcurl would not end before the source ends, which is never if the server stalls.
            let rest = self.remainingRefusalTime
            return rest > .zero ? loop.check(within: rest) : self.finish(CURLE_OK, loop)
        }
        self.resumeBody(loop)
        guard !self.isAnswerPaused else { return }
        // The source checks this limit itself and reports a more precise error.
        let isSourceSlow = self.isPaused && self.delayOfRate() == nil && !self.pump.isReady()
        guard let limit = isSourceSlow ? self.job.idleLimit : self.idleLimit else { return }
        let rest = limit + (isSourceSlow ? .seconds(1) : .zero) - self.idleTime
        guard rest <= .zero else { return loop.check(within: rest) }
        let what = isSourceSlow ? "The source returned no bytes" : "No data was transferred"
        var error = self.error(.timedOut, "\(what) for \(limit), the idle limit; \(self.stage).")
        error.remedy = .idleLimit
        self.fail(error, loop)
    }

    // MARK: Setting up

    private func setUp(_ handle: CurlHandle) throws(BlobError) {
        let url = try TransferURL(self.upload.url)
        self.url = url
        var settings = self.upload.settings
        settings.connectLimit = min(settings.connectLimit, self.idleLimit ?? settings.connectLimit)
        handle.setUp(url.text, settings, url.credentials)
        // A reused connection may be dead, in which case the request is repeated.
        if self.connection != .pooled { handle.set(CURLOPT_FRESH_CONNECT, 1) }
        // Only the end of a connection shows whether the server has read the body.
        if self.connection == .own { handle.set(CURLOPT_FORBID_REUSE, 1) }
        handle.set(CURLOPT_NOPROGRESS, 0)
        self.setUpBody(handle)
        self.activity = self.job.activity?.beginRequest(self.upload.methodName, url)
        handle.setHeaders(
            self.upload.headerLines(
                self.info, byteCount: self.byteCount, self.activity?.headerFields(beside: self.upload.fields) ?? []))
        // A connection whose server ignores `Expect` must not be treated as idle (RFC 9110, section 10.1.1).
        let timeout = min(Self.expectationTimeout, (self.idleLimit ?? Self.expectationTimeout * 2) / 2)
        handle.set(CURLOPT_EXPECT_100_TIMEOUT_MS, max(1, Int(timeout.timeInterval * 1000)))
        self.setCallbacks(handle)
    }

    private func setUpBody(_ handle: CurlHandle) {
        // Over TLS, a response that arrives before a reset is read between two pieces or not at all.
        handle.set(
            CURLOPT_UPLOAD_BUFFERSIZE,
            self.isEncrypted ? Self.recordByteCount : max(16 * 1024, self.pump.capacity / 2))
        let method = self.upload.method
        if let wholeBody {
            // With a POST below 64 KiB, libcurl sends the body and the head together: one event for the server instead
            // of two.
            handle.setBody(wholeBody)
            handle.set(CURLOPT_CUSTOMREQUEST, method.rawValue)
            self.hasWholeBody = true
            return
        }
        switch method {
        case .put, .patch:
            handle.set(CURLOPT_UPLOAD, 1)
            if method == .patch { handle.set(CURLOPT_CUSTOMREQUEST, method.rawValue) }
            handle.set(CURLOPT_INFILESIZE_LARGE, bytes: self.byteCount ?? -1)
        case .post:
            handle.set(CURLOPT_POST, 1)
            handle.set(CURLOPT_POSTFIELDSIZE_LARGE, bytes: self.byteCount ?? -1)
        case .head:
            handle.set(CURLOPT_NOBODY, 1)
            if let method = self.upload.otherMethod { handle.set(CURLOPT_CUSTOMREQUEST, method) }
        }
    }

    /// The whole body, if it was read completely and is sent on a shared connection.
    private var wholeBody: UnsafeRawBufferPointer? {
        guard self.upload.method == .put, self.connection != .own, self.rate == nil, let byteCount, byteCount > 0,
            !self.isEncrypted || byteCount <= Self.maximumEncryptedByteCount
        else { return nil }
        return self.pump.wholeBody(byteCount)
    }

    /// True if the server is asked whether it accepts the body.
    private var hasExpectation: Bool { self.upload.asksFirst(byteCount: self.byteCount) }

    /// Registers the callbacks of a request with a body. The handle retains the transfer.
    private func setCallbacks(_ handle: CurlHandle) {
        let this = Unmanaged.passUnretained(self).toOpaque()
        for option in [CURLOPT_READDATA, CURLOPT_XFERINFODATA, CURLOPT_PREREQDATA] { handle.set(option, this) }
        handle.setReader { buffer, size, count, data in
            guard let buffer, let transfer = transfer(data) else { return Int(CURL_READFUNC_ABORT) }
            return transfer.supply(UnsafeMutableRawBufferPointer(start: buffer, count: size * count))
        }
        // A rewind would send the body again, possibly to a server that has already accepted it.
        handle.setSeeker { _, _, _ in CURL_SEEKFUNC_FAIL }
        handle.setProgress { data, _, down, _, up in
            transfer(data)?.updateByteCounts(up: Int64(up), down: Int64(down))
            return 0
        }
        handle.setPrerequisite { data, _, _, remotePort, localPort in
            let isKnown = transfer(data)?.begin(localPort: localPort, remotePort: remotePort) == true
            return CInt(isKnown ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT)
        }
    }

    // MARK: Callbacks

    /// Supplies the next bytes of the body to libcurl.
    private func supply(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
        // libcurl continues sending even if the server announces that it will close the connection.
        if self.isRefused { return self.pause() }
        // Pauses once per chunk so that libcurl reads an early response, which it would not do after the peer's end.
        self.hasPausedForInput = self.isEncrypted && !self.hasPausedForInput && self.socket?.hasInput == true
        if self.hasPausedForInput {
            self.loop?.check(within: .zero)
            return self.pause()
        }
        if let delay = self.delayOfRate() {
            self.loop?.check(within: delay)
            return self.pause()
        }
        let room = self.rate.map { UnsafeMutableRawBufferPointer(rebasing: buffer.prefix($0.available())) }
        switch self.pump.take(into: room ?? buffer) {
        case .bytes(let count):
            self.rate?.use(count)
            self.recordSuppliedBytes(of: Int64(count))
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

    /// Processes a line of a response head; returns false to end the request.
    func receiveLine(_ line: UnsafeRawBufferPointer) -> Bool {
        self.lastActivity = self.time
        do {
            try self.head.parse(line)
            try self.checkBeginningOfAnswer()
            if self.head.isFinal { self.activity?.receivedHead(status: self.head.status) }
            if self.isRefused { self.loop?.check(within: .zero) }
            self.recordAnswerBytes(0)
            return true
        } catch {
            self.failure = error
            return false
        }
    }

    /// Processes bytes of the response body; returns their number, or a different number to pause or end the request.
    func receiveBody(_ bytes: UnsafeRawBufferPointer) -> Int {
        self.lastActivity = self.time
        if self.head.isSuccess, self.upload.onResponseBody != nil {
            self.isAnswerPaused = !self.exchange.append(bytes)
            if !self.isAnswerPaused { self.recordAnswerBytes(bytes.count) }
            return self.isAnswerPaused ? Int(CURL_WRITEFUNC_PAUSE) : bytes.count
        }
        self.recordAnswerBytes(bytes.count)
        let room = BlobUploadResponse.maximumBodyByteCount - self.body.count
        self.body.append(contentsOf: bytes.prefix(room))
        if self.isRefused { self.loop?.check(within: .zero) }
        // The beginning of an explanation is enough. A success is read to its end, but any excess is discarded.
        return bytes.count <= room || self.head.isSuccess ? bytes.count : 0
    }

    private func recordAnswerBytes(_ byteCount: Int) {
        self.answeredByteCount += Int64(byteCount)
        let byteCount = self.head.status == 204 ? 0 : self.head.contentLength
        if self.answeredByteCount == byteCount { self.endSending() }
    }

    private func updateByteCounts(up: Int64, down: Int64) {
        guard self.lastByteCounts != (up, down) else { return }
        self.lastByteCounts = (up, down)
        self.lastActivity = self.time
    }

    // MARK: Progress

    /// Records that the next body bytes were handed to libcurl.
    private func recordSuppliedBytes(of count: Int64) {
        self.lastActivity = self.time
        if self.sentByteCount == 0 { self.reportTime = self.time }
        self.sentByteCount += count
        self.isBodySent = self.sentByteCount == self.byteCount
        self.reportProgress()
    }

    /// True if the owner has a progress handler and the number of bytes sent differs from the last report.
    private var hasProgress: Bool { self.upload.onProgress != nil && self.sentByteCount != self.reportedByteCount }

    /// Reports the number of bytes sent if it has changed, at most every 20 ms.
    private func reportProgress() {
        guard self.hasProgress else { return }
        let rest = Self.progressInterval - (self.time - self.reportTime)
        guard rest <= .zero else {
            self.loop?.check(within: rest)
            return
        }
        (self.reportedByteCount, self.reportTime) = (self.sentByteCount, self.time)
        self.exchange.report(sent: self.sentByteCount)
    }

    private func reportToActivity() {
        self.activity?.advance(read: self.answeredByteCount, sent: self.sentByteCount)
    }

    // MARK: The peer

    // A response claims that the server accepted the body. These checks compare the claim with the connection's state.

    /// Claims the connection of the request.
    ///
    /// Returns false if the upload has ended, if the connection cannot be identified, and for every connection after
    /// the first. Otherwise, libcurl would repeat a request whose body it holds on one open connection after the other.
    private func begin(localPort: CInt, remotePort: CInt) -> Bool {
        guard self.handle != nil else { return false }
        guard !self.hasBegun else {
            self.isStale = self.connection == .pooled && self.head.status == 0 && self.failure == nil
            return false
        }
        self.hasBegun = true
        self.socket = self.loop?.sockets.claim(localPort: localPort, remotePort: remotePort, for: self)
            .map(PeerSocket.init)
        guard self.socket != nil else { return false }
        if self.hasWholeBody, let byteCount { self.recordSuppliedBytes(of: byteCount) }
        return true
    }

    /// Shuts down sending after a complete success over TLS, so that the closing message is not sent. Servers that do
    /// not read this message would answer it with a reset, as they would an unread body.
    private func endSending() {
        guard self.isEncrypted, PeerSocket.reportsResets, self.connection == .own, self.isBodySent,
            self.sentByteCount > 0,
            self.head.isSuccess
        else { return }
        _ = self.socket?.shutDown()
    }

    func willClose(_ descriptor: CInt) -> Bool {
        let socket = PeerSocket(descriptor)
        self.parseUnreadAnswer(from: socket)
        self.socket = nil
        let isSuccess = self.head.isSuccess && self.isBodySent && self.sentByteCount > 0 && self.failure == nil
        // Over TLS, the closing message has now been sent, and a server that has already closed responds with a reset.
        guard isSuccess, PeerSocket.reportsResets || !self.isEncrypted || !self.head.announcesClose else { return true }
        self.closingSocket = socket
        return false
    }

    /// Checks, when a success response begins, that the server can have received all bytes of the body.
    ///
    /// The first segment of a response acknowledges all data that the server's system had received when it was sent.
    ///
    /// - Throws: ``BlobError/Code/io`` if bytes are unsent or unacknowledged.
    private func checkBeginningOfAnswer() throws(BlobError) {
        guard self.uploadedAtAnswer == nil, (200..<300).contains(self.head.status), let handle else { return }
        let uploaded = handle.uploadedByteCount
        self.uploadedAtAnswer = uploaded
        let unsent = max(0, (self.byteCount ?? self.sentByteCount) - uploaded)
        let unacknowledged = Int64(self.socket?.unacknowledgedByteCount ?? 0)
        guard self.isBodySent, unsent + unacknowledged == 0 else {
            throw self.earlyAnswerError("\(unsent + unacknowledged) bytes were unsent or unacknowledged")
        }
    }

    /// Checks, after a success, that no bytes were sent after the response began.
    ///
    /// - Throws: ``BlobError/Code/io`` otherwise, or if the connection was reset.
    private func checkEndOfAnswer() throws(BlobError) {
        guard self.uploadedAtAnswer == self.handle?.uploadedByteCount else {
            throw self.earlyAnswerError("bytes were sent after the response had begun")
        }
        // The connection remains open.
        if let socket, socket.hasFailed, let resetError { throw resetError }
    }

    /// The error for a success that was followed by a reset; nil without a success.
    private var resetError: BlobError? {
        guard self.head.isSuccess else { return nil }
        return self.error(
            .io,
            "The server answered \(self.head.status) and then reset the connection, as if it had not read the body.")
    }

    private func earlyAnswerError(_ reason: String) -> BlobError {
        self.error(.io, "The server answered \(self.head.status) before it had received the body: \(reason).")
    }

    /// Parses a response that arrived before a reset, because libcurl does not read it if sending fails first.
    private func parseUnreadAnswer(from socket: PeerSocket) {
        guard self.head.status < 200, !self.isEncrypted else { return }
        withUnsafeTemporaryAllocation(byteCount: BlobUploadResponse.maximumBodyByteCount, alignment: 16) { buffer in
            let count = socket.receive(into: buffer)
            guard count > 0 else { return }
            var rest = UnsafeRawBufferPointer(rebasing: buffer[..<count])
            while !self.head.isFinal, let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                guard self.receiveLine(UnsafeRawBufferPointer(rebasing: rest[...end])) else { return }
                rest = UnsafeRawBufferPointer(rebasing: rest[(end + 1)...])
            }
            // The bytes of a chunked body would include the framing.
            if self.head.isFinal, self.head.value(of: "transfer-encoding") == nil { _ = self.receiveBody(rest) }
        }
    }

    // MARK: The outcome

    /// The progress of the upload, as the end of a sentence.
    private var stage: String {
        if self.head.isFinal { return "status \(self.head.status) had been received" }
        if self.isBodySent {
            return "all \(self.sentByteCount) bytes were sent, but it is unknown whether the server received them"
        }
        return self.byteCount.map { "\(self.sentByteCount) of \($0) bytes were sent" }
            ?? "\(self.sentByteCount) bytes were sent"
    }

    /// Returns the response to a request that has ended, or throws its error.
    private func outcome(of code: CURLcode) throws(BlobError) -> BlobUploadResponse {
        // The error for which a callback ended the request takes precedence over libcurl's error.
        if let failure { throw self.addingLocation(to: failure) }
        let response = BlobUploadResponse(
            url: self.url?.text ?? self.upload.printableURL, head: self.head, body: self.body)
        if self.isRefused { throw self.refusal(response) }
        guard code == CURLE_OK else {
            // libcurl repeats a request on its own only on a reused connection.
            let isReused = code == CURLE_SEND_FAIL_REWIND || self.handle?.hasReusedConnection == true
            self.isStale = self.isStale || self.connection == .pooled && isReused && self.head.status == 0
            var error =
                self.handle?.error(for: code, stage: self.stage, isRepeatable: self.mayRepeat)
                ?? self.error(.io, "The connection was lost; \(self.stage).")
            error.operation = "write"
            throw self.addingLocation(to: error)
        }
        guard self.head.isComplete else {
            throw self.error(.truncated, "The response ended within its header; \(self.stage).")
        }
        guard self.head.isSuccess else {
            throw self.error(.io, "The connection ended without a response; \(self.stage).")
        }
        guard self.isBodySent else {
            throw self.error(.io, "The server ended the request before it was complete; \(self.stage).")
        }
        try self.checkEndOfAnswer()
        // The source has verified its own digests at its end.
        if self.upload.onResponseBody == nil { try response.compare(self.info.digests) }
        return response
    }

    /// True if making the request twice has no further effect.
    private var isRepeatable: Bool { self.upload.isRepeatable ?? (self.upload.method == .put) }

    /// True if the request can be repeated, or if the server cannot have accepted it.
    private var mayRepeat: Bool { self.isRepeatable || self.sentByteCount == 0 && self.byteCount != 0 }

    private func refusal(_ response: BlobUploadResponse) -> BlobError {
        var error = BlobError(
            .refused, self.head.refusalMessage(self.body), operation: "write",
            isTransient: BlobRetry.isTransient(self.head.status, isRepeatable: self.isRepeatable),
            cause: BlobUploadRefusal(response: response))
        error.retryDelay = self.head.retryDelay
        return self.addingLocation(to: error)
    }

    private func error(_ code: BlobError.Code, _ message: String) -> BlobError {
        self.addingLocation(to: BlobError(code, message, operation: "write", isTransient: self.mayRepeat))
    }

    /// Adds the URL to an error of the request. An error of the source has its own context.
    private func addingLocation(to error: BlobError) -> BlobError {
        guard error.operation == "write", error.locator == nil else { return error }
        var error = error
        error.locator = self.upload.printableURL
        return error
    }
}

private func transfer(_ data: UnsafeMutableRawPointer?) -> UploadTransfer? {
    data.map { Unmanaged<UploadTransfer>.fromOpaque($0).takeUnretainedValue() }
}
