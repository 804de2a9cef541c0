import BlobCore
import BlobPlatform

/// The requests of the protocol tus 1.0.0 (https://tus.io/protocols/resumable-upload).
struct TusClient {
    private static let version = BlobHTTPField("Tus-Resumable", "1.0.0")

    private let uploader: BlobUploader
    /// The request that creates the upload: its URL, its limits, and the fields that all requests have.
    private let base: BlobUploadRequest
    private let context: BlobContext

    init(_ base: BlobUploadRequest, _ context: BlobContext) throws(BlobError) {
        (self.uploader, self.base, self.context) = (try BlobUploader(), base, context)
    }

    /// Creates an upload.
    ///
    /// - Returns: Its URL.
    func create(byteCount: Int64, name: String, mediaType: String) throws(BlobError) -> String {
        let metadata = [("filename", name), ("filetype", mediaType)]
            .map { "\($0) \(Data($1.utf8).base64EncodedString())" }.joined(separator: ",")
        let response = try self.send(
            MemorySource([]), .post, self.base.url,
            [BlobHTTPField("Upload-Length", String(byteCount)), BlobHTTPField("Upload-Metadata", metadata)])
        guard let location = response.value(of: "location"), let base = URL(string: self.base.url),
            let url = URL(string: location, relativeTo: base)?.absoluteURL
        else { throw self.failure("The server answered a creation without the URL of the upload.") }
        // Elsewhere the header fields, which may be secrets, are not sent.
        guard url.scheme == base.scheme, url.host == base.host, url.port == base.port else {
            let printable = BlobUploadRequest(.head, url.absoluteString).printableURL
            throw self.failure("The server placed the upload on another server, \(printable), which is not followed.")
        }
        return url.absoluteString
    }

    /// Returns the number of bytes of an upload that the server has.
    ///
    /// - Throws: ``BlobError/Code/corrupted`` for an answer without that number, or with another length.
    func offset(of location: String, byteCount: Int64) throws(BlobError) -> Int64 {
        let response = try self.send(MemorySource([]), .head, location)
        let offset = try self.offset(in: response, byteCount)
        guard response.value(of: "upload-length").map({ Int64($0) == byteCount }) ?? true else {
            throw self.failure("The upload on the server does not have the \(byteCount) bytes of the source.")
        }
        return offset
    }

    /// Sends the bytes from `offset` on.
    ///
    /// - Returns: The number of bytes of the upload that the server has.
    func append(
        _ source: any BlobInputStreamDataSource, from offset: Int64, matching validator: BlobValidator?,
        byteCount: Int64, to location: String
    ) throws(BlobError) -> Int64 {
        let response = try self.send(
            source, matching: validator, .patch, location,
            [
                BlobHTTPField("Upload-Offset", String(offset)),
                BlobHTTPField("Content-Type", "application/offset+octet-stream"),
            ], progressFrom: offset, byteCount)
        let end = try self.offset(in: response, byteCount)
        // Asking again would not help, and never end.
        guard end > offset else { throw self.failure("The server accepted bytes and took none, at \(offset).") }
        return end
    }

    private func send(
        _ source: any BlobInputStreamDataSource, matching validator: BlobValidator? = nil,
        _ method: BlobUploadRequest.Method,
        _ url: String, _ fields: [BlobHTTPField] = [], progressFrom offset: Int64 = 0, _ byteCount: Int64 = 0
    ) throws(BlobError) -> BlobUploadResponse {
        var upload = self.base
        (upload.method, upload.url) = (method, url)
        upload.fields.removeAll { $0.name.lowercased() == "content-type" }
        upload.fields += [Self.version] + fields
        upload.onProgress = { [onProgress = self.base.onProgress] sent, _ in onProgress?(offset + sent, byteCount) }
        (upload.onAnswer, upload.maximumRetryCount) = (nil, 0)
        return try self.uploader.uploadBlocking(source, with: upload, matching: validator, context: self.context)
    }

    private func offset(in response: BlobUploadResponse, _ byteCount: Int64) throws(BlobError) -> Int64 {
        guard let offset = response.value(of: "upload-offset").flatMap({ Int64($0) }), (0...byteCount).contains(offset)
        else { throw self.failure("The server answered without an offset from 0 to \(byteCount).") }
        return offset
    }

    private func failure(_ message: String) -> BlobError {
        BlobError(
            .corrupted, message, operation: "write", locator: self.base.printableURL, isTransient: false)
    }
}
