import BlobStreams
import CCurl
import Foundation

/// One upload, from the first byte of its source to the last of its answer. Used by one thread.
final class UploadTransfer {
    /// Events wake the loop; this is for what may happen without one.
    private static let longestWait = Duration.milliseconds(250)

    /// For the explanation of a refusal, counted from the last byte of it.
    private static let patienceWithRefusal = Duration.seconds(1)

    let upload: HTTPUpload
    let byteCount: Int64?
    let handle: CurlHandle
    private let pump: BodyPump
    private let context: BlobContext
    private let info: BlobInfo
    private let pipeSignal = PipeSignal()
    private var rateLimit: RateLimit?
    private var isPaused = false
    private var lastActivity = ContinuousClock.now
    private var lastCounts: (up: Int64, down: Int64) = (0, 0)

    /// Our own reason for ending the request; libcurl only knows that a callback did.
    private(set) var failure: BlobError?
    private(set) var head = ResponseHead()
    private(set) var body = Data()
    /// Of the body, as handed to libcurl: it counts framing too.
    private(set) var sent: Int64 = 0
    private(set) var isBodySent = false

    /// Those that are open: while connecting there may be one for each address.
    var sockets: [PeerSocket] = []
    /// Of the body, with its framing, when a success began.
    var uploadedAtAnswer: Int64?
    var hasLingered = false
    var isReset = false

    init(
        _ upload: HTTPUpload, _ pump: BodyPump, _ handle: CurlHandle, _ info: BlobInfo, _ context: BlobContext
    ) {
        self.upload = upload
        self.byteCount = upload.isChunked ? nil : info.byteCount
        self.info = info
        self.handle = handle
        self.pump = pump
        self.context = context
        self.rateLimit = upload.rateLimit.map { RateLimit(bytesPerSecond: $0) }
    }

    func run() throws(BlobError) -> HTTPResponse {
        let registration = self.context.onCancel { [handle] in handle.wake() }
        defer {
            registration.remove()
            self.handle.close()
            self.pipeSignal.end()
        }
        self.setUp()
        try self.handle.start()
        self.isBodySent = self.byteCount == 0
        self.lastActivity = .now
        while true {
            if let code = try self.handle.perform() { return try self.outcome(of: code) }
            // Paused, libcurl would not end before the source does; with a server that stalls, not at all.
            if self.isRefused, self.restOfRefusal <= .zero { return try self.outcome(of: CURLE_OK) }
            let wait = try self.checkLimits()
            if self.isRefused {
                try self.wait(for: min(wait, self.restOfRefusal))
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

    /// The server has said no; what it says beyond that is only an explanation.
    private var isRefused: Bool { self.head.isFinal && !self.head.isSuccess }

    /// How long more of the explanation may be waited for.
    private var restOfRefusal: Duration {
        if let length = self.head.contentLength, self.body.count >= length { return .zero }
        let idleLimit = self.upload.idleLimit ?? self.context.idleLimit
        return min(Self.patienceWithRefusal, idleLimit ?? Self.patienceWithRefusal) - (.now - self.lastActivity)
    }

    private func wait(for duration: Duration) throws(BlobError) {
        // Rounded up, so that the loop does not spin in the last millisecond.
        try self.handle.wait(milliseconds: Int((duration.timeInterval * 1000).rounded(.up)))
    }

    /// Nil when the rate allows bytes now.
    private func delayOfRateLimit() -> Duration? {
        guard self.rateLimit?.allowance() == 0 else { return nil }
        return self.rateLimit?.delay
    }

    /// How long may be waited until the next look at the limits.
    private func checkLimits() throws(BlobError) -> Duration {
        try self.context.check()
        let now = ContinuousClock.now
        var wait = Self.longestWait
        if let deadline = self.context.deadline { wait = min(wait, deadline - now) }
        // The source has its limit itself, and its own error says more.
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
        handle.set(CURLOPT_URL, self.upload.url)
        // Sees to it that the signals of the process stay as they are; cancelling does not wait for a name server.
        handle.set(CURLOPT_NOSIGNAL, 1)
        handle.set(CURLOPT_QUICK_EXIT, 1)
        // Version 2 stalls and spins on large uploads until 8.2.
        handle.set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
        handle.set(CURLOPT_HTTP09_ALLOWED, 0)
        handle.set(CURLOPT_FOLLOWLOCATION, 0)
        handle.set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        // A connection that was used before may be dead, and then the request would be sent again.
        handle.set(CURLOPT_FRESH_CONNECT, 1)
        handle.set(CURLOPT_CONNECTTIMEOUT_MS, Int(self.connectLimit.timeInterval * 1000))
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
        // What ends with a semicolon is a field without a value to libcurl; with a colon, it would be left out.
        var lines = self.upload.fields.map { $0.value.isEmpty ? "\($0.name);" : "\($0.name): \($0.value)" }
        let names = Set(self.upload.fields.map { $0.name.lowercased() })
        if !names.contains("content-type") {
            lines.append("Content-Type: \(self.info.mediaType ?? "application/octet-stream")")
        }
        if !names.contains("user-agent") { lines.append("User-Agent: BlobStreams") }
        if self.byteCount == nil { lines.append("Transfer-Encoding: chunked") }
        // Worth a round trip only for bodies that are much larger than what the system buffers.
        if let count = self.byteCount, count < 1 << 20 { lines.append("Expect:") }
        return lines
    }

    // MARK: Callbacks

    /// The next bytes of the body.
    func supply(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
        // libcurl goes on sending when the server also says that it closes the connection.
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

    /// A line of a head; false ends the request.
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

    /// Bytes of the answer's body; false ends the request.
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
        // Of an explanation the beginning is enough; of an answer to be kept it is what was promised.
        return bytes.count <= room || self.head.isSuccess
    }

    func noteCounts(up: Int64, down: Int64) {
        guard self.lastCounts != (up, down) else { return }
        self.lastCounts = (up, down)
        self.lastActivity = .now
    }
}
