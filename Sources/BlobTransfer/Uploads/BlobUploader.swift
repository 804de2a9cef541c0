public import BlobCore

/// Uploads sources to web servers with libcurl.
///
/// ```swift
/// let response = try await BlobUploader().upload(source, with: BlobUploadRequest(.put, "https://host/photo.jpg"))
/// ```
///
/// One thread of the process sends all bodies and receives all responses. Threads of a pool read blocking sources while
/// there is buffer space for their bytes. No upload occupies a thread of its own, and all uploads share TLS sessions,
/// the certificate store and the name cache. An upload keeps at most 512 KiB of its body in memory, and libcurl half as
/// much; both keep less while many uploads are in progress.
///
/// A PUT of at most 64 KiB with a repeatable source reuses open connections, and leaves its own connection open for
/// others. It is repeated once if a reused connection breaks before the response. The same applies to the parts of an
/// object in an S3 store that states digests of parts. Every other request uses a connection of its own. Further
/// repetitions occur only according to ``BlobUploadRequest/maximumRetryCount`` and
/// ``BlobUploadRequest/maximumRedirectionCount``.
public struct BlobUploader: Sendable {
    /// The maximum time to wait for the reader to close after an upload.
    private static let closingContext = BlobContext(idleLimit: .milliseconds(500))

    /// Creates an uploader, and loads libcurl on first use.
    ///
    /// - Throws: ``BlobError/Code/unavailable`` if libcurl is missing or too old.
    public init() throws(BlobError) { try CurlLibrary.load() }

    /// Sends a source as the body of a request, and returns once the server has accepted all of it.
    ///
    /// Connects once the source has returned a byte, or enough bytes to detect the media type. A body of known length
    /// has a `Content-Length`. If a failure occurs after that, the server never receives an incomplete body that looks
    /// complete.
    ///
    /// A success response is treated as an error if its first byte arrives while bytes are unsent or unacknowledged, or
    /// if the connection is reset after the response. To detect a reset, a connection that will be closed is
    /// half-closed first, and the server has 250 ms to close it too. Except on Linux, this is omitted over TLS if the
    /// server announced that it will close the connection. If the server's system acknowledged bytes that its program
    /// never reads, only the reset reveals this, and only on a connection that is closed; otherwise the response is the
    /// only evidence.
    ///
    /// Cancelling the task or the context ends the upload immediately. The task calls the handlers of the request.
    ///
    /// - Parameters:
    ///   - source: The source of the body, opened at its start, once for each request.
    ///   - request: The request.
    ///   - validator: The validator that the content must match. The default, nil, accepts any content.
    ///   - context: The context. Its deadline applies to the whole upload. Its idle limit applies to the source, and to
    ///     the connection if the request has no idle limit.
    /// - Returns: A response with a status from 200 to 299.
    /// - Throws: An error of the source, which takes precedence over any other error; ``BlobError/Code/refused`` for
    ///   any other status, with a ``BlobUploadRefusal`` as the cause; ``BlobError/Code/checksumMismatch`` if the server
    ///   states a different digest than the source; ``BlobError/Code/unavailable`` if no connection could be made;
    ///   ``BlobError/Code/io`` for a broken connection; ``BlobError/Code/truncated``, ``BlobError/Code/corrupted`` or
    ///   ``BlobError/Code/limitExceeded`` for a malformed response; ``BlobError/Code/changed`` for content that changed
    ///   between two requests; ``BlobError/Code/invalidArgument``, ``BlobError/Code/timedOut``, or
    ///   ``BlobError/Code/cancelled``; the errors of ``BlobUploadRequest/onResponseBody``. An error is transient if
    ///   repeating the request may succeed and cannot have its effect twice.
    public func upload(
        _ source: any BlobInputStreamDataSource, with request: BlobUploadRequest,
        matching validator: BlobValidator? = nil, context: BlobContext = BlobContext()
    ) async throws(BlobError) -> BlobUploadResponse {
        try await context.cancelledWithTask { (context) async throws(BlobError) in
            try await context.beginningUpload(request.methodName, request.printableURL)
                .ending { (context) async throws(BlobError) in
                    try await self.repeatingUpload(source, request, validator, context)
                }
        }
    }

    /// Does the same as ``upload(_:with:matching:context:)`` for a request that is a part of an upload.
    package func send(
        _ source: any BlobInputStreamDataSource, with request: BlobUploadRequest, matching validator: BlobValidator?,
        context: BlobContext
    ) async throws(BlobError) -> BlobUploadResponse {
        try await context.cancelledWithTask { (context) async throws(BlobError) in
            try await self.repeatingUpload(source, request, validator, context)
        }
    }

    private nonisolated(nonsending) func repeatingUpload(
        _ source: any BlobInputStreamDataSource, _ request: BlobUploadRequest, _ validator: BlobValidator?,
        _ context: BlobContext
    ) async throws(BlobError) -> BlobUploadResponse {
        try request.validate()
        var retryState = UploadRetryState(request, source, matching: validator)
        while true {
            do throws(BlobError) {
                let ending = try await self.attempt(source, &retryState, context)
                if let response = try retryState.response(ending) {
                    if retryState.hasFailed { context.activity?.report(BlobEvent(.recovered)) }
                    return response
                }
            } catch {
                try await context.sleep(for: try retryState.delay(after: error, context))
            }
        }
    }

    private nonisolated(nonsending) func attempt(
        _ source: any BlobInputStreamDataSource, _ retryState: inout UploadRetryState, _ context: BlobContext
    ) async throws(BlobError) -> UploadExchange.Ending {
        let signal = TaskSignal()
        let (request, validator) = (retryState.request, retryState.validator)
        let isRepetition = retryState.needsNewConnection
        let attempt = try await BlockingPool.openings.value { () throws(BlobError) in
            try UploadAttempt(source, matching: validator, as: request, context, isRepetition: isRepetition) {
                signal.signal()
            }
        }
        let result: Result<UploadExchange.Ending, BlobError>
        do throws(BlobError) {
            retryState.recordInfo(try await context.beginningContext.wait(on: signal, until: attempt.begin))
            result = .success(try await context.transferContext.wait(on: signal, until: attempt.take))
        } catch {
            result = .failure(error)
        }
        // Closing the reader may block.
        try? await BlockingPool.openings.value { () throws(BlobError) in attempt.stop() }
        try? await Self.closingContext.wait(on: signal) { attempt.isClosed ? () : nil }
        return try result.get()
    }
}

extension BlobContext {
    /// Returns this context for an upload, which has begun.
    package func beginningUpload(_ method: String, _ url: String) -> BlobContext {
        self.beginning(.upload, method, scheme: nil, of: { url })
    }

    /// Calls `body`, and ends the upload that has begun with this context.
    package func ending<Result>(
        _ body: (BlobContext) async throws(BlobError) -> Result
    ) async throws(BlobError) -> Result {
        do throws(BlobError) {
            let result = try await body(self)
            self.activity?.end()
            return result
        } catch {
            self.activity?.end(error)
            throw error
        }
    }

    /// The limits for waiting for a source's first byte. The read itself has the idle limit and throws a more precise
    /// error.
    var beginningContext: BlobContext {
        var context = self
        context.idleLimit = self.idleLimit.map { $0 + .seconds(1) }
        return context
    }

    /// The limits for waiting for a transfer, which has its own idle limit.
    var transferContext: BlobContext {
        var context = self
        context.idleLimit = nil
        return context
    }
}

/// The sequence of one upload's requests, and the decision whether another request follows.
struct UploadRetryState {
    /// The next request. After a redirection, this is the request for the new URL.
    private(set) var request: BlobUploadRequest

    private let isRepeatable: Bool
    private var failures: RetryFailures
    private var redirectionCount = 0

    /// The validator that the content must match, because every request must send the content of the first one.
    private(set) var validator: BlobValidator?

    /// True after a failure.
    var hasFailed: Bool { self.failures.count > 0 }

    /// True after a reused connection broke. The next request then uses a new connection.
    private(set) var needsNewConnection = false

    init(_ request: BlobUploadRequest, _ source: any BlobInputStreamDataSource, matching validator: BlobValidator?) {
        (self.request, self.validator, self.failures) = (request, validator, RetryFailures(request.retry))
        self.isRepeatable = source.traits.contains(.repeatable)
    }

    mutating func recordInfo(_ info: BlobInfo) { self.validator = self.validator ?? info.validator }

    /// Returns the response; nil if another request must be made immediately.
    ///
    /// - Throws: The error of the request; ``BlobError/Code/refused`` for too many redirections.
    mutating func response(_ ending: UploadExchange.Ending) throws(BlobError) -> BlobUploadResponse? {
        if ending.isStale, !self.needsNewConnection {
            self.needsNewConnection = true
            return nil
        }
        do throws(BlobError) {
            return try ending.result.get()
        } catch {
            // The body was not sent (RFC 9110, section 10.1.1).
            if ending.isExpectationRefused, self.isRepeatable {
                self.request.hasExpectation = false
                return nil
            }
            guard let target = try self.redirection(error) else { throw error }
            (self.request, self.needsNewConnection) = (target, false)
            self.redirectionCount += 1
            return nil
        }
    }

    /// Returns the request to which a refusal redirects; nil for any other error.
    private func redirection(_ error: BlobError) throws(BlobError) -> BlobUploadRequest? {
        let limit = self.request.maximumRedirectionCount
        guard limit > 0, self.isRepeatable, let refusal = error.cause as? BlobUploadRefusal,
            let target = try self.request.redirected(by: refusal.response)
        else { return nil }
        guard self.redirectionCount < limit else {
            throw BlobError(
                .refused, "The limit of \(limit) redirections has been reached.",
                operation: "write", locator: self.request.printableURL, isTransient: false)
        }
        return target
    }

    /// Returns the delay before the request is repeated.
    ///
    /// - Throws: The error itself if the request is not repeated.
    mutating func delay(after error: BlobError, _ context: BlobContext) throws(BlobError) -> Duration {
        // An error of the source is unrelated to the request.
        guard error.operation == "write", self.isRepeatable else { throw error }
        let attempt = try self.failures.attempt(after: error, context)
        self.needsNewConnection = false
        context.activity?.report(BlobEvent(attempt))
        self.request.onRetry?(error)
        self.request.onAttempt?(attempt)
        return attempt.delay
    }
}
