import BlobCore

/// The decisions about repeating a request.
struct UploadRepetition {
    /// The longest pause before a repetition; pauses double from one second.
    private static let longestPause = Duration.seconds(60)

    private let request: BlobUploadRequest
    private let isRepeatable: Bool
    private var pause = Duration.seconds(1)
    private var retryCount = 0

    /// The validator that the content must match: the content of the first request is that of all.
    private(set) var validator: BlobValidator?

    /// True when a connection that was open broke: the next request uses a new one.
    private(set) var needsNewConnection = false

    init(_ request: BlobUploadRequest, _ source: any BlobInputStreamDataSource, matching validator: BlobValidator?) {
        (self.request, self.validator) = (request, validator)
        self.isRepeatable = source.traits.contains(.repeatable)
    }

    mutating func note(_ info: BlobInfo) { self.validator = self.validator ?? info.validator }

    /// Returns the response; nil when the request is made again at once.
    mutating func response(_ ending: UploadExchange.Ending) throws(BlobError) -> BlobUploadResponse? {
        guard ending.isStale, !self.needsNewConnection else { return try ending.result.get() }
        self.needsNewConnection = true
        return nil
    }

    /// Returns the pause before the request is made again.
    ///
    /// - Throws: The error, when it is not.
    mutating func delay(after error: BlobError) throws(BlobError) -> Duration {
        guard error.isTransient, error.operation == "write", self.isRepeatable,
            self.retryCount < self.request.maximumRetryCount
        else { throw error }
        self.retryCount += 1
        self.needsNewConnection = false
        self.request.onRetry?(error)
        defer { self.pause = min(self.pause * 2, Self.longestPause) }
        return error.retryDelay ?? self.pause
    }
}
