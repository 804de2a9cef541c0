import BlobCore

/// The decisions about repeating a request.
struct UploadRepetition {
    /// The longest pause before a repetition; pauses double from one second.
    private static let longestPause = Duration.seconds(60)

    /// The request that is made next: after a redirection, that for another URL.
    private(set) var request: BlobUploadRequest

    private let isRepeatable: Bool
    private var pause = Duration.seconds(1)
    private var retryCount = 0
    private var redirectionCount = 0

    /// The validator that the content must match: the content of the first request is that of all.
    private(set) var validator: BlobValidator?

    /// True when a connection that was open broke: the next request uses a new one.
    private(set) var needsNewConnection = false

    init(_ request: BlobUploadRequest, _ source: any BlobInputStreamDataSource, matching validator: BlobValidator?) {
        (self.request, self.validator) = (request, validator)
        self.isRepeatable = source.traits.contains(.repeatable)
    }

    mutating func note(_ info: BlobInfo) { self.validator = self.validator ?? info.validator }

    /// Returns the response; nil when a request is made again at once.
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
                .refused, "The server redirects more than \(limit) times, which is the limit.",
                operation: "write", locator: self.request.printableURL, isTransient: false)
        }
        return target
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
