package import BlobCore
import BlobPlatform
package import CCurl

/// One GET, HEAD or DELETE request with the redirections that follow it, run by the thread of all transfers.
///
/// Connections that break before an answer begins are replaced by libcurl: a GET can be repeated.
package final class Transfer: LoopTransfer, @unchecked Sendable {  // Safe: only the loop's thread uses mutable state.
    /// The maximum number of bytes of an explanation that are kept.
    private static let maximumExplanationByteCount = 8 * 1024

    /// The maximum number of bytes that are read and dropped, so that the connection can be used again.
    private static let maximumDroppedByteCount = 64 * 1024

    /// The longest wait for an explanation, from the last byte received.
    private static let explanationTimeout = Duration.seconds(1)

    let request: TransferRequest
    private var sink: (any TransferSink)?
    private var handle: CurlHandle?
    private var route: Route
    private var head = ResponseHead()
    private var disposition: TransferDisposition?
    private var explanation: [UInt8] = []
    private var droppedByteCount = 0
    /// The error for which a callback ended the request; libcurl only reports that one did.
    private var failure: BlobError?
    private var isPaused = false
    private var lastActivity = Moment.now
    private var loop: TransferLoop?
    private let assignedLoop: Result<TransferLoop, BlobError>

    /// - Parameter sink: Kept until the transfer ends.
    package convenience init(_ request: TransferRequest, _ sink: any TransferSink) {
        self.init(request, sink, on: TransferLoop.shared)
    }

    init(_ request: TransferRequest, _ sink: any TransferSink, on loop: Result<TransferLoop, BlobError>) {
        (self.request, self.route, self.sink, self.assignedLoop) = (request, Route(request), sink, loop)
    }

    /// Starts the request. Called once.
    ///
    /// - Throws: ``BlobError/Code/unavailable`` without libcurl, memory or a thread.
    package func start() throws(BlobError) {
        try self.assignedLoop.get().perform { loop in
            self.route.begin()
            self.begin(loop)
        }
    }

    /// Continues after the sink has paused the transfer.
    package func resume() {
        try? self.assignedLoop.get().perform { loop in
            guard self.isPaused, let handle = self.handle else { return }
            (self.isPaused, self.lastActivity) = (false, loop.time)
            handle.resume()
        }
    }

    /// Ends the transfer, without a call of ``TransferSink/end(_:)``; has no effect once it ended.
    package func cancel() {
        try? self.assignedLoop.get().perform { loop in
            self.sink = nil
            self.end(nil, loop)
        }
    }

    // MARK: On the thread of the loop

    private func begin(_ loop: TransferLoop) {
        self.loop = loop
        (self.handle, self.head, self.disposition, self.droppedByteCount) = (nil, ResponseHead(), nil, 0)
        self.lastActivity = loop.time
        loop.enqueue(self)
    }

    package func connect(_ loop: TransferLoop) {
        guard self.sink != nil else { return }
        self.lastActivity = loop.time
        do throws(BlobError) {
            let handle = try CurlHandle()
            self.handle = handle
            self.setUp(handle)
            try loop.add(handle, self)
        } catch {
            self.end(error, loop)
        }
    }

    private func setUp(_ handle: CurlHandle) {
        // The idle limit is checked here, and does not end a lookup: see `Admission`.
        handle.setUp(
            self.route.url.text, self.request.settings, self.request.url.credentials,
            mayAuthenticate: !self.route.hasLeftOrigin)
        if self.request.isHead { handle.set(CURLOPT_NOBODY, 1) }
        if self.request.isDelete { handle.set(CURLOPT_CUSTOMREQUEST, "DELETE") }
        handle.set(CURLOPT_BUFFERSIZE, 512 * 1024)
        var fields = self.request.fields
        if !self.route.hasLeftOrigin { fields += self.request.privateFields }
        let names = Set(fields.map { $0.name.lowercased() })
        for field in [BlobHTTPField("Accept-Encoding", "identity"), BlobHTTPField("User-Agent", "BlobStreams")]
        where !names.contains(field.name.lowercased()) {
            fields.append(field)
        }
        handle.setHeaders(fields.map(\.line))
        self.setCallbacks(handle)
    }

    private func setCallbacks(_ handle: CurlHandle) {
        // The handle retains the transfer.
        let this = Unmanaged.passUnretained(self).toOpaque()
        handle.set(CURLOPT_HEADERDATA, this)
        handle.set(CURLOPT_WRITEDATA, this)
        handle.setWriter(CURLOPT_HEADERFUNCTION) { buffer, size, count, data in
            let line = UnsafeRawBufferPointer(start: buffer, count: size * count)
            return transfer(data)?.takeLine(line) == true ? line.count : 0
        }
        handle.setWriter(CURLOPT_WRITEFUNCTION) { buffer, size, count, data in
            transfer(data)?.takeBody(UnsafeRawBufferPointer(start: buffer, count: size * count)) ?? 0
        }
    }

    private var time: Moment { self.loop?.time ?? .now }

    /// Takes a line of a head; returns false to end the request.
    private func takeLine(_ line: UnsafeRawBufferPointer) -> Bool {
        self.lastActivity = self.time
        do throws(BlobError) {
            try self.head.take(line)
            guard self.head.isFinal, self.disposition == nil else { return true }
            self.disposition = try self.route.leads(on: self.head) ? .drop : try self.sink?.begin(self.head) ?? .drop
            if self.disposition != .deliver { self.loop?.check(within: Self.explanationTimeout) }
            if let sink { self.loop?.noteNews(sink) }
            return true
        } catch {
            self.failure = error
            return false
        }
    }

    /// Takes bytes of the body; returns their number, or another one to pause or end the request.
    private func takeBody(_ bytes: UnsafeRawBufferPointer) -> Int {
        self.lastActivity = self.time
        switch self.disposition {
        case .deliver:
            guard let sink = self.sink, sink.take(bytes) else {
                self.isPaused = true
                return Int(CURL_WRITEFUNC_PAUSE)
            }
            self.loop?.noteNews(sink)
            return bytes.count
        case .explain:
            self.explanation += bytes.prefix(Self.maximumExplanationByteCount - self.explanation.count)
        case .drop, nil: break
        }
        self.droppedByteCount += bytes.count
        return self.droppedByteCount <= Self.maximumDroppedByteCount ? bytes.count : 0
    }

    /// Ends the request with libcurl's result, and follows a redirection.
    package func finish(_ code: CURLcode, _ loop: TransferLoop) {
        if self.failure == nil, self.route.follow() {
            if let handle { loop.remove(handle) }
            return self.begin(loop)
        }
        self.end(self.outcome(code), loop)
    }

    package func fail(_ error: BlobError, _ loop: TransferLoop) { self.end(error, loop) }

    /// Returns an error in which nothing of the request is repeated that may be a secret.
    private func withoutSecrets(_ error: BlobError) -> BlobError {
        let urls = [self.request.url.text, self.route.url.text]
        let secrets = SentSecrets(
            urls, self.request.privateFields, self.request.settings, self.request.url.credentials)
        return secrets.removed(from: error)
    }

    private func end(_ error: BlobError?, _ loop: TransferLoop) {
        if let handle { loop.remove(handle) }
        self.handle = nil
        guard let sink else { return }
        if error != nil, !self.head.isSuccess { self.route.forget() }
        self.sink = nil
        sink.end(error.map(self.withoutSecrets))
    }

    /// Ends a transfer whose connection is idle for too long.
    package func checkLimits(_ loop: TransferLoop) {
        guard !self.isPaused, self.sink != nil || self.handle != nil else { return }
        let idleTime = loop.time - self.lastActivity
        if let disposition, disposition != .deliver {
            guard idleTime < Self.explanationTimeout else { return self.finish(CURLE_OK, loop) }
            loop.check(within: Self.explanationTimeout - idleTime)
        }
        let limit = self.request.idleLimit
        guard idleTime >= limit else { return loop.check(within: limit - idleTime) }
        let stage =
            self.handle == nil
            ? "because the hosts of other transfers are looked up"
            : self.head.isFinal ? "while the answer was read" : "and there was no answer"
        self.end(
            BlobError(.timedOut, "Nothing moved on the connection for \(limit), which is the idle limit, \(stage)."),
            loop)
    }

    // MARK: Outcomes

    private func outcome(_ code: CURLcode) -> BlobError? {
        if let failure { return failure }
        if self.disposition == .explain { return self.sink?.refusal(self.head, self.explanation) }
        if self.disposition == .drop { return nil }
        if code == CURLE_OK {
            return self.head.isFinal
                ? nil : BlobError(.truncated, "The answer ended within its header.", isTransient: true)
        }
        let text = self.handle?.explanation(of: code) ?? ""
        switch CurlFailure(code) {
        case .noConnection: return BlobError(.unavailable, "No connection: \(text).", isTransient: true)
        case .connectingTimedOut: return BlobError(.timedOut, "No connection: \(text).")
        case .noSecureConnection:
            return BlobError(.unavailable, "No secure connection: \(text).", isTransient: false)
        case .notHTTP: return BlobError(.corrupted, "The answer is not valid HTTP: \(text).")
        case .cutOff: return BlobError(.truncated, "The answer was cut off: \(text).", isTransient: true)
        case .headerTooLarge: return BlobError(.limitExceeded, "The answer's header is too large: \(text).")
        case .needsRewind, .noAnswer:
            return BlobError(.io, "The server closed the connection without an answer.", isTransient: true)
        case .brokenConnection:
            var error = BlobError(.io, "The connection broke: \(text).", isTransient: true)
            error.systemErrorNumber = self.handle?.systemErrorNumber
            return error
        }
    }
}

private func transfer(_ data: UnsafeMutableRawPointer?) -> Transfer? {
    data.map { Unmanaged<Transfer>.fromOpaque($0).takeUnretainedValue() }
}
