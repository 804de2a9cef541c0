package import BlobCore
import BlobPlatform
import CCurl

/// One GET, HEAD or DELETE request and the redirections that follow it, run by the thread of all transfers.
///
/// If a connection breaks before a response begins, libcurl opens another one, because a GET can be repeated.
package final class Transfer: LoopTransfer, @unchecked Sendable {  // Safe: only the loop's thread uses mutable state.
    /// The maximum number of bytes of an explanation to store.
    private static let maximumExplanationByteCount = 64 * 1024

    /// The maximum number of bytes to read and discard so that the connection can be reused.
    private static let maximumDroppedByteCount = 64 * 1024

    /// The longest wait for an explanation, measured from the last byte received.
    private static let explanationTimeout = Duration.seconds(1)

    let request: TransferRequest
    private var sink: (any TransferSink)?
    private var handle: CurlHandle?
    private var route: Route
    private var head = ResponseHead()
    private var disposition: TransferDisposition?
    private var explanation: [UInt8] = []
    private var droppedByteCount = 0
    /// The error for which a callback ended the request. libcurl itself reports only that a callback ended it.
    private var failure: BlobError?
    private var isPaused = false
    /// The exchange with the current server, if it is observed, and the number of bytes received in it.
    private var (exchange, receivedByteCount) = (BlobActivity?.none, Int64(0))
    private var lastActivity = CompactInstant.now
    private var loop: TransferLoop?
    private let assignedLoop: Result<TransferLoop, BlobError>

    /// - Parameter sink: Retained until the transfer ends.
    convenience init(_ request: TransferRequest, _ sink: any TransferSink) {
        self.init(request, sink, on: TransferLoop.shared)
    }

    init(_ request: TransferRequest, _ sink: any TransferSink, on loop: Result<TransferLoop, BlobError>) {
        (self.request, self.route, self.sink, self.assignedLoop) = (request, Route(request), sink, loop)
    }

    /// Starts the request. Call this method once.
    ///
    /// - Throws: ``BlobError/Code/unavailable`` if libcurl, memory or a thread is unavailable.
    package func start() throws(BlobError) {
        try self.assignedLoop.get().perform { loop in
            self.route.begin()
            self.begin(loop)
        }
    }

    /// Continues after the sink has paused the transfer.
    func resume() {
        try? self.assignedLoop.get().perform { loop in
            guard self.isPaused, let handle = self.handle else { return }
            (self.isPaused, self.lastActivity) = (false, loop.time)
            handle.resume()
        }
    }

    /// Ends the transfer without calling ``TransferSink/end(_:)``. Has no effect after the transfer has ended.
    package func cancel() {
        try? self.assignedLoop.get().perform { loop in
            self.sink = nil
            self.endExchange(BlobError(.cancelled, "The request was cancelled."))
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

    func connect(_ loop: TransferLoop) {
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
        // The idle limit is checked here and does not end a lookup; see `LookupLimiter`.
        handle.setUp(
            self.route.url.text, self.request.settings, self.request.url.credentials,
            mayAuthenticate: !self.route.hasLeftOrigin)
        // HTTP/2 is used only over TLS.
        if self.request.isShort, self.route.url.origin.scheme == "https" { handle.shareConnection() }
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
        if let activity = self.request.activity {
            let exchange = activity.beginRequest(
                self.request.method, self.route.url, at: self.request.byteOffset)
            (self.exchange, self.receivedByteCount) = (exchange, 0)
            if !self.route.hasLeftOrigin { fields += exchange.headerFields(beside: fields) }
        }
        handle.setHeaders(fields.map(\.line))
    }

    private var time: CompactInstant { self.loop?.time ?? .now }

    /// Processes a line of a head; returns false to end the request.
    func receiveLine(_ line: UnsafeRawBufferPointer) -> Bool {
        self.lastActivity = self.time
        do throws(BlobError) {
            try self.head.parse(line)
            guard self.head.isFinal, self.disposition == nil else { return true }
            self.exchange?.receivedHead(status: self.head.status)
            self.disposition =
                try self.route.followsRedirection(self.head) ? .drop : try self.sink?.begin(self.head) ?? .drop
            if self.disposition != .deliver { self.loop?.check(within: Self.explanationTimeout) }
            if let sink { self.loop?.scheduleFlush(sink) }
            return true
        } catch {
            self.failure = error
            return false
        }
    }

    /// Processes bytes of the body; returns their number, or a different number to pause or end the request.
    func receiveBody(_ bytes: UnsafeRawBufferPointer) -> Int {
        self.lastActivity = self.time
        switch self.disposition {
        case .deliver:
            guard let sink = self.sink, sink.receive(bytes) else {
                self.isPaused = true
                return Int(CURL_WRITEFUNC_PAUSE)
            }
            self.loop?.scheduleFlush(sink)
            self.receivedByteCount += Int64(bytes.count)
            return bytes.count
        case .explain:
            self.explanation += bytes.prefix(Self.maximumExplanationByteCount - self.explanation.count)
        case .drop, nil: break
        }
        self.droppedByteCount += bytes.count
        return self.droppedByteCount <= Self.maximumDroppedByteCount ? bytes.count : 0
    }

    /// Ends the request with libcurl's result, or follows a redirection.
    func finish(_ code: CURLcode, _ loop: TransferLoop) {
        if self.failure == nil, self.route.follow() {
            if let handle { loop.remove(handle) }
            self.endExchange()
            return self.begin(loop)
        }
        self.end(self.outcome(code), loop)
    }

    func fail(_ error: BlobError, _ loop: TransferLoop) { self.end(error, loop) }

    /// Returns an error whose message does not repeat secrets of the request.
    private func withoutSecrets(_ error: BlobError) -> BlobError {
        let urls = [self.request.url.text, self.route.url.text]
        let secrets = SentSecrets(
            urls, self.request.privateFields, self.request.settings, self.request.url.credentials)
        return secrets.removed(from: error)
    }

    private func end(_ error: BlobError?, _ loop: TransferLoop) {
        if let handle { loop.remove(handle) }
        self.handle = nil
        let error = error.map(self.withoutSecrets)
        self.endExchange(error)
        guard let sink else { return }
        if error != nil, !self.head.isSuccess { self.route.forget() }
        self.sink = nil
        sink.end(error)
    }

    private func endExchange(_ error: BlobError? = nil) {
        self.exchange?.advance(read: self.receivedByteCount)
        self.exchange?.end(error)
        self.exchange = nil
    }

    /// Ends the transfer if its connection has been idle for too long.
    func checkLimits(_ loop: TransferLoop) {
        self.exchange?.advance(read: self.receivedByteCount)
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
            ? "while waiting for the host lookups of other transfers"
            : self.head.isFinal ? "while the response was being read" : "while waiting for a response"
        self.end(
            BlobError(
                .timedOut, "No data was transferred for \(limit), the idle limit, \(stage).",
                remedy: .idleLimit), loop)
    }

    // MARK: Outcomes

    private func outcome(_ code: CURLcode) -> BlobError? {
        if let failure { return failure }
        if self.disposition == .explain { return self.sink?.refusal(self.head, self.explanation) }
        if self.disposition == .drop { return nil }
        if code == CURLE_OK {
            return self.head.isFinal
                ? nil : BlobError(.truncated, "The response ended within its header.", isTransient: true)
        }
        return self.handle?.error(for: code) ?? BlobError(.io, "The connection was lost.", isTransient: true)
    }
}

/// The URLs of one transfer's requests: the first URL and the targets of redirections.
struct Route {
    private let request: TransferRequest
    private var place: Relocation.Place
    private var redirectionCount = 0
    /// True if the first request was sent to the target of an earlier transfer's redirection.
    private var isRelocated = false
    /// The URL of the next request; nil if the response is final.
    private var target: Relocation.Place?

    init(_ request: TransferRequest) {
        self.request = request
        self.place = Relocation.Place(url: request.url, hasLeftOrigin: false)
    }

    var url: TransferURL { self.place.url }

    /// True if the request must not contain secrets.
    var hasLeftOrigin: Bool { self.place.hasLeftOrigin }

    /// Switches to the target of an earlier transfer's redirection. Call this before the first request.
    mutating func begin() {
        guard let place = self.request.relocation?.place.withLock({ $0 }) else { return }
        (self.place, self.isRelocated) = (place, true)
    }

    /// Returns whether another request follows, according to a head.
    ///
    /// - Throws: ``BlobError/Code/refused`` for a redirection that is not followed.
    mutating func followsRedirection(_ head: ResponseHead) throws(BlobError) -> Bool {
        if self.isRelocated, Relocation.mayHaveExpired(head.status) {
            self.forget()
            self = Route(self.request)
            self.target = self.place
        } else {
            self.target = try self.redirection(head)
        }
        if head.isSuccess, self.redirectionCount > 0 { self.request.relocation?.place.withLock { $0 = self.place } }
        return self.target != nil
    }

    /// Switches to the URL of the next request; returns false if the response is final.
    mutating func follow() -> Bool {
        guard let target = self.target.take() else { return false }
        self.place = target
        return true
    }

    /// Discards the target of an earlier transfer's redirection after a request to it failed.
    func forget() { if self.isRelocated { _ = self.request.relocation?.place.take() } }

    private mutating func redirection(_ head: ResponseHead) throws(BlobError) -> Relocation.Place? {
        let limit = self.request.maximumRedirectionCount
        guard [301, 302, 303, 307, 308].contains(head.status), limit > 0 else { return nil }
        func refused(_ what: String) -> BlobError {
            BlobError(.refused, "The server answered \(head.status)\(what).", isTransient: false)
        }
        guard self.redirectionCount < limit else {
            throw refused(", but the limit of \(limit) redirections has been reached")
        }
        guard let location = head.location, let target = try? self.url.resolving(location) else {
            throw refused(", but did not redirect to an http or https URL")
        }
        guard self.url.origin.scheme == "http" || target.origin.scheme == "https" else {
            throw refused(" and redirected from https to the http URL \(target)")
        }
        self.redirectionCount += 1
        return Relocation.Place(
            url: target, hasLeftOrigin: self.hasLeftOrigin || target.origin != self.request.url.origin)
    }
}

/// The URL to which the requests for an object were redirected, where later requests start.
///
/// The URL is discarded if a request to it fails before the response begins. If the request is refused with a status
/// that may mean that the URL has expired, as signed URLs do, the request is sent once more to its original URL.
package final class Relocation: Sendable {
    /// A URL, and whether a redirection on the way to it left the origin to which secrets belong.
    struct Place: Sendable {
        let url: TransferURL
        let hasLeftOrigin: Bool
    }

    /// The statuses from 400 to 499 that do not mean that a URL has expired: they concern a range or a condition, or
    /// ask the client to wait.
    private static let lastingStatuses: Set = [408, 412, 416, 425, 429]

    let place = Locked<Place?>(nil)

    package init() {}

    /// Returns true for a status after which the original URL may succeed.
    static func mayHaveExpired(_ status: Int) -> Bool {
        (400..<500).contains(status) && !self.lastingStatuses.contains(status)
    }
}
