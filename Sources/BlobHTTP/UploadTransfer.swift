import BlobCore
import BlobTransfer
import CCurl
import Foundation

/// One upload, from the first byte of its source to the last of its answer. Use it on one thread.
final class UploadTransfer {
    /// The longest wait of the loop, for changes that no event announces.
    private static let longestWait = Duration.milliseconds(250)

    /// The longest wait for the body of a refusal, from the last byte received.
    private static let refusalTimeout = Duration.seconds(1)

    let upload: HTTPUpload
    let byteCount: Int64?
    let handle: CurlHandle
    private let multi: CurlMulti
    private let pump: BodyPump
    private let context: BlobContext
    private let info: BlobInfo
    private let pipeSignal = PipeSignal()
    private var rateLimit: RateLimit?
    private var isPaused = false
    private var lastActivity = ContinuousClock.now
    private var lastCounts: (up: Int64, down: Int64) = (0, 0)

    /// The error for which a callback ended the request; libcurl only reports that one did.
    private(set) var failure: BlobError?
    private(set) var head = ResponseHead()
    private(set) var body = Data()
    /// The number of bytes of the body handed to libcurl, whose own count includes framing.
    private(set) var sent: Int64 = 0
    private(set) var isBodySent = false

    /// The open sockets; while connecting, there may be one for each address.
    var sockets: [PeerSocket] = []
    /// The number of bytes of the body sent when a success began, including framing.
    var uploadedAtAnswer: Int64?
    var hasLingered = false
    var isReset = false

    init(
        _ upload: HTTPUpload, _ pump: BodyPump, _ handle: CurlHandle, _ multi: CurlMulti, _ info: BlobInfo,
        _ context: BlobContext
    ) {
        self.upload = upload
        self.byteCount = upload.isChunked ? nil : info.byteCount
        self.info = info
        (self.handle, self.multi) = (handle, multi)
        self.pump = pump
        self.context = context
        self.rateLimit = upload.rateLimit.map { RateLimit(bytesPerSecond: $0) }
    }

    func run() throws(BlobError) -> HTTPResponse {
        let registration = self.context.cancellation.onCancel { [multi] in multi.wake() }
        defer {
            registration.cancel()
            self.closeConnection()
            self.pipeSignal.end()
        }
        self.setUp()
        try self.multi.add(self.handle)
        self.isBodySent = self.byteCount == 0
        self.lastActivity = .now
        while true {
            try self.multi.perform()
            if let (_, code) = self.multi.takeResult() { return try self.outcome(of: code) }
            // While paused, libcurl would not end before the source does; with a server that stalls, never.
            if self.isRefused, self.remainingRefusalTime <= .zero { return try self.outcome(of: CURLE_OK) }
            let wait = try self.checkLimits()
            if self.isRefused {
                try self.wait(for: min(wait, self.remainingRefusalTime))
            } else if self.isPaused {
                let delay = self.delayOfRateLimit()
                if delay == nil, self.pump.hasNews() {
                    self.isPaused = false
                    self.handle.resume()
                    continue
                }
                try self.wait(for: min(wait, delay ?? wait))
            } else {
                try self.wait(for: wait)
            }
        }
    }

    /// Ends the request, its connection and the callbacks. A second call has no effect.
    func closeConnection() {
        guard self.handle.identity != nil else { return }
        self.multi.remove(self.handle)
        self.handle.close()
        self.multi.close()
    }

    /// True once the server has refused the request; the rest of its answer is only an explanation.
    private var isRefused: Bool { self.head.isFinal && !self.head.isSuccess }

    /// The remaining time to wait for the rest of the explanation.
    private var remainingRefusalTime: Duration {
        if let length = self.head.contentLength, self.body.count >= length { return .zero }
        let idleLimit = self.upload.idleLimit ?? self.context.idleLimit
        return min(Self.refusalTimeout, idleLimit ?? Self.refusalTimeout) - (.now - self.lastActivity)
    }

    private func wait(for duration: Duration) throws(BlobError) {
        // Rounded up, so that the loop does not spin in the last millisecond.
        try self.multi.wait(milliseconds: Int((duration.timeInterval * 1000).rounded(.up)))
    }

    /// Returns the wait until the rate limit allows bytes; nil when it allows bytes now.
    private func delayOfRateLimit() -> Duration? {
        guard self.rateLimit?.allowance() == 0 else { return nil }
        return self.rateLimit?.delay
    }

    /// Throws when a limit is reached; otherwise returns the time until the next check.
    private func checkLimits() throws(BlobError) -> Duration {
        try self.context.check()
        let now = ContinuousClock.now
        var wait = Self.longestWait
        if let deadline = self.context.deadline { wait = min(wait, deadline - now) }
        // The source checks this limit itself, and its error is more precise.
        let isSourceSlow = self.isPaused && self.delayOfRateLimit() == nil && !self.pump.hasNews()
        let sourceLimit = self.context.idleLimit
        guard let limit = isSourceSlow ? sourceLimit : self.upload.idleLimit ?? sourceLimit else { return wait }
        let rest = limit + (isSourceSlow ? .seconds(1) : .zero) - (now - self.lastActivity)
        guard rest > .zero else {
            let what = isSourceSlow ? "The source gave nothing" : "Nothing moved on the connection"
            throw self.error(.timedOut, "\(what) for \(limit), which is the idle limit; \(self.stage).")
        }
        return min(wait, rest)
    }

    // MARK: Setting up

    private func setUp() {
        let handle = self.handle
        handle.setUp(self.upload.url, connectLimit: self.connectLimit)
        // A reused connection may be dead, and then the request would be sent again.
        handle.set(CURLOPT_FRESH_CONNECT, 1)
        handle.set(CURLOPT_NOPROGRESS, 0)
        handle.set(CURLOPT_UPLOAD_BUFFERSIZE, 256 * 1024)
        switch self.upload.method {
        case .put:
            handle.set(CURLOPT_UPLOAD, 1)
            handle.set(CURLOPT_INFILESIZE_LARGE, bytes: self.byteCount ?? -1)
        case .post:
            handle.set(CURLOPT_POST, 1)
            handle.set(CURLOPT_POSTFIELDSIZE_LARGE, bytes: self.byteCount ?? -1)
        }
        handle.setHeaders(self.headerLines)
        self.setCallbacks()
    }

    private var connectLimit: Duration {
        min(self.upload.connectLimit, self.upload.idleLimit ?? self.context.idleLimit ?? self.upload.connectLimit)
    }

    private var headerLines: [String] {
        var lines = self.upload.fields.map(\.line)
        let names = Set(self.upload.fields.map { $0.name.lowercased() })
        if !names.contains("content-type") {
            lines.append("Content-Type: \(self.info.mediaType ?? "application/octet-stream")")
        }
        if !names.contains("user-agent") { lines.append("User-Agent: BlobStreams") }
        if self.byteCount == nil { lines.append("Transfer-Encoding: chunked") }
        // `Expect` is worth a round trip only for bodies that are much larger than the system's buffers.
        if let count = self.byteCount, count < 1 << 20 { lines.append("Expect:") }
        return lines
    }

    // MARK: Callbacks

    /// Supplies the next bytes of the body to libcurl.
    func supply(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
        // libcurl continues sending even if the server announces that it closes the connection.
        if self.isRefused { return self.pause() }
        var room = buffer
        if self.rateLimit != nil {
            let allowance = self.rateLimit?.allowance() ?? 0
            guard allowance > 0 else { return self.pause() }
            room = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(allowance))
        }
        switch self.pump.take(into: room) {
        case .bytes(let count):
            self.rateLimit?.use(count)
            self.sent += Int64(count)
            self.isBodySent = self.sent == self.byteCount
            self.lastActivity = .now
            self.upload.onProgress?(self.sent, self.info.byteCount)
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
        self.lastActivity = .now
        do {
            try self.head.take(line)
            try self.checkBeginningOfAnswer()
            return true
        } catch {
            self.failure = error
            return false
        }
    }

    /// Takes bytes of the response body; returns false to end the request.
    func takeBody(_ bytes: UnsafeRawBufferPointer) -> Bool {
        self.lastActivity = .now
        if self.head.isSuccess, let onAnswer = self.upload.onAnswer {
            do {
                try self.pipeSignal.withoutBlocking { try onAnswer(bytes) }
                return true
            } catch {
                self.failure = BlobError(wrapping: error)
                return false
            }
        }
        let room = HTTPResponse.maximumBodyByteCount - self.body.count
        self.body.append(contentsOf: bytes.prefix(room))
        // The beginning of an explanation is enough; the excess of a success is dropped, but read to its end.
        return bytes.count <= room || self.head.isSuccess
    }

    func noteCounts(up: Int64, down: Int64) {
        guard self.lastCounts != (up, down) else { return }
        self.lastCounts = (up, down)
        self.lastActivity = .now
    }
}
