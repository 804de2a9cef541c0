import BlobCore
import BlobPlatform

/// A protocol for resumable uploads.
public enum ResumableUploadProtocol: String, Codable, Sendable {
    /// The tus protocol, version 1.0.0 (https://tus.io/protocols/resumable-upload).
    case tus
    /// The draft "Resumable Uploads for HTTP" (draft-ietf-httpbis-resumable-upload), interop version 8 or 6.
    case draft
}

/// The facts about a source that are sent when its upload is created.
struct ResumableMetadata: Sendable {
    let name: String
    let mediaType: String
}

/// The state of an upload on the server.
struct ResumableOffset: Sendable {
    /// The number of bytes that the server has received.
    let offset: Int64
    /// True once the server needs no further request.
    let isComplete: Bool
    /// The digests of the whole content that the server states when the upload is complete.
    var digests: [BlobStatedDigest] = []
}

/// Makes the requests of resumable uploads, and checks the responses.
struct ResumableRequests: Sendable {
    /// The interop versions of the draft to try. The features used here do not differ between drafts 4 and 11.
    private static let versions = ["8", "6"]

    /// The checksum algorithms for pieces, in order of preference.
    private static let algorithms = [StatedAlgorithm.sha256, .sha512, .sha1, .md5]

    private static let versionName = "Upload-Draft-Interop-Version"

    /// The characters of a file name that do not need encoding (RFC 8187, section 3.2.1).
    private static let attributeCharacters = PercentEncoding.pathCharacters.subtracting("'()*,;=:@/".utf8)

    private let wireProtocol: ResumableUploadProtocol
    private let uploader: BlobUploader
    /// The request that creates the upload, with its URL, its limits, and the fields common to all requests.
    private var base: BlobUploadRequest
    /// The origin of the URL. The fields and the credentials are sent only there.
    private let origin: TransferURL.Origin
    private let context: BlobContext

    /// - Throws: ``BlobError/Code/invalidArgument`` or ``BlobError/Code/invalidLocator`` for an invalid request;
    ///   ``BlobError/Code/unavailable`` if libcurl is missing.
    init(_ wireProtocol: ResumableUploadProtocol, _ base: BlobUploadRequest, _ context: BlobContext) throws(BlobError) {
        try base.validate()
        (self.wireProtocol, self.uploader, self.base, self.context) = (wireProtocol, try BlobUploader(), base, context)
        let url = try TransferURL(base.url)
        // URLs from the server do not contain credentials.
        self.base.settings.credentials = base.settings.credentials ?? url.credentials
        self.origin = url.origin
    }

    /// Returns true if the URL has the upload's origin.
    func hasSameOrigin(_ url: String) -> Bool { (try? TransferURL(url))?.origin == self.origin }

    // MARK: Requests

    /// Creates an empty upload.
    ///
    /// - Returns: The URL of the upload, and the protocol version for further requests, if the protocol has several.
    func create(
        _ byteCount: Int64, _ metadata: ResumableMetadata
    ) async throws(BlobError) -> (location: String, version: String?) {
        let length = ("Upload-Length", String(byteCount))
        guard self.wireProtocol == .draft else { return (try await self.create([length, Self.field(metadata)]), nil) }
        let name = PercentEncoding.encode(metadata.name.utf8, leaving: Self.attributeCharacters)
        let fields = [
            Self.isLast(false), length, ("Content-Type", metadata.mediaType),
            ("Content-Disposition", "inline; filename*=UTF-8''\(name)"),
        ]
        for version in Self.versions.dropLast() {
            do throws(BlobError) {
                return (try await self.create(fields, version), version)
            } catch {
                // A server that does not support the version responds with 400 or names a different version.
                guard let response = (error.cause as? BlobUploadRefusal)?.response,
                    response.status == 400 || response.value(of: Self.versionName).map({ $0 != version }) ?? false
                else { throw error }
            }
        }
        return (try await self.create(fields, Self.versions.last), Self.versions.last)
    }

    /// Creates an empty upload for a part with tus, and returns its URL.
    func createPart(_ byteCount: Int64) async throws(BlobError) -> String {
        let location = try await self.create([("Upload-Length", String(byteCount)), ("Upload-Concat", "partial")])
        // A server that does not support parts has created a separate upload.
        guard try await self.send(.head, location).value(of: "upload-concat") == "partial" else {
            try? await self.remove(location)
            throw self.failure("The server does not support uploads in parts.", .unsupported)
        }
        return location
    }

    /// Joins parts, in order, into an upload with tus. Returns its URL and the digests that the server states.
    func join(
        _ parts: [String], _ metadata: ResumableMetadata
    ) async throws(BlobError) -> (location: String, digests: [BlobStatedDigest]) {
        let response = try await self.send(
            .post, self.base.url, [("Upload-Concat", "final;" + parts.joined(separator: " ")), Self.field(metadata)])
        return (try self.location(in: response), response.storedDigests())
    }

    /// Requests the checksum algorithms that a tus server supports.
    ///
    /// - Returns: The preferred algorithm; nil if the server supports none.
    func checksumAlgorithm() async throws(BlobError) -> StatedAlgorithm? {
        guard self.wireProtocol == .tus else { return nil }
        do throws(BlobError) {
            let response = try await self.send(.head, self.base.url, otherMethod: "OPTIONS")
            func words(_ name: String) -> Set<String> {
                Set((response.value(of: name) ?? "").split(separator: ",").map { $0.filter { $0 != " " } })
            }
            guard words("tus-extension").contains("checksum") else { return nil }
            let names = words("tus-checksum-algorithm")
            return Self.algorithms.first { names.contains($0.rawValue) && $0.makeHasher() != nil }
        } catch {
            guard error.cause is BlobUploadRefusal, !error.isTransient else { throw error }
            return nil
        }
    }

    /// Removes an upload from the server.
    func remove(_ location: String) async throws(BlobError) {
        _ = try await self.send(.head, location, otherMethod: "DELETE")
    }

    /// Requests the state of an upload.
    ///
    /// - Throws: ``BlobError/Code/corrupted`` for a response without a valid state or with a different length; the
    ///   errors of the request.
    func offset(
        of location: String, _ byteCount: Int64, _ version: String?
    ) async throws(BlobError) -> ResumableOffset {
        let response = try await self.send(.head, location, version: version)
        let offset = try self.offset(in: response, byteCount)
        guard response.value(of: "upload-length").map({ Int64($0) == byteCount }) ?? true else {
            throw self.failure(
                "The length of the upload on the server differs from the \(byteCount) bytes of the source.")
        }
        guard self.wireProtocol == .draft else { return Self.state(offset, offset == byteCount, response) }
        let isComplete = response.value(of: "upload-complete") == "?1"
        guard !isComplete || offset == byteCount else {
            throw self.failure("The server completed the upload after \(offset) of \(byteCount) bytes.")
        }
        return Self.state(offset, isComplete, response)
    }

    private static func state(_ offset: Int64, _ isComplete: Bool, _ response: BlobUploadResponse) -> ResumableOffset {
        ResumableOffset(
            offset: offset, isComplete: isComplete, digests: isComplete ? response.storedDigests() : [])
    }

    /// Sends the rest of an upload from `offset`, or the next piece of it.
    ///
    /// - Parameter checksum: The digest of the piece for the server to compare; nil to send no digest.
    func append(
        _ source: any BlobInputStreamDataSource, from offset: Int64, _ byteCount: Int64,
        matching validator: BlobValidator, _ checksum: BlobStatedDigest?, to location: String, _ version: String?,
        onProgress: @escaping @Sendable (Int64) -> Void
    ) async throws(BlobError) -> ResumableOffset {
        let isDraft = self.wireProtocol == .draft
        // With tus, an upload of zero bytes is complete once it has been created.
        guard byteCount > 0 || isDraft else { return ResumableOffset(offset: 0, isComplete: true) }
        let type = isDraft ? "application/partial-upload" : "application/offset+octet-stream"
        var fields = [("Upload-Offset", String(offset)), ("Content-Type", type)] + (isDraft ? [Self.isLast(true)] : [])
        if let checksum {
            fields.append(("Upload-Checksum", "\(checksum.algorithm) \(Data(checksum.value).base64EncodedString())"))
        }
        let response = try await self.send(
            .patch, location, fields, version: version, body: source, matching: validator, onProgress: onProgress)
        guard !isDraft else {
            // A success means that the upload is complete, unless the server states otherwise.
            guard response.value(of: "upload-complete") == "?0" else {
                return Self.state(byteCount, true, response)
            }
            throw self.failure("The server has all \(byteCount) bytes, but has not completed the upload.")
        }
        let end = try self.offset(in: response, byteCount)
        // Repeating the request would not help and could continue endlessly.
        guard end > offset else { throw self.failure("The server accepted bytes at offset \(offset) but stored none.") }
        return Self.state(end, end == byteCount, response)
    }

    /// Makes a request that creates an upload, and returns the URL that the response names.
    private func create(_ fields: [(String, String)], _ version: String? = nil) async throws(BlobError) -> String {
        try self.location(in: await self.send(.post, self.base.url, fields, version: version))
    }

    private func location(in response: BlobUploadResponse) throws(BlobError) -> String {
        guard let location = response.head.location, !location.isEmpty,
            let url = try? TransferURL(response.url).resolving(location)
        else {
            throw self.failure("The server's response to the creation request does not contain the URL of the upload.")
        }
        guard url.origin == self.origin else {
            throw self.failure("The server created the upload on another server (\(url)), to which nothing is sent.")
        }
        return url.text
    }

    /// Makes a request. `Content-Type` is sent only if `fields` contains it.
    private func send(
        _ method: BlobUploadRequest.Method, _ url: String, _ fields: [(String, String)] = [], version: String? = nil,
        body source: any BlobInputStreamDataSource = MemorySource([]), matching validator: BlobValidator? = nil,
        otherMethod: String? = nil, onProgress: (@Sendable (Int64) -> Void)? = nil
    ) async throws(BlobError) -> BlobUploadResponse {
        var request = self.base
        (request.method, request.url, request.otherMethod) = (method, url, otherMethod)
        request.fields.removeAll { $0.name.lowercased() == "content-type" }
        if self.wireProtocol == .tus { request.fields.append(BlobHTTPField("Tus-Resumable", "1.0.0")) }
        if let version { request.fields.append(BlobHTTPField(Self.versionName, version)) }
        request.fields += fields.map { BlobHTTPField($0, $1) }
        if let onProgress { request.onProgress = { sent, _ in onProgress(sent) } }
        return try await self.uploader.send(source, with: request, matching: validator, context: self.context)
    }

    // MARK: Fields

    private static func field(_ metadata: ResumableMetadata) -> (String, String) {
        let pairs = [("filename", metadata.name), ("filetype", metadata.mediaType)]
        return ("Upload-Metadata", pairs.map { "\($0) \(Data($1.utf8).base64EncodedString())" }.joined(separator: ","))
    }

    private static func isLast(_ isLast: Bool) -> (String, String) { ("Upload-Complete", isLast ? "?1" : "?0") }

    /// Returns the number of bytes of an upload that a response reports.
    private func offset(in response: BlobUploadResponse, _ byteCount: Int64) throws(BlobError) -> Int64 {
        guard let offset = response.value(of: "upload-offset").flatMap({ Int64($0) }), (0...byteCount).contains(offset)
        else { throw self.failure("The server's response does not contain an offset from 0 to \(byteCount).") }
        return offset
    }

    private func failure(_ message: String, _ code: BlobError.Code = .corrupted) -> BlobError {
        BlobError(code, message, operation: "write", locator: self.base.printableURL, isTransient: false)
    }
}
