import BlobCore
import BlobPlatform

/// A protocol for resumable uploads.
public enum ResumableProtocol: String, Codable, Sendable {
    /// The protocol tus 1.0.0 (https://tus.io/protocols/resumable-upload).
    case tus
    /// The draft "Resumable Uploads for HTTP" (draft-ietf-httpbis-resumable-upload), interop version 8 or 6.
    case draft
}

/// The facts about a source that its upload is created with.
struct ResumableMetadata: Sendable {
    let name: String
    let mediaType: String
}

/// The state of an upload on the server.
struct ResumableOffset: Sendable {
    /// The number of bytes that the server has.
    let offset: Int64
    /// True once the server needs no further request.
    let isComplete: Bool
}

/// The requests of resumable uploads, and the checks of their answers.
struct ResumableRequests: Sendable {
    /// The interop versions of the draft that are tried. Between drafts 4 and 11, they differ in nothing that is used
    /// here.
    private static let versions = ["8", "6"]

    private static let versionName = "Upload-Draft-Interop-Version"

    /// The characters of a file name that need no encoding (RFC 8187, section 3.2.1).
    private static let attributeCharacters = PercentEncoding.pathCharacters.subtracting("'()*,;=:@/".utf8)

    private let wire: ResumableProtocol
    private let uploader: BlobUploader
    /// The request that creates the upload: its URL, its limits, and the fields that all requests have.
    private var base: BlobUploadRequest
    /// The origin of the URL, which alone gets the fields and the credentials.
    private let origin: TransferURL.Origin
    private let context: BlobContext

    /// - Throws: ``BlobError/Code/invalidArgument`` and ``BlobError/Code/invalidLocator`` for a request that is not
    ///   valid, ``BlobError/Code/unavailable`` without libcurl.
    init(_ wire: ResumableProtocol, _ base: BlobUploadRequest, _ context: BlobContext) throws(BlobError) {
        try base.validate()
        (self.wire, self.uploader, self.base, self.context) = (wire, try BlobUploader(), base, context)
        let url = try TransferURL(base.url)
        // URLs of the server have none.
        self.base.settings.credentials = base.settings.credentials ?? url.credentials
        self.origin = url.origin
    }

    /// Returns true for a URL that has the origin of the upload.
    func isOwn(_ url: String) -> Bool { (try? TransferURL(url))?.origin == self.origin }

    // MARK: Requests

    /// Creates an upload without bytes.
    ///
    /// - Returns: Its URL, and the version of the protocol for further requests, if it has several.
    func create(
        _ byteCount: Int64, _ metadata: ResumableMetadata
    ) async throws(BlobError) -> (location: String, version: String?) {
        let length = ("Upload-Length", String(byteCount))
        guard self.wire == .draft else { return (try await self.create([length, Self.field(metadata)]), nil) }
        let name = PercentEncoding.encode(metadata.name.utf8, leaving: Self.attributeCharacters)
        let fields = [
            Self.isLast(false), length, ("Content-Type", metadata.mediaType),
            ("Content-Disposition", "inline; filename*=UTF-8''\(name)"),
        ]
        for version in Self.versions.dropLast() {
            do throws(BlobError) {
                return (try await self.create(fields, version), version)
            } catch {
                // A server that does not know the version answers 400, or names another one.
                guard let response = (error.cause as? BlobUploadRefusal)?.response,
                    response.status == 400 || response.value(of: Self.versionName).map({ $0 != version }) ?? false
                else { throw error }
            }
        }
        return (try await self.create(fields, Self.versions.last), Self.versions.last)
    }

    /// Creates an upload of a part without bytes, by tus, and returns its URL.
    func createPart(_ byteCount: Int64) async throws(BlobError) -> String {
        let location = try await self.create([("Upload-Length", String(byteCount)), ("Upload-Concat", "partial")])
        // A server that does not know parts has created an upload of its own.
        guard try await self.send(.head, location).value(of: "upload-concat") == "partial" else {
            try? await self.remove(location)
            throw self.failure("The server does not join parts of uploads.", .unsupported)
        }
        return location
    }

    /// Makes an upload of parts, in their order, by tus, and returns its URL.
    func join(_ parts: [String], _ metadata: ResumableMetadata) async throws(BlobError) -> String {
        try await self.create([("Upload-Concat", "final;" + parts.joined(separator: " ")), Self.field(metadata)])
    }

    /// Removes an upload from the server.
    func remove(_ location: String) async throws(BlobError) {
        _ = try await self.send(.head, location, isRemoval: true)
    }

    /// Asks for the state of an upload.
    ///
    /// - Throws: ``BlobError/Code/corrupted`` for an answer without it, or with another length.
    func offset(
        of location: String, _ byteCount: Int64, _ version: String?
    ) async throws(BlobError) -> ResumableOffset {
        let response = try await self.send(.head, location, version: version)
        let offset = try self.offset(in: response, byteCount)
        guard response.value(of: "upload-length").map({ Int64($0) == byteCount }) ?? true else {
            throw self.failure("The upload on the server does not have the \(byteCount) bytes of the source.")
        }
        guard self.wire == .draft else { return ResumableOffset(offset: offset, isComplete: offset == byteCount) }
        let isComplete = response.value(of: "upload-complete") == "?1"
        guard !isComplete || offset == byteCount else {
            throw self.failure("The server completed the upload after \(offset) of \(byteCount) bytes.")
        }
        return ResumableOffset(offset: offset, isComplete: isComplete)
    }

    /// Sends the rest of an upload, from `offset` on.
    func append(
        _ source: any BlobInputStreamDataSource, from offset: Int64, _ byteCount: Int64,
        matching validator: BlobValidator, to location: String, _ version: String?,
        onProgress: @escaping @Sendable (Int64) -> Void
    ) async throws(BlobError) -> ResumableOffset {
        let isDraft = self.wire == .draft
        // Nothing is missing of an upload by tus without bytes.
        guard byteCount > 0 || isDraft else { return ResumableOffset(offset: 0, isComplete: true) }
        let type = isDraft ? "application/partial-upload" : "application/offset+octet-stream"
        let fields = [("Upload-Offset", String(offset)), ("Content-Type", type)] + (isDraft ? [Self.isLast(true)] : [])
        let response = try await self.send(
            .patch, location, fields, version: version, body: source, matching: validator, onProgress: onProgress)
        guard !isDraft else {
            // A success means the whole upload, unless the server says otherwise.
            guard response.value(of: "upload-complete") == "?0" else {
                return ResumableOffset(offset: byteCount, isComplete: true)
            }
            throw self.failure("The server has all \(byteCount) bytes, and does not complete the upload.")
        }
        let end = try self.offset(in: response, byteCount)
        // Asking again would not help, and never end.
        guard end > offset else { throw self.failure("The server accepted bytes and took none, at \(offset).") }
        return ResumableOffset(offset: end, isComplete: end == byteCount)
    }

    /// Makes a request that creates an upload, and returns the URL that the answer names.
    private func create(_ fields: [(String, String)], _ version: String? = nil) async throws(BlobError) -> String {
        let response = try await self.send(.post, self.base.url, fields, version: version)
        guard let location = response.head.location, !location.isEmpty,
            let url = try? TransferURL(response.url).resolving(location)
        else { throw self.failure("The server answered a creation without the URL of the upload.") }
        guard url.origin == self.origin else {
            throw self.failure("The server placed the upload on another server, \(url), which is not followed.")
        }
        return url.text
    }

    /// Makes a request; `Content-Type` is one of `fields`, or none.
    private func send(
        _ method: BlobUploadRequest.Method, _ url: String, _ fields: [(String, String)] = [], version: String? = nil,
        body source: any BlobInputStreamDataSource = MemorySource([]), matching validator: BlobValidator? = nil,
        isRemoval: Bool = false, onProgress: (@Sendable (Int64) -> Void)? = nil
    ) async throws(BlobError) -> BlobUploadResponse {
        var request = self.base
        (request.method, request.url, request.isRemoval) = (method, url, isRemoval)
        request.fields.removeAll { $0.name.lowercased() == "content-type" }
        if self.wire == .tus { request.fields.append(BlobHTTPField("Tus-Resumable", "1.0.0")) }
        if let version { request.fields.append(BlobHTTPField(Self.versionName, version)) }
        request.fields += fields.map { BlobHTTPField($0, $1) }
        if let onProgress { request.onProgress = { sent, _ in onProgress(sent) } }
        return try await self.uploader.upload(source, with: request, matching: validator, context: self.context)
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
        else { throw self.failure("The server answered without an offset from 0 to \(byteCount).") }
        return offset
    }

    private func failure(_ message: String, _ code: BlobError.Code = .corrupted) -> BlobError {
        BlobError(code, message, operation: "write", locator: self.base.printableURL, isTransient: false)
    }
}
