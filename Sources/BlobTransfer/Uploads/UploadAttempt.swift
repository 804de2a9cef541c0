import BlobCore

/// One request of an upload, from the opening of its source to the end of its connection.
///
/// Its owner, a thread or a task, makes the calls in their order, and waits between them until it is notified.
final class UploadAttempt: @unchecked Sendable {  // Safe: the owner makes one call at a time.
    /// The maximum length of bodies that share connections. A server reads as much with the head, or soon after; of a
    /// longer body, a success before it was read would not be noticed.
    private static let maximumPooledByteCount: Int64 = 64 * 1024

    private let request: BlobUploadRequest
    private let source: any BlobInputStreamDataSource
    private let idleLimit: Duration?
    private let isRepetition: Bool
    private let detection: BlobUploadRequest.MediaTypeDetection?
    /// The number of first bytes for which ``begin()`` waits, if the source has as many.
    let beginningByteCount: Int
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
        self.detection = request.neededMediaTypeDetection
        self.beginningByteCount = self.detection?.byteCount ?? 1
        self.pump = BodyPump(
            reader, isChunked: request.isChunked, beginningByteCount: self.beginningByteCount
        ) {
            if let transfer = begun.withLock({ $0 }) { transfer.continueBody() } else { notify() }
        }
        self.pump.start()
    }

    /// Starts the request once the source has returned its first bytes.
    ///
    /// - Returns: The facts about the content; nil to wait.
    /// - Throws: The error of the source.
    func begin() throws(BlobError) -> BlobInfo? {
        guard self.pump.hasNews() else { return nil }
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

    /// Passes news to the handlers of the request.
    ///
    /// - Returns: The end of the request; nil to wait.
    /// - Throws: The error of a handler.
    func take() throws(BlobError) -> UploadExchange.Ending? {
        guard let news = self.exchange.take() else { return nil }
        // There is nothing left to wake or to cancel.
        if news.ending != nil { _ = self.begun.take() }
        if let sent = news.sent { self.request.onProgress?(sent, self.transfer?.byteCount) }
        if !news.answer.isEmpty {
            do {
                try news.answer.withUnsafeBytes { try self.request.onAnswer?($0) }
            } catch {
                throw BlobError(wrapping: error)
            }
            self.transfer?.continueAnswer()
        }
        return news.ending
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
