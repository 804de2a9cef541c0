package import BlobCore
import BlobTransfer
import Foundation

/// Uploads sources to web servers.
///
/// The thread of all transfers sends, while a thread of the pool reads the source. Redirections are not followed, and
/// nothing is sent again but by ``HTTPUpload/maximumRetryCount``.
///
/// A PUT of at most 64 KiB whose source is repeatable uses connections that are open, and leaves its own open for others. It
/// is made again, on a new connection, when one that was open breaks before an answer. All others have a connection of
/// their own.
package struct HTTPUploader: Sendable {
    /// The longest time to wait for the reader to close after an upload.
    private static let closeTimeout = Duration.milliseconds(500)

    /// The longest pause before a repetition; pauses double from one second.
    private static let longestPause = Duration.seconds(60)

    /// The maximum length of bodies that share connections. A server reads as much with the head, or soon after; of a
    /// longer body, a success before it was read would not be noticed.
    private static let maximumPooledByteCount: Int64 = 64 * 1024

    /// Creates an uploader, and loads libcurl the first time.
    ///
    /// - Throws: ``BlobError/Code/unavailable``.
    package init() throws(BlobError) { try CurlLibrary.load() }

    /// Sends a source as the body of a request, and returns when the server has accepted all of it.
    ///
    /// Connects once the source has returned its first bytes. Whatever fails after that, the server never receives an
    /// incomplete body that looks complete.
    ///
    /// A success is an error if its first byte arrives while bytes are unsent or unacknowledged, or if a reset of the
    /// connection follows it. To detect the reset, a connection that is closed is half-closed first, and the server has
    /// 250 ms to close it too; over TLS this is omitted if the server announced that it closes. Bytes that the server's
    /// system acknowledged but its program never reads cannot be detected otherwise, nor on a connection that stays open:
    /// only the answer vouches for them.
    ///
    /// - Parameters:
    ///   - source: The source of the body, opened once, at its start.
    ///   - validator: The validator that its content must match; nil accepts any content.
    ///   - context: The context; its idle limit applies to the source, and to the connection if the upload has none.
    /// - Returns: An answer with a status of 200 to 299.
    /// - Throws: The error of the source before any other; ``BlobError/Code/refused`` for any other status, with an
    ///   ``HTTPRefusal`` as the cause; ``BlobError/Code/unavailable`` without a connection; ``BlobError/Code/io`` for a
    ///   broken connection; ``BlobError/Code/truncated``, ``BlobError/Code/corrupted`` and
    ///   ``BlobError/Code/limitExceeded`` for a malformed answer; ``BlobError/Code/timedOut``,
    ///   ``BlobError/Code/cancelled``. An error is transient when repeating the request may help and cannot have its
    ///   effect twice.
    package func upload(
        _ source: any BlobInputStreamDataSource, matching validator: BlobValidator? = nil, as upload: HTTPUpload,
        context: BlobContext = BlobContext()
    ) throws(BlobError) -> HTTPResponse {
        try upload.validate()
        // The content of the first attempt is that of all.
        var (validator, pause, retryCount) = (validator, Duration.seconds(1), 0)
        while true {
            do throws(BlobError) {
                return try self.attempt(source, matching: &validator, as: upload, context)
            } catch {
                let canRepeat = error.isTransient && error.operation == "write" && source.traits.contains(.repeatable)
                guard canRepeat, retryCount < upload.maximumRetryCount else { throw error }
                retryCount += 1
                upload.onRetry?(error)
                try context.pause(for: error.retryDelay ?? pause)
                pause = min(pause * 2, Self.longestPause)
            }
        }
    }

    /// Makes the request, and again if a connection that was open breaks.
    private func attempt(
        _ source: any BlobInputStreamDataSource, matching validator: inout BlobValidator?, as upload: HTTPUpload,
        _ context: BlobContext
    ) throws(BlobError) -> HTTPResponse {
        let first = try self.request(source, matching: &validator, as: upload, context, isRepetition: false)
        guard first.isStale else { return try first.checkedResult() }
        return try self.request(source, matching: &validator, as: upload, context, isRepetition: true).checkedResult()
    }

    private func request(
        _ source: any BlobInputStreamDataSource, matching validator: inout BlobValidator?, as upload: HTTPUpload,
        _ context: BlobContext, isRepetition: Bool
    ) throws(BlobError) -> UploadExchange.Ending {
        // With a cancellation of its own: the end of an upload stops its reader, but not the job.
        let child = context.blocking.makeChild()
        let reader = try source.open(matching: validator, context: child)
        let exchange = UploadExchange()
        let begun = Locked<UploadTransfer?>(nil)
        let pump = BodyPump(reader, isChunked: upload.isChunked) {
            if let transfer = begun.withLock({ $0 }) { transfer.continueBody() } else { exchange.signal.signal() }
        }
        defer {
            child.cancellation.cancel()
            begun.take()?.cancel()
            pump.stop(patience: Self.closeTimeout)
        }
        pump.start()
        // Later than the source, which has the same limit and a more precise error.
        var waiting = context
        waiting.idleLimit = context.idleLimit.map { $0 + .seconds(1) }
        try waiting.wait(on: exchange.signal) { pump.hasNews() ? () : nil }
        // An empty body is complete once it is announced, so this is the last moment to throw.
        if let failure = pump.failure { throw failure }
        let info = pump.sourceInfo
        validator = validator ?? info.validator
        let isPooled =
            upload.method == .put && !upload.isChunked && source.traits.contains(.repeatable)
            && info.byteCount ?? .max <= Self.maximumPooledByteCount
        let transfer = UploadTransfer(
            upload, info, pump, exchange, isPooled ? isRepetition ? .new : .pooled : .own, idleLimit: context.idleLimit)
        begun.withLock { $0 = transfer }
        try transfer.start()
        // From here on, the transfer has limits of its own.
        waiting.idleLimit = nil
        while true {
            let news = try waiting.wait(on: exchange.signal) { exchange.take() }
            if let sent = news.sent { upload.onProgress?(sent, info.byteCount) }
            if !news.answer.isEmpty {
                do {
                    try news.answer.withUnsafeBytes { try upload.onAnswer?($0) }
                } catch {
                    throw BlobError(wrapping: error)
                }
                transfer.continueAnswer()
            }
            if let ending = news.ending { return ending }
        }
    }
}
