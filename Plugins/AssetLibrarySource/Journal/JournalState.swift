import Foundation

/// What a journal, or the end of one, leaves: assets, their adjustments, and albums.
struct JournalState {
    /// The assets and items of shared streams, in the order in which they were added.
    private(set) var assets: [JournalAsset] = []
    /// The assets that were removed, wherever they were added.
    private(set) var removed: Set<UUID> = []
    /// The new paths of originals, by SHA-256.
    private(set) var paths: [String: String] = [:]
    /// The last descriptions of adjustments, by asset.
    private(set) var adjustments: [UUID: JournalAdjustment] = [:]
    /// The albums that were removed, wherever they were made.
    private(set) var removedAlbums: Set<JournalAlbum> = []
    /// The albums, in the order in which they were made.
    private(set) var albums: [JournalAlbum] = []
    /// The last acts on the lists of plain albums: ``JournalEntry/listed(_:album:)`` and the opposite.
    private(set) var listings: [JournalEntry] = []
    /// The number of lines that were skipped.
    private(set) var skippedLineCount = 0

    init(_ journal: LibraryJournal, from byteOffset: Int64 = 0) throws {
        var added = Additions()
        var state = self
        state.skippedLineCount = try journal.forEachEntry(from: byteOffset) { state.apply($0, &added) }
        state.assets = added.inOrder.map { asset in
            var asset = asset
            asset.path = state.paths[asset.sha256] ?? asset.path
            return asset
        }
        self = state
    }

    private mutating func apply(_ entry: JournalEntry, _ added: inout Additions) {
        switch entry {
        case .added(let asset):
            added.add(asset)
            self.removed.remove(asset.id)
        case .moved(let sha256, let path): self.paths[sha256] = path
        case .removed(let id):
            added.remove(id)
            self.adjustments[id] = nil
            self.removed.insert(id)
        case .adjusted(let adjustment): self.adjustments[adjustment.id] = adjustment
        case .albumMade(let album): self.albums.append(album)
        case .albumRemoved(let album):
            self.albums.removeAll { $0 == album }
            self.listings.removeAll { $0.listing?.album == album.name }
            self.removedAlbums.insert(album)
        case .listed, .unlisted: self.listings.append(entry)
        }
    }
}

extension JournalEntry {
    /// The asset and the album of an act on the list of an album; nil for any other.
    fileprivate var listing: (id: UUID, album: String)? {
        switch self {
        case .listed(let id, let album), .unlisted(let id, let album): (id, album)
        default: nil
        }
    }
}

/// The assets that were added and not removed.
private struct Additions {
    private var assets: [UUID: JournalAsset] = [:]
    private var order: [UUID] = []

    mutating func add(_ asset: JournalAsset) {
        if self.assets.updateValue(asset, forKey: asset.id) == nil { self.order.append(asset.id) }
    }

    mutating func remove(_ id: UUID) { self.assets[id] = nil }

    /// One that was added again after its removal is at its first place.
    var inOrder: [JournalAsset] {
        var listed: Set<UUID> = []
        return self.order.compactMap { listed.insert($0).inserted ? self.assets[$0] : nil }
    }
}
