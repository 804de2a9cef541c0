import BlobCore
import BlobPlatform

/// The requests that protocols for resumable uploads consist of.
struct ResumableRequests: Sendable {
    private let uploader: BlobUploader
    /// The request that creates the upload: its URL, its limits, and the fields that all requests have.
    private(set) var base: BlobUploadRequest
    /// The origin of the URL, which alone gets the fields and the credentials.
    private let origin: TransferURL.Origin
    private let context: BlobContext

    /// - Throws: ``BlobError/Code/invalidArgument`` and ``BlobError/Code/invalidLocator`` for a request that is not
    ///   valid, ``BlobError/Code/unavailable`` without libcurl.
    init(_ base: BlobUploadRequest, _ context: BlobContext) throws(BlobError) {
        try base.validate()
        (self.uploader, self.base, self.context) = (try BlobUploader(), base, context)
        let url = try TransferURL(base.url)
        // URLs of the server have none.
        self.base.settings.credentials = base.settings.credentials ?? url.credentials
        self.origin = url.origin
    }

    /// Makes a request; `Content-Type` is one of `fields`, or none.
    func send(
        _ method: BlobUploadRequest.Method, _ url: String, _ fields: [(String, String)],
        body source: any BlobInputStreamDataSource = MemorySource([]), matching validator: BlobValidator? = nil,
        isRemoval: Bool = false, onProgress: (@Sendable (Int64) -> Void)? = nil
    ) async throws(BlobError) -> BlobUploadResponse {
        var request = self.base
        (request.method, request.url, request.isRemoval) = (method, url, isRemoval)
        request.fields.removeAll { $0.name.lowercased() == "content-type" }
        request.fields += fields.map { BlobHTTPField($0, $1) }
        if let onProgress { request.onProgress = { sent, _ in onProgress(sent) } }
        return try await self.uploader.upload(source, with: request, matching: validator, context: self.context)
    }

    /// Returns the URL of the upload that a response names.
    func location(in response: BlobUploadResponse) throws(BlobError) -> String {
        guard let location = response.head.location, !location.isEmpty,
            let url = try? TransferURL(response.url).resolving(location)
        else { throw self.failure("The server answered a creation without the URL of the upload.") }
        guard url.origin == self.origin else {
            throw self.failure(
                "The server placed the upload on another server, \(url), which is not followed.")
        }
        return url.text
    }

    /// Returns true for a URL that has the origin of this one.
    func isOwn(_ url: String) -> Bool { (try? TransferURL(url))?.origin == self.origin }

    /// Returns the number of bytes of an upload that a response tells.
    func offset(in response: BlobUploadResponse, _ byteCount: Int64) throws(BlobError) -> Int64 {
        guard let offset = response.value(of: "upload-offset").flatMap({ Int64($0) }), (0...byteCount).contains(offset)
        else { throw self.failure("The server answered without an offset from 0 to \(byteCount).") }
        return offset
    }

    /// Checks the length that a response tells, if it does.
    func checkLength(in response: BlobUploadResponse, _ byteCount: Int64) throws(BlobError) {
        guard response.value(of: "upload-length").map({ Int64($0) == byteCount }) ?? true else {
            throw self.failure("The upload on the server does not have the \(byteCount) bytes of the source.")
        }
    }

    func failure(_ message: String, _ code: BlobError.Code = .corrupted) -> BlobError {
        BlobError(code, message, operation: "write", locator: self.base.printableURL, isTransient: false)
    }
}
