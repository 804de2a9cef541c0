#if Command
import BlobStreamsStandard
import BlobTransfer

/// An upload that returns the facts about its request.
struct TimedUpload {
    /// The maximum number of redirections that `--location` follows.
    static let maximumRedirectionCount = 5

    private let uploader: BlobUploader
    private let request: BlobUploadRequest
    private let output: AnswerOutput
    private let number: Int
    private let start = ContinuousClock.now

    /// - Parameter number: The number that identifies the upload in the progress.
    /// - Throws: ``BlobError/Code/unavailable`` if libcurl is missing.
    init(
        _ request: BlobUploadRequest, _ options: UploadOptions, _ output: AnswerOutput, number: Int
    ) throws(BlobError) {
        self.uploader = try BlobUploader()
        (self.output, self.number) = (output, number)
        var request = request
        options.setRetry(&request.retry)
        request.onAttempt = output.reportAttempt
        request.maximumRedirectionCount = options.followsRedirections ? Self.maximumRedirectionCount : 0
        request.onProgress = { sent, byteCount in output.show(number, sent, of: byteCount) }
        self.request = request
    }

    typealias Outcome = (result: Result<BlobUploadResponse, BlobError>, facts: RequestFacts)

    /// Uploads without blocking a thread.
    ///
    /// - Parameter validator: The validator that the content must match; nil accepts any content.
    nonisolated(nonsending) func run(
        _ source: any BlobInputStreamDataSource, matching validator: BlobValidator?, _ context: BlobContext
    ) async -> Outcome {
        do throws(BlobError) {
            let response = try await self.uploader.upload(
                source, with: self.request, matching: validator, context: context)
            return self.outcome(.success(response))
        } catch {
            return self.outcome(.failure(error))
        }
    }

    private func outcome(_ result: Result<BlobUploadResponse, BlobError>) -> Outcome {
        let response =
            switch result {
            case .success(let response): response
            case .failure(let error): (error.cause as? BlobUploadRefusal)?.response
            }
        let url = printableURL(response?.url ?? (try? TransferURL(self.request.url).text) ?? self.request.url)
        let facts = RequestFacts(
            status: response?.status ?? 0, sentByteCount: self.output.sentByteCount(self.number),
            duration: .now - self.start, url: url)
        return (result, facts)
    }
}
#endif
