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
    var isComplete = false

    init(_ offset: Int64, isComplete: Bool = false) { (self.offset, self.isComplete) = (offset, isComplete) }
}

/// The requests of a protocol for resumable uploads.
protocol ResumableClient: Sendable {
    /// Creates an upload without bytes.
    ///
    /// - Returns: Its URL, and the version of the protocol for further requests, if it has several.
    func create(
        _ byteCount: Int64, _ metadata: ResumableMetadata
    ) async throws(BlobError) -> (location: String, version: String?)

    /// Creates an upload of a part without bytes, and returns its URL.
    func createPart(_ byteCount: Int64) async throws(BlobError) -> String

    /// Makes an upload of parts, in their order, and returns its URL.
    func join(_ parts: [String], _ metadata: ResumableMetadata) async throws(BlobError) -> String

    /// Removes an upload from the server.
    func remove(_ location: String) async throws(BlobError)

    /// Asks for the state of an upload.
    ///
    /// - Throws: ``BlobError/Code/corrupted`` for an answer without it, or with another length.
    func offset(
        of location: String, _ byteCount: Int64, _ version: String?
    ) async throws(BlobError) -> ResumableOffset

    /// Sends the rest of an upload, from `offset` on.
    func append(
        _ source: any BlobInputStreamDataSource, from offset: Int64, _ byteCount: Int64,
        matching validator: BlobValidator, to location: String, _ version: String?,
        onProgress: @escaping @Sendable (Int64) -> Void
    ) async throws(BlobError) -> ResumableOffset
}

extension ResumableClient {
    func createPart(_ byteCount: Int64) async throws(BlobError) -> String { throw Self.noParts }

    func join(_ parts: [String], _ metadata: ResumableMetadata) async throws(BlobError) -> String {
        throw Self.noParts
    }

    private static var noParts: BlobError {
        BlobError(.unsupported, "This protocol has no uploads of parts.", operation: "write")
    }
}
