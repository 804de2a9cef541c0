import BlobCore
import BlobPlatform

/// The requests of the draft "Resumable Uploads for HTTP" (draft-ietf-httpbis-resumable-upload-11).
struct DraftClient: ResumableClient {
    /// The interop versions that are tried. Between drafts 4 and 11, they differ in nothing that is used here.
    private static let versions = ["8", "6"]

    private static let versionName = "Upload-Draft-Interop-Version"

    /// The characters of a file name that need no encoding (RFC 8187, section 3.2.1).
    private static let attributeCharacters = PercentEncoding.pathCharacters.subtracting("'()*,;=:@/".utf8)

    private let requests: ResumableRequests

    init(_ requests: ResumableRequests) { self.requests = requests }

    func create(
        _ byteCount: Int64, _ metadata: ResumableMetadata
    ) async throws(BlobError) -> (location: String, version: String?) {
        let name = PercentEncoding.encode(metadata.name.utf8, leaving: Self.attributeCharacters)
        let fields = [
            Self.isLast(false), ("Upload-Length", String(byteCount)), ("Content-Type", metadata.mediaType),
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

    func remove(_ location: String) async throws(BlobError) {
        _ = try await self.requests.send(.head, location, [], isRemoval: true)
    }

    func offset(
        of location: String, _ byteCount: Int64, _ version: String?
    ) async throws(BlobError) -> ResumableOffset {
        let response = try await self.requests.send(.head, location, Self.field(version))
        let offset = try self.requests.offset(in: response, byteCount)
        try self.requests.checkLength(in: response, byteCount)
        let isComplete = response.value(of: "upload-complete") == "?1"
        guard !isComplete || offset == byteCount else {
            throw self.requests.failure("The server completed the upload after \(offset) of \(byteCount) bytes.")
        }
        return ResumableOffset(offset, isComplete: isComplete)
    }

    func append(
        _ source: any BlobInputStreamDataSource, from offset: Int64, _ byteCount: Int64,
        matching validator: BlobValidator, to location: String, _ version: String?,
        onProgress: @escaping @Sendable (Int64) -> Void
    ) async throws(BlobError) -> ResumableOffset {
        let response = try await self.requests.send(
            .patch, location,
            Self.field(version) + [
                Self.isLast(true), ("Upload-Offset", String(offset)), ("Content-Type", "application/partial-upload"),
            ], body: source, matching: validator, onProgress: onProgress)
        // A success is that of the whole upload, unless the server says otherwise.
        guard response.value(of: "upload-complete") == "?0" else {
            return ResumableOffset(byteCount, isComplete: true)
        }
        throw self.requests.failure("The server has all \(byteCount) bytes, and does not complete the upload.")
    }

    private func create(_ fields: [(String, String)], _ version: String?) async throws(BlobError) -> String {
        let response = try await self.requests.send(.post, self.requests.base.url, Self.field(version) + fields)
        return try self.requests.location(in: response)
    }

    private static func field(_ version: String?) -> [(String, String)] {
        version.map { [(Self.versionName, $0)] } ?? []
    }

    private static func isLast(_ isLast: Bool) -> (String, String) { ("Upload-Complete", isLast ? "?1" : "?0") }
}
