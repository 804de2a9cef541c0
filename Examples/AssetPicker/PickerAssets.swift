#if Receiver && Photos
import Foundation

/// Lists a catalogue in pages, and provides its thumbnails.
actor PickerAssets {
    /// A part of the list that begins at an index.
    struct Page: Codable, Sendable {
        /// The total number of assets.
        let total: Int
        let assets: [PickerAsset]
    }

    /// The maximum number of assets on a page, which has about 100 KB of JSON.
    static let pageCount = 500

    private let catalogue: any PickerCatalogue
    private let types: [Substring]
    private let work = BlockingWork()
    private var assets: [PickerAsset] = []
    private var indices: [String: Int] = [:]

    /// - Parameter types: Media types, separated by commas. The type or the subtype may be `*`.
    init(_ catalogue: any PickerCatalogue, types: String) {
        self.catalogue = catalogue
        self.types = types.lowercased().split(separator: ",")
    }

    /// Returns the page that begins at an index. Requesting the first page lists the catalogue again.
    func page(from index: Int) async throws -> Page {
        if index == 0 || self.assets.isEmpty { try await self.loadAssets() }
        let assets = self.assets.dropFirst(max(0, index)).prefix(Self.pageCount)
        return Page(total: self.assets.count, assets: Array(assets))
    }

    /// Returns the assets with these identifiers; nil if any of them is not in the list.
    func assets(_ ids: [String]) async throws -> [PickerAsset]? {
        if self.assets.isEmpty { try await self.loadAssets() }
        let indices = ids.compactMap { self.indices[$0] }
        return indices.count == ids.count ? indices.map { self.assets[$0] } : nil
    }

    nonisolated func thumbnail(of id: String) async throws -> Data {
        try await self.work.value { [catalogue] in try catalogue.thumbnail(of: id) }
    }

    private func loadAssets() async throws {
        let all = try await self.work.value { [catalogue] in try catalogue.assets() }
        self.assets = all.filter { self.offers($0.mediaType ?? "application/octet-stream") }
        self.indices = [:]
        for (index, asset) in self.assets.enumerated() { self.indices[asset.id] = index }
    }

    private func offers(_ type: String) -> Bool {
        let parts = type.lowercased().split(separator: "/")
        return self.types.contains { wanted in
            let wanted = wanted.split(separator: "/")
            return wanted.count == parts.count && zip(wanted, parts).allSatisfy { $0 == "*" || $0 == $1 }
        }
    }
}

/// Runs blocking work on one thread per processor, because the threads of tasks must not block.
struct BlockingWork: Sendable {
    private let queue = OperationQueue()

    init() { self.queue.maxConcurrentOperationCount = ProcessInfo.processInfo.activeProcessorCount }

    func value<Value: Sendable>(_ job: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            self.queue.addOperation { continuation.resume(with: Result { try job() }) }
        }
    }
}
#endif
