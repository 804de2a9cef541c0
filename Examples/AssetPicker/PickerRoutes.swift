#if Receiver && Photos
import BlobStreamsStandard
import Foundation
import NIOHTTP1

/// A complete response.
struct PickerResponse: Sendable {
    var status = HTTPResponseStatus.ok
    var type = "text/plain; charset=utf-8"
    var body = Data()
    /// The number of seconds for which the browser may cache the response.
    var age = 0
}

/// Responds to the requests of the page.
struct PickerRoutes: Sendable {
    /// The time after which a page that waits for a change must send another request, less than
    /// ``RequestDeadline/timeLimit``.
    private static let maximumWait = Duration.seconds(20)

    /// The time in seconds for which the browser caches a thumbnail.
    private static let thumbnailAge = 3600

    private let session: PickerSession
    private let assets: PickerAssets
    private let uploads: PickerUploads
    private let maximumSelectionCount: Int

    init(_ session: PickerSession, _ assets: PickerAssets, _ uploads: PickerUploads, limit: Int) {
        (self.session, self.assets, self.uploads, self.maximumSelectionCount) = (session, assets, uploads, limit)
    }

    /// Responds to a request. An error becomes a status and a text.
    func response(to head: HTTPRequestHead, _ body: Data) async -> PickerResponse {
        guard self.session.admits(head) else {
            return self.refusal(.forbidden, "Only requests from the picker's page are accepted.")
        }
        guard let path = self.session.path(in: head.uri) else { return self.refusal(.notFound, "No such page.") }
        do {
            return try await self.response(to: head.method, String(path), body)
        } catch {
            return self.refusal(.internalServerError, (error as? BlobError)?.message ?? "\(error)")
        }
    }

    private func response(to method: HTTPMethod, _ path: String, _ body: Data) async throws -> PickerResponse {
        let parts = path.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let query = parts.count > 1 ? parts[1] : ""
        switch (method, parts[0]) {
        case (.GET, ""): return Self.file("text/html", PackageResources.index_html)
        case (.GET, "picker.js"): return Self.file("text/javascript", PackageResources.picker_js)
        case (.GET, "uploads.js"): return Self.file("text/javascript", PackageResources.uploads_js)
        case (.GET, "picker.css"): return Self.file("text/css", PackageResources.picker_css)
        case (.GET, "assets"):
            guard let index = Self.number("from", in: query) else {
                return self.refusal(.badRequest, "Expected from=INDEX.")
            }
            let page = try await self.assets.page(from: index)
            return try Self.json(
                AssetsAnswer(limit: self.maximumSelectionCount, total: page.total, assets: page.assets))
        case (.GET, "thumbnails"):
            guard let id = query.removingPercentEncoding else { return self.refusal(.badRequest, "thumbnails?ID") }
            return await self.thumbnail(of: id)
        case (.GET, "uploads"):
            guard let version = Self.number("after", in: query) else {
                return self.refusal(.badRequest, "after=VERSION")
            }
            let queue = await self.uploads.queue(after: version, within: Self.maximumWait)
            return try Self.json(UploadsAnswer(version: queue.version, uploads: queue.items))
        case (.POST, "uploads"): return try await self.add(body)
        case (.DELETE, "uploads"):
            guard let id = query.removingPercentEncoding else { return self.refusal(.badRequest, "uploads?ID") }
            if id.isEmpty { try await self.uploads.clear() } else { try await self.uploads.remove(id) }
            return PickerResponse(status: .accepted)
        case (_, "uploads"), (_, "assets"), (_, "thumbnails"), (_, ""):
            return self.refusal(.methodNotAllowed, "Method not allowed.")
        default: return self.refusal(.notFound, "No such page.")
        }
    }

    private func add(_ body: Data) async throws -> PickerResponse {
        guard let ids = try? JSONDecoder().decode([String].self, from: body), !ids.isEmpty else {
            return self.refusal(.badRequest, "Expected an array of asset identifiers.")
        }
        guard ids.count <= self.maximumSelectionCount else {
            return self.refusal(.badRequest, "At most \(self.maximumSelectionCount) assets can be chosen at once.")
        }
        guard let assets = try await self.assets.assets(ids) else {
            return self.refusal(.badRequest, "One of the assets no longer exists.")
        }
        try await self.uploads.add(assets)
        return PickerResponse(status: .accepted)
    }

    private func thumbnail(of id: String) async -> PickerResponse {
        guard let bytes = try? await self.assets.thumbnail(of: id) else {
            return self.refusal(.notFound, "No thumbnail is available for the asset.")
        }
        return PickerResponse(
            type: bytes.starts(with: [0x89]) ? "image/png" : "image/jpeg", body: bytes, age: Self.thumbnailAge)
    }

    private func refusal(_ status: HTTPResponseStatus, _ text: String) -> PickerResponse {
        PickerResponse(status: status, body: Data(text.utf8))
    }

    private static func file(_ type: String, _ bytes: [UInt8]) -> PickerResponse {
        PickerResponse(type: "\(type); charset=utf-8", body: Data(bytes))
    }

    private static func json(_ value: some Encodable) throws -> PickerResponse {
        PickerResponse(type: "application/json", body: try JSONEncoder().encode(value))
    }

    private static func number(_ name: String, in query: Substring) -> Int? {
        query.hasPrefix("\(name)=") ? Int(query.dropFirst(name.count + 1)) : nil
    }
}

private struct AssetsAnswer: Encodable {
    let limit: Int
    let total: Int
    let assets: [PickerAsset]
}

private struct UploadsAnswer: Encodable {
    let version: Int
    let uploads: [UploadItem]
}
#endif
