import BlobTransfer
import BlobStreamsStandard

/// An upload with its redirections.
struct UploadAttempts {
    static let maximumRedirectionCount = 5

    private let uploader: BlobUploader
    private let followsRedirections: Bool
    private var remainingRedirectionCount = Self.maximumRedirectionCount
    /// The request; its URL is that of the last redirection.
    private(set) var upload: BlobUploadRequest

    private let output: AnswerOutput

    /// - Throws: ``BlobError/Code/unavailable`` without libcurl.
    init(_ upload: BlobUploadRequest, _ options: UploadOptions, _ output: AnswerOutput) throws(BlobError) {
        self.output = output
        self.uploader = try BlobUploader()
        self.upload = upload
        self.followsRedirections = options.followsRedirections
        (self.upload.maximumRetryCount, self.upload.onRetry) = (options.retry, { output.report($0) })
    }

    /// Makes the request, and those to which it is redirected.
    ///
    /// - Parameters:
    ///   - validator: The validator that the content must match; nil takes that of now, if it is sent again.
    ///   - number: The number of the upload, by which its progress is shown.
    mutating func run(
        _ source: any BlobInputStreamDataSource, matching validator: BlobValidator? = nil, number: Int,
        _ context: BlobContext
    ) -> (result: Result<BlobUploadResponse, BlobError>, facts: RequestFacts) {
        let start = ContinuousClock.now
        let result = Result { () throws(BlobError) in try self.response(source, validator, context) }
        let status =
            switch result {
            case .success(let response): response.status
            case .failure(let error): (error.cause as? BlobUploadRefusal)?.response.status ?? 0
            }
        let facts = RequestFacts(
            status: status, sentByteCount: self.output.sentByteCount(number), duration: .now - start,
            url: (try? TransferURL(self.upload.url).text) ?? self.upload.printableURL)
        return (result, facts)
    }

    private mutating func response(
        _ source: any BlobInputStreamDataSource, _ validator: BlobValidator?, _ context: BlobContext
    ) throws(BlobError) -> BlobUploadResponse {
        let isRepeatable = source.traits.contains(.repeatable)
        var validator = validator
        if isRepeatable, validator == nil, self.followsRedirections {
            validator = try source.info(context).validator
        }
        while true {
            do throws(BlobError) {
                return try self.uploader.uploadBlocking(
                    source, with: self.upload, matching: validator, context: context)
            } catch {
                guard isRepeatable, let target = try self.redirection(error) else { throw error }
                self.remainingRedirectionCount -= 1
                self.upload = target
            }
        }
    }

    /// Returns the request to which a refusal redirects; nil for any other error.
    private func redirection(_ error: BlobError) throws(BlobError) -> BlobUploadRequest? {
        guard self.followsRedirections, let refusal = error.cause as? BlobUploadRefusal,
            let target = try self.upload.redirected(by: refusal.response)
        else { return nil }
        guard self.remainingRedirectionCount > 0 else {
            throw BlobError(
                .refused, "The server redirects more than \(Self.maximumRedirectionCount) times, which is the limit.",
                operation: "write", locator: self.upload.printableURL, isTransient: false)
        }
        return target
    }
}
