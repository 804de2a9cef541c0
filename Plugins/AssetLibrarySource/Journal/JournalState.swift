import Foundation

/// The assets, adjustments and albums after all entries of a journal, or of its end.
struct JournalState {
    /// True when the entries are those of the whole journal.
    private(set) var isWhole: Bool
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
    /// The assets that were removed from plain albums, by name; some may have been added again after it.
    private(set) var unlisted: [String: Set<UUID>] = [:]
    /// The number of lines that were skipped.
    private(set) var skippedLineCount = 0

    private var added = Series<UUID, JournalAsset>()
    private var listed: [String: Series<UUID, UUID>] = [:]

    init(_ journal: LibraryJournal, from byteOffset: Int64 = 0, upTo end: Int64 = .max) throws {
        self.isWhole = byteOffset == 0
        var state = self
        state.skippedLineCount = try journal.forEachEntry(from: byteOffset, upTo: end) { state.apply($0) }
        state.assets = state.added.values.map { asset in
            var asset = asset
            asset.path = state.paths[asset.sha256] ?? asset.path
            return asset
        }
        self = state
    }

    /// The assets that were added to plain albums, in this order, by name.
    var lists: [String: [UUID]] { self.listed.mapValues(\.values) }

    private mutating func apply(_ entry: JournalEntry) {
        switch entry {
        case .begun: break
        case .added(let asset):
            self.added.set(asset, for: asset.id)
            self.removed.remove(asset.id)
        case .moved(let sha256, let path): self.paths[sha256] = path
        case .removed(let id):
            self.added.remove(id)
            self.adjustments[id] = nil
            self.removed.insert(id)
            for name in Array(self.listed.keys) { self.listed[name]?.remove(id) }
        case .adjusted(let adjustment): self.adjustments[adjustment.id] = adjustment
        case .albumMade(let album): self.albums.append(album)
        case .albumRemoved(let album):
            self.albums.removeAll { $0 == album }
            (self.listed[album.name], self.unlisted[album.name]) = (nil, nil)
            self.removedAlbums.insert(album)
        case .listed(let id, let name):
            self.listed[name, default: Series()].set(id, for: id)
        case .unlisted(let id, let name):
            self.listed[name]?.remove(id)
            self.unlisted[name, default: []].insert(id)
        }
    }
}

/// Values in the order in which their keys were added.
private struct Series<Key: Hashable, Value> {
    private var places: [Key: Int] = [:]
    /// Nil at the places of those that were removed.
    private var slots: [Value?] = []

    /// Replaces the value of a key that is there, in its place.
    mutating func set(_ value: Value, for key: Key) {
        if let place = self.places[key] {
            self.slots[place] = value
        } else {
            self.places[key] = self.slots.count
            self.slots.append(value)
        }
    }

    mutating func remove(_ key: Key) {
        if let place = self.places.removeValue(forKey: key) { self.slots[place] = nil }
    }

    var values: [Value] { self.slots.compactMap(\.self) }
}
