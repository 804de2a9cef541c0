import BlobCore

/// Decides after each error of a resumable upload whether it goes on, and when.
struct UploadRecovery {
    /// The number of failures without progress after which an upload that the server knows fails.
    private static let defaultPatience = 8

    private static let firstPause = Duration.milliseconds(250)
    private static let longestPause = Duration.seconds(30)

    /// The statuses after which the server is asked again: a lock or an offset of a request that has not ended there,
    /// damaged bytes, and temporary states of servers and gateways.
    private static let transientStatuses: Set = [408, 409, 423, 425, 429, 460, 500, 502, 503, 504]

    private let patience: Int?
    /// The number of failures in a row.
    private(set) var failureCount = 0
    private var offset: Int64 = -1
    private var pause = Self.firstPause

    /// - Parameter patience: The number of failures in a row to bear; nil for the default.
    init(patience: Int?) { self.patience = patience }

    /// The maximum number of failures in a row.
    var limit: Int { self.patience ?? Self.defaultPatience }

    /// Notes the number of bytes that the server has.
    mutating func note(_ offset: Int64) {
        guard offset > self.offset else { return }
        (self.failureCount, self.offset, self.pause) = (0, offset, Self.firstPause)
    }

    /// Returns the time to wait after an error.
    ///
    /// - Parameter isUnknown: True while the server does not know the upload.
    /// - Throws: The error, if the upload does not go on.
    mutating func pause(after error: BlobError, isUnknown: Bool = false) throws(BlobError) -> Duration {
        self.failureCount += 1
        let limit = self.patience == nil && isUnknown && error.code == .unavailable ? 0 : self.limit
        guard self.failureCount <= limit, Self.mayRecover(error) else { throw error }
        defer { self.pause = min(self.pause * 2, Self.longestPause) }
        return max(self.pause, error.retryDelay ?? .zero)
    }

    private static func mayRecover(_ error: BlobError) -> Bool {
        guard error.operation == "write" else { return false }
        guard let response = (error.cause as? BlobUploadRefusal)?.response else {
            return switch error.code {
            case .io, .truncated, .timedOut: true
            case .unavailable: error.isTransient
            default: false
            }
        }
        // Such an answer is about the whole body, which the server has.
        return response.value(of: "upload-complete") != "?1" && self.transientStatuses.contains(response.status)
    }
}
