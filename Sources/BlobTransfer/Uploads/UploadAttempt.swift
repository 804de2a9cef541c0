import BlobCore

/// One request of an upload, from the opening of its source to the end of its connection.
///
/// Its owner, a thread or a task, makes the calls in their order, and waits between them until it is notified.
final class UploadAttempt: @unchecked Sendable {  // Safe: the owner makes one call at a time.
    /// The maximum length of bodies that share connections. A server reads as much with the head, or soon after; of a
    /// longer body, a success before it was read would not be noticed.
    private static let maximumPooledByteCount: Int64 = 64 * 1024

    /// The longest wait, from the first byte of a slow source, for more bytes that tell its media type.
    private static let detectionTimeout = Duration.milliseconds(100)

    private let request: BlobUploadRequest
    private let source: any BlobInputStreamDataSource
    private let idleLimit: Duration?
    private let isRepetition: Bool
    private let detection: BlobUploadRequest.MediaTypeDetection?
    private let notify: @Sendable () -> Void
    /// The end of the wait for the bytes of the detection, once there is a byte.
    private var detectionEnd: Moment?
    private var timer: BlobRegistration?
    // With a cancellation of its own: the end of an upload stops its reader, but not the job.
    private let context: BlobContext
    private let exchange: UploadExchange
    private let pump: BodyPump
    private let begun: Locked<UploadTransfer?>
    private(set) var transfer: UploadTransfer?

    /// Opens the source, and reads one of at most 64 KiB. May block.
    ///
    /// - Parameters:
    ///   - isRepetition: True to use a new connection.
    ///   - notify: Called on any thread when a call of ``begin()``, ``take()`` or ``isClosed`` is worth trying again.
    init(
        _ source: any BlobInputStreamDataSource, matching validator: BlobValidator?, as request: BlobUploadRequest,
        _ context: BlobContext, isRepetition: Bool, notify: @escaping @Sendable () -> Void
    ) throws(BlobError) {
        (self.source, self.request, self.isRepetition) = (source, request, isRepetition)
        (self.idleLimit, self.context) = (context.idleLimit, context.blocking.makeChild())
        let reader = try source.open(matching: validator, context: self.context)
        let begun = Locked<UploadTransfer?>(nil)
        (self.exchange, self.begun) = (UploadExchange(notify: notify), begun)
        (self.detection, self.notify) = (request.neededMediaTypeDetection, notify)
        self.pump = BodyPump(reader, isChunked: request.isChunked) {
            if let transfer = begun.withLock({ $0 }) { transfer.continueBody() } else { notify() }
        }
        self.pump.start()
    }

    /// Starts the request once the source has returned its first bytes.
    ///
    /// - Returns: The facts about the content; nil to wait.
    /// - Throws: The error of the source.
    func begin() throws(BlobError) -> BlobInfo? {
        guard self.hasBeginning() else { return nil }
        // An empty body is complete once it is announced, so this is the last moment to throw.
        if let failure = self.pump.failure { throw failure }
        var info = self.pump.sourceInfo
        if let detection, info.mediaType == nil { info.mediaType = self.pump.withBeginning(detection.mediaType) }
        let isPooled =
            self.request.method == .put && !self.request.isChunked && self.source.traits.contains(.repeatable)
            && info.byteCount ?? .max <= Self.maximumPooledByteCount
        let transfer = UploadTransfer(
            self.request, info, self.pump, self.exchange, isPooled ? self.isRepetition ? .new : .pooled : .own,
            idleLimit: self.idleLimit)
        self.transfer = transfer
        self.begun.withLock { $0 = transfer }
        try transfer.start()
        return info
    }

    /// Returns true when the source has as many bytes as tell its media type, or has had some for a while.
    private func hasBeginning() -> Bool {
        let byteCount = self.detection?.byteCount ?? 1
        if self.pump.hasNews(byteCount) { return true }
        guard byteCount > 1, self.pump.hasNews() else { return false }
        if let detectionEnd, detectionEnd <= .now { return true }
        if self.detectionEnd == nil {
            self.detectionEnd = .now + Self.detectionTimeout
            self.timer = self.context.wake(after: Self.detectionTimeout, BlobWaker(self.notify))
        }
        return self.pump.hasNews(byteCount)
    }

    /// Passes events to the handlers of the request.
    ///
    /// - Returns: The end of the request; nil to wait.
    /// - Throws: The error of a handler.
    func take() throws(BlobError) -> UploadExchange.Ending? {
        guard let events = self.exchange.take() else { return nil }
        // There is nothing left to wake or to cancel.
        if events.ending != nil { _ = self.begun.take() }
        if let sent = events.sent { self.request.onProgress?(sent, self.transfer?.byteCount) }
        if !events.answer.isEmpty {
            try BlobError.wrapping { try events.answer.withUnsafeBytes { try self.request.onAnswer?($0) } }
            self.transfer?.continueAnswer()
        }
        return events.ending
    }

    /// Ends the request and the reading.
    func stop() {
        self.context.cancellation.cancel()
        // A late wake-up of the pump is for its owner from now on.
        self.begun.take()?.cancel()
        self.pump.stop()
    }

    /// True once the reader is closed, after ``stop()``.
    var isClosed: Bool { self.pump.isClosed }
}

/// The channel from an upload on the loop to its owner, which alone calls the user's handlers.
final class UploadExchange: Sendable {
    /// The end of a request.
    struct Ending: Sendable {
        let result: Result<BlobUploadResponse, BlobError>
        /// True when a connection that was used before broke before an answer.
        let isStale: Bool
    }

    /// The events since the owner last took them.
    struct Events: Sendable {
        var sent: Int64?
        var answer: [UInt8] = []
        var ending: Ending?
    }

    /// The number of bytes of an answer from which no more are taken.
    private static let maximumAnswerByteCount = 64 * 1024

    private let events = Locked<Events?>(nil)
    private let notify: @Sendable () -> Void

    /// - Parameter notify: Called on the thread of the loop at the first event since the owner looked.
    init(notify: @escaping @Sendable () -> Void) { self.notify = notify }

    func note(sent: Int64) { self.update { $0.sent = sent } }

    /// Takes bytes of the answer; returns false without taking any while too many wait.
    func append(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard self.events.withLock({ $0?.answer.count ?? 0 }) < Self.maximumAnswerByteCount else { return false }
        self.update { $0.answer += bytes }
        return true
    }

    /// - Parameter sent: The number of bytes sent, if that has changed.
    func end(_ ending: Ending, sent: Int64? = nil) {
        self.update { events in
            (events.ending, events.sent) = (ending, sent ?? events.sent)
        }
    }

    /// Takes the events; nil when there are none.
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
