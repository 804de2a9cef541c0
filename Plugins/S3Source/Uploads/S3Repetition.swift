/// The repetitions of one request of an upload. They begin afresh when the store has accepted another request.
struct S3Repetition {
    /// The longest pause; pauses double from the first.
    private static let longestPause = Duration.seconds(60)

    private let limits: S3Client.Limits
    private var acceptedCount: Int
    private(set) var retryCount = 0
    private var nextPause: Duration

    /// - Parameter acceptedCount: The number of requests of the upload that the store has accepted.
    init(_ limits: S3Client.Limits, acceptedCount: Int) {
        (self.limits, self.acceptedCount, self.nextPause) = (limits, acceptedCount, limits.firstPause)
    }

    /// Returns the pause before the request is repeated after a failure; nil when it is not.
    mutating func pause(acceptedCount: Int) -> Duration? {
        if acceptedCount != self.acceptedCount {
            (self.acceptedCount, self.retryCount, self.nextPause) = (acceptedCount, 0, self.limits.firstPause)
        }
        guard self.retryCount < self.limits.maximumRetryCount else { return nil }
        self.retryCount += 1
        defer { self.nextPause = min(self.nextPause * 2, Self.longestPause) }
        return self.nextPause
    }
}
