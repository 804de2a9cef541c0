#if Receiver && Photos
import BlobReceiving
import BlobStreamsStandard
import Foundation

/// Responds to the requests of the page.
struct PickerRoutes: Sendable {
    /// The time after which a page that waits for a change must send another request.
    private static let maximumWait = Duration.seconds(20)

    /// The time in seconds for which the browser caches a thumbnail.
    private static let thumbnailAge = 3600

    private let assets: PickerAssets
    private let uploads: PickerUploads
    private let maximumSelectionCount: Int

    init(_ assets: PickerAssets, _ uploads: PickerUploads, limit: Int) {
        (self.assets, self.uploads, self.maximumSelectionCount) = (assets, uploads, limit)
    }

    /// Responds to a request. An error becomes a status and a text.
    ///
    /// - Parameter path: The path that follows the token, and the query.
    func response(to method: String, _ path: Substring, _ body: Data) async -> RequestAnswer {
        do {
            return try await self.throwingResponse(to: method, path, body)
        } catch {
            return Self.text(500, (error as? BlobError)?.message ?? "\(error)")
        }
    }

    private func throwingResponse(to method: String, _ path: Substring, _ body: Data) async throws -> RequestAnswer {
        let parts = path.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let query = parts.count > 1 ? parts[1] : ""
        switch (method, parts[0]) {
        case ("GET", ""): return Self.file("text/html", PackageResources.index_html)
        case ("GET", "picker.js"): return Self.file("text/javascript", PackageResources.picker_js)
        case ("GET", "uploads.js"): return Self.file("text/javascript", PackageResources.uploads_js)
        case ("GET", "picker.css"): return Self.file("text/css", PackageResources.picker_css)
        case ("GET", "assets"):
            guard let index = Self.number("from", in: query) else { return Self.text(400, "Expected from=INDEX.") }
            let page = try await self.assets.page(from: index)
            return try Self.json(
                AssetsAnswer(limit: self.maximumSelectionCount, total: page.total, assets: page.assets))
        case ("GET", "thumbnails"):
            guard let id = query.removingPercentEncoding else { return Self.text(400, "thumbnails?ID") }
            return await self.thumbnail(of: id)
        case ("GET", "uploads"):
            guard let version = Self.number("after", in: query) else { return Self.text(400, "after=VERSION") }
            let queue = await self.uploads.queue(after: version, within: Self.maximumWait)
            return try Self.json(UploadsAnswer(version: queue.version, uploads: queue.items))
        case ("POST", "uploads"): return try await self.add(body)
        case ("DELETE", "uploads"):
            guard let id = query.removingPercentEncoding else { return Self.text(400, "uploads?ID") }
            if id.isEmpty { try await self.uploads.clear() } else { try await self.uploads.remove(id) }
            return Self.text(202)
        case (_, "uploads"), (_, "assets"), (_, "thumbnails"), (_, ""): return Self.text(405, "Method not allowed.")
        default: return Self.text(404, "No such page.")
        }
    }

    private func add(_ body: Data) async throws -> RequestAnswer {
        guard let ids = try? JSONDecoder().decode([String].self, from: body), !ids.isEmpty else {
            return Self.text(400, "Expected an array of asset identifiers.")
        }
        guard ids.count <= self.maximumSelectionCount else {
            return Self.text(400, "At most \(self.maximumSelectionCount) assets can be chosen at once.")
        }
        guard let assets = try await self.assets.assets(ids) else {
            return Self.text(400, "One of the assets no longer exists.")
        }
        try await self.uploads.add(assets)
        return Self.text(202)
    }

    private func thumbnail(of id: String) async -> RequestAnswer {
        guard let bytes = try? await self.assets.thumbnail(of: id) else {
            return Self.text(404, "No thumbnail is available for the asset.")
        }
        let type = bytes.starts(with: [0x89]) ? "image/png" : "image/jpeg"
        return Self.answer(200, type, bytes, cachedFor: Self.thumbnailAge)
    }

    private static func text(_ status: Int, _ text: String = "") -> RequestAnswer {
        self.answer(status, "text/plain; charset=utf-8", Data(text.utf8))
    }

    private static func file(_ type: String, _ bytes: [UInt8]) -> RequestAnswer {
        self.answer(200, "\(type); charset=utf-8", Data(bytes))
    }

    private static func json(_ value: some Encodable) throws -> RequestAnswer {
        self.answer(200, "application/json", try JSONEncoder().encode(value))
    }

    private static func answer(_ status: Int, _ type: String, _ body: Data, cachedFor age: Int = 0) -> RequestAnswer {
        RequestAnswer(
            status: status, fields: PickerServer.fields(cachedFor: age) + [("Content-Type", type)],
            body: MemorySource(body), byteCount: Int64(body.count))
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
