import BlobCore
import BlobPlatform

/// The requests of the protocol tus 1.0.0 (https://tus.io/protocols/resumable-upload).
struct TusClient: ResumableClient {
    private static let version = ("Tus-Resumable", "1.0.0")

    private let requests: ResumableRequests

    init(_ requests: ResumableRequests) { self.requests = requests }

    func create(
        _ byteCount: Int64, _ metadata: ResumableMetadata
    ) async throws(BlobError) -> (location: String, version: String?) {
        let fields = [("Upload-Length", String(byteCount)), Self.field(metadata)]
        return (try await self.create(fields), nil)
    }

    func createPart(_ byteCount: Int64) async throws(BlobError) -> String {
        let location = try await self.create([("Upload-Length", String(byteCount)), ("Upload-Concat", "partial")])
        // A server that does not know parts has created an upload of its own.
        guard try await self.state(of: location).value(of: "upload-concat") == "partial" else {
            try? await self.remove(location)
            throw self.requests.failure("The server does not join parts of uploads.", .unsupported)
        }
        return location
    }

    func join(_ parts: [String], _ metadata: ResumableMetadata) async throws(BlobError) -> String {
        try await self.create([("Upload-Concat", "final;" + parts.joined(separator: " ")), Self.field(metadata)])
    }

    func remove(_ location: String) async throws(BlobError) {
        _ = try await self.requests.send(.head, location, [Self.version], isRemoval: true)
    }

    func offset(
        of location: String, _ byteCount: Int64, _ version: String?
    ) async throws(BlobError) -> ResumableOffset {
        let response = try await self.state(of: location)
        let offset = try self.requests.offset(in: response, byteCount)
        try self.requests.checkLength(in: response, byteCount)
        return ResumableOffset(offset, isComplete: offset == byteCount)
    }

    func append(
        _ source: any BlobInputStreamDataSource, from offset: Int64, _ byteCount: Int64,
        matching validator: BlobValidator, to location: String, _ version: String?,
        onProgress: @escaping @Sendable (Int64) -> Void
    ) async throws(BlobError) -> ResumableOffset {
        // Nothing is missing of an upload without bytes.
        guard byteCount > 0 else { return ResumableOffset(0, isComplete: true) }
        let response = try await self.requests.send(
            .patch, location,
            [
                Self.version, ("Upload-Offset", String(offset)),
                ("Content-Type", "application/offset+octet-stream"),
            ], body: source, matching: validator, onProgress: onProgress)
        let end = try self.requests.offset(in: response, byteCount)
        // Asking again would not help, and never end.
        guard end > offset else {
            throw self.requests.failure("The server accepted bytes and took none, at \(offset).")
        }
        return ResumableOffset(end, isComplete: end == byteCount)
    }

    private func create(_ fields: [(String, String)]) async throws(BlobError) -> String {
        let response = try await self.requests.send(.post, self.requests.base.url, [Self.version] + fields)
        return try self.requests.location(in: response)
    }

    private func state(of location: String) async throws(BlobError) -> BlobUploadResponse {
        try await self.requests.send(.head, location, [Self.version])
    }

    private static func field(_ metadata: ResumableMetadata) -> (String, String) {
        let pairs = [("filename", metadata.name), ("filetype", metadata.mediaType)]
        return ("Upload-Metadata", pairs.map { "\($0) \(Data($1.utf8).base64EncodedString())" }.joined(separator: ","))
    }
}
