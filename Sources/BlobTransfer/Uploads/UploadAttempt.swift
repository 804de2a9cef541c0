import BlobCore

/// One request of an upload, from the opening of its source to the end of its connection.
///
/// The owner, a thread or a task, makes the calls in order and waits for a notification between them.
final class UploadAttempt: @unchecked Sendable {  // Safe: the owner makes one call at a time.
    /// The maximum length of a body on a shared connection. A server reads this much with the head or soon after. A
    /// longer body could hide that a success was sent before the body was read, unless the response proves it.
    private static let maximumPooledByteCount: Int64 = 64 * 1024

    /// The maximum wait, starting at the first byte of a slow source, for the bytes from which its media type is
    /// detected.
    private static let detectionTimeout = Duration.milliseconds(100)

    private let request: BlobUploadRequest
    private let source: any BlobInputStreamDataSource
    private let isRepetition: Bool
    private let detection: BlobUploadRequest.MediaTypeDetection?
    private let notify: @Sendable () -> Void
    /// The end of the wait for the bytes that identify the media type, once the first byte has arrived.
    private var detectionEnd: CompactInstant?
    private var timer: BlobRegistration?
    // A child context with its own cancellation, because the end of an upload stops its reader but not the job.
    private let context: BlobContext
    private let exchange: UploadExchange
    private let pump: BodyPump
    private let begunTransfer: Locked<UploadTransfer?>
    private(set) var transfer: UploadTransfer?

    /// Opens the source, and reads it if it has at most 64 KiB. May block.
    ///
    /// - Parameters:
    ///   - isRepetition: True to use a new connection.
    ///   - notify: Called on any thread when a call of ``begin()``, ``take()`` or ``isClosed`` may succeed.
    init(
        _ source: any BlobInputStreamDataSource, matching validator: BlobValidator?, as request: BlobUploadRequest,
        _ context: BlobContext, isRepetition: Bool, notify: @escaping @Sendable () -> Void
    ) throws(BlobError) {
        (self.source, self.request, self.isRepetition) = (source, request, isRepetition)
        self.context = context.blocking.makeChild()
        let reader = try source.open(matching: validator, context: self.context)
        let begun = Locked<UploadTransfer?>(nil)
        (self.exchange, self.begunTransfer) = (UploadExchange(notify: notify), begun)
        (self.detection, self.notify) = (request.neededMediaTypeDetection, notify)
        self.pump = BodyPump(reader, isChunked: request.isChunked) {
            if let transfer = begun.withLock({ $0 }) { transfer.continueBody() } else { notify() }
        }
        self.pump.start()
    }

    /// Starts the request once the first bytes of the source are available.
    ///
    /// - Returns: The facts about the content; nil if the caller has to wait.
    /// - Throws: The error of the source; ``BlobError/Code/unavailable`` if libcurl, memory or a thread is unavailable.
    func begin() throws(BlobError) -> BlobInfo? {
        guard self.hasBeginning() else { return nil }
        // An empty body is complete once it is announced, so this is the last opportunity to throw.
        if let failure = self.pump.failure { throw failure }
        var info = self.pump.sourceInfo
        if let detection, info.mediaType == nil { info.mediaType = self.pump.withBeginning(detection.mediaType) }
        let isPooled =
            self.request.method == .put && !self.request.isChunked && self.source.traits.contains(.repeatable)
            && (self.request.isProvenByResponse || info.byteCount ?? .max <= Self.maximumPooledByteCount)
        let transfer = UploadTransfer(
            self.request, info, self.pump, self.exchange, isPooled ? self.isRepetition ? .new : .pooled : .own,
            for: RequestJob(self.context))
        self.transfer = transfer
        self.begunTransfer.withLock { $0 = transfer }
        try transfer.start()
        return info
    }

    /// Returns true if enough bytes to detect the media type are available, or if the wait for them has ended.
    private func hasBeginning() -> Bool {
        let byteCount = self.detection?.byteCount ?? 1
        if self.pump.isReady(byteCount) { return true }
        guard byteCount > 1, self.pump.isReady() else { return false }
        if let detectionEnd, detectionEnd <= .now { return true }
        if self.detectionEnd == nil {
            self.detectionEnd = .now + Self.detectionTimeout
            self.timer = self.context.wake(after: Self.detectionTimeout, BlobWaker(self.notify))
        }
        return self.pump.isReady(byteCount)
    }

    /// Passes events to the handlers of the request.
    ///
    /// - Returns: The end of the request; nil if the caller has to wait.
    /// - Throws: The error of a handler.
    func take() throws(BlobError) -> UploadExchange.Ending? {
        guard let events = self.exchange.take() else { return nil }
        // Once the request has ended, the pump no longer needs to be woken or cancelled.
        if events.ending != nil { _ = self.begunTransfer.take() }
        if let sent = events.sentByteCount { self.request.onProgress?(sent, self.transfer?.byteCount) }
        if !events.answer.isEmpty {
            try BlobError.wrapping { try events.answer.withUnsafeBytes { try self.request.onResponseBody?($0) } }
            self.transfer?.continueAnswer()
        }
        return events.ending
    }

    /// Ends the request and the reading.
    func stop() {
        self.context.cancellation.cancel()
        // From now on, the pump's wake-ups notify the owner instead of the transfer.
        self.begunTransfer.take()?.cancel()
        self.pump.stop()
    }

    /// True once the reader is closed after ``stop()``.
    var isClosed: Bool { self.pump.isClosed }
}

/// The channel from an upload on the loop to its owner. Only the owner calls the user's handlers.
final class UploadExchange: Sendable {
    /// The end of a request.
    struct Ending: Sendable {
        let result: Result<BlobUploadResponse, BlobError>
        /// True if a reused connection broke before a response.
        let isStale: Bool
        /// True if the server refused only the expectation with which the body would have been announced.
        var isExpectationRefused = false
    }

    /// The events since the owner last took any.
    struct Events: Sendable {
        var sentByteCount: Int64?
        var answer: [UInt8] = []
        var ending: Ending?
    }

    /// The number of buffered response bytes at which no more are accepted.
    private static let maximumAnswerByteCount = 64 * 1024

    private let events = Locked<Events?>(nil)
    private let notify: @Sendable () -> Void

    /// - Parameter notify: Called on the loop's thread at the first event since the owner last took events.
    init(notify: @escaping @Sendable () -> Void) { self.notify = notify }

    func report(sent: Int64) { self.update { $0.sentByteCount = sent } }

    /// Accepts bytes of the response; returns false without accepting any while too many are buffered.
    func append(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard self.events.withLock({ $0?.answer.count ?? 0 }) < Self.maximumAnswerByteCount else { return false }
        self.update { $0.answer += bytes }
        return true
    }

    /// Records the end of the request.
    ///
    /// - Parameter sent: The number of bytes sent, if it has changed.
    func end(_ ending: Ending, sent: Int64? = nil) {
        self.update { events in
            (events.ending, events.sentByteCount) = (ending, sent ?? events.sentByteCount)
        }
    }

    /// Removes and returns the events; nil if no event has occurred.
    func take() -> Events? { self.events.take() }

    private func update(_ change: (inout Events) -> Void) {
        let isFirst = self.events.withLock { events in
            defer {
                var changed = events ?? Events()
                change(&changed)
                events = changed
            }
            return events == nil
        }
        if isFirst { self.notify() }
    }
}
