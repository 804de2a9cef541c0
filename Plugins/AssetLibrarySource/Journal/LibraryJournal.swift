#if Photos
import BlobCore
import Foundation

/// The journal of a library: a text file beside the catalogue, from which the catalogue can be rebuilt.
///
/// A transaction of the catalogue appends its lines and synchronises them before its commit, under SQLite's lock for
/// writers, and stores the length of the journal in the catalogue. If the journal is longer, it therefore ends with
/// lines of a commit that did not happen, or is newer than the catalogue. The first line contains the identity of the
/// journal, which the catalogue also stores, because a length alone does not distinguish this journal from an earlier
/// one.
///
/// A rewritten journal begins with the removals in its predecessor, for catalogues that are older than these removals.
struct LibraryJournal: Sendable {
    /// The name of a journal while it is being rewritten.
    private static let newName = "journal.jsonl.new"
    /// The maximum length of a line in bytes; longer lines are skipped. File names have at most a few hundred bytes.
    private static let maximumLineByteCount = 1 << 20

    /// The maximum number of former journals that a journal lists, because it may be rewritten several times before a
    /// commit is looked up.
    private static let maximumFormerPlaceCount = 8
    /// The maximum length of the first line in bytes.
    private static let maximumFirstLineByteCount = 4096

    private let folderPath: String
    private var path: String { "\(self.folderPath)/\(LibraryFolder.journal)" }

    init(_ folder: LibraryFolder) { self.folderPath = folder.path }

    /// The length in bytes; 0 if the journal does not exist.
    var byteCount: Int64 { FileStatus(at: self.path)?.byteCount ?? 0 }

    /// The identity and the length of the journal; nil and 0 if it does not exist.
    var place: JournalPlace {
        guard let file = try? OriginalFile(self.path) else { return JournalPlace(byteCount: self.byteCount) }
        return JournalPlace(byteCount: file.snapshot.byteCount, id: Self.beginning(file)?.id)
    }

    /// Returns the first line; nil if the journal is damaged or of an older version.
    private static func beginning(_ file: OriginalFile) -> (id: UUID, after: [JournalPlace])? {
        let line = ((try? file.prefix(self.maximumFirstLineByteCount)) ?? []).prefix { $0 != UInt8(ascii: "\n") }
        guard case .begun(let id, let places)? = JournalEntry(line: line) else { return nil }
        return (id, places)
    }

    /// Returns true if `stored` can come after `place`: as a later end of the same journal, or as an end of a journal
    /// that was rewritten from it.
    func follows(_ stored: JournalPlace, _ place: JournalPlace) -> Bool {
        if stored.id == place.id { return stored.byteCount >= place.byteCount }
        guard let file = try? OriginalFile(self.path), let (id, former) = Self.beginning(file) else {
            return false
        }
        let ids = [id] + former.map(\.id)
        guard let index = ids.firstIndex(of: stored.id) else { return false }
        return former[index...].contains { $0.id == place.id && $0.byteCount >= place.byteCount }
    }

    /// Removes the bytes after a length.
    func truncate(to byteCount: Int64) throws(BlobError) {
        let file = try Folder(self.folderPath).openFile(named: LibraryFolder.journal, O_RDWR)
        guard retryingOnInterrupt({ ftruncate(file.rawValue, off_t(byteCount)) }) == 0 else {
            throw BlobError(systemError: errno, doing: "Could not truncate the journal of the library")
        }
        try file.synchronise(doing: "Could not synchronise \(LibraryFolder.journal)")
    }

    /// Appends lines, after terminating an incomplete last line; the lines survive a power failure once this method has
    /// returned.
    ///
    /// - Returns: The new end of the journal.
    func append(_ entries: [JournalEntry]) throws -> JournalPlace {
        let folder = try Folder(self.folderPath)
        let file = try folder.openFile(named: LibraryFolder.journal, O_RDWR | O_APPEND | O_CREAT)
        let end = try file.status(named: LibraryFolder.journal).byteCount
        let last = try end > 0 ? file.bytes(at: end - 1, count: 1, named: LibraryFolder.journal) : []
        let newline = [UInt8(ascii: "\n")]
        let torn = last.isEmpty || last == newline ? [] : newline
        let begun = end == 0 ? [JournalEntry.begun(UUID(), after: [])] : []
        let lines = try (begun + entries).reduce(into: torn) { $0 += try $1.line() }
        try writeAll(lines, to: file.rawValue, named: LibraryFolder.journal)
        try file.synchronise(doing: "Could not synchronise \(LibraryFolder.journal)")
        if end == 0 { try folder.synchronise() }
        return JournalPlace(byteCount: end + Int64(lines.count), id: self.place.id)
    }

    /// Rewrites the journal, replacing the existing one.
    ///
    /// - Parameters:
    ///   - known: The end that is stored in the catalogue.
    ///   - write: A closure that calls its argument with each entry.
    /// - Returns: The end of the new journal.
    func replace(
        after known: JournalPlace, _ write: ((JournalEntry) throws -> Void) throws -> Void
    ) throws -> JournalPlace {
        let folder = try Folder(self.folderPath)
        try folder.removeFile(named: Self.newName)
        let file = try folder.openFile(named: Self.newName, Folder.creationFlags)
        var byteCount: Int64 = 0
        let append = { (entry: JournalEntry) in
            let line = try entry.line()
            try writeAll(line, to: file.rawValue, named: Self.newName)
            byteCount += Int64(line.count)
        }
        let id = UUID()
        var former = Array(self.formerPlaces.prefix(Self.maximumFormerPlaceCount))
        if !former.contains(where: { $0.id == known.id }) { former.append(known) }
        try append(.begun(id, after: former))
        try write(append)
        try file.synchronise(doing: "Could not synchronise \(LibraryFolder.journal)")
        try folder.replaceFile(named: LibraryFolder.journal, by: Self.newName)
        return JournalPlace(byteCount: byteCount, id: id)
    }

    /// The end of the journal, and the ends of the former journals that it lists.
    private var formerPlaces: [JournalPlace] {
        guard let file = try? OriginalFile(self.path) else { return [] }
        let begun = Self.beginning(file)
        return [JournalPlace(byteCount: file.snapshot.byteCount, id: begun?.id)] + (begun?.after ?? [])
    }

    /// Calls `body` with each entry in a range of offsets; skips torn or damaged lines.
    ///
    /// - Returns: The number of skipped lines.
    @discardableResult
    func forEachEntry(
        from byteOffset: Int64 = 0, upTo end: Int64 = .max, _ body: (JournalEntry) throws -> Void
    ) throws -> Int {
        guard self.byteCount > 0 else { return 0 }
        let file = try OriginalFile(self.path)
        defer { file.close() }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.maximumLineByteCount, alignment: 16)
        defer { buffer.deallocate() }
        var (offset, kept, skippedCount, isInLongLine) = (byteOffset, 0, 0, false)
        while true {
            let room = UnsafeMutableRawBufferPointer(
                rebasing: buffer[kept...].prefix(Int(clamping: max(0, end - offset))))
            let count = try file.read(into: room, at: offset)
            guard count > 0 else { return skippedCount + (kept > 0 || isInLongLine ? 1 : 0) }
            offset += Int64(count)
            var rest = buffer[..<(kept + count)]
            while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                let entry = isInLongLine ? nil : JournalEntry(line: Array(rest[..<end]))
                isInLongLine = false
                if let entry { try body(entry) } else { skippedCount += 1 }
                rest = rest[(end + 1)...]
            }
            if rest.count == buffer.count { (rest, isInLongLine) = (buffer[..<0], true) }
            kept = rest.count
            buffer.copyBytes(from: Array(rest))
        }
    }
}

/// An end of a journal, which the catalogue stores with each commit.
struct JournalPlace: Codable, Equatable {
    /// The length in bytes, at least 0.
    var byteCount: Int64
    /// The identity of the journal; nil in older versions.
    var id: UUID?
}

extension LibraryJournal {
    /// Returns the facts about an asset from its last addition, even if it was removed later; nil if not found.
    func addition(of id: UUID, sha256: String) throws -> JournalAsset? {
        var found: JournalAsset?
        try self.forEachEntry { entry in
            if case .added(let asset) = entry, asset.id == id, asset.sha256 == sha256 { found = asset }
        }
        return found
    }
}

/// The assets, adjustments and albums that result from all entries of a journal, or from the entries after an offset.
struct JournalState {
    /// True if the entries are the whole journal.
    private(set) var isWhole: Bool
    /// The assets and items of shared streams, in the order in which they were added.
    private(set) var assets: [JournalAsset] = []
    /// The assets that were removed, regardless of where they were added.
    private(set) var removedAssetIDs: Set<UUID> = []
    /// The new paths of originals, by SHA-256.
    private(set) var paths: [String: String] = [:]
    /// The last descriptions of adjustments, by asset.
    private(set) var adjustments: [UUID: JournalAdjustment] = [:]
    /// The albums that were removed, regardless of where they were created.
    private(set) var removedAlbums: Set<JournalAlbum> = []
    /// The albums, in order of creation.
    private(set) var albums: [JournalAlbum] = []
    /// The assets that were removed from plain albums, by the name of the album; some may have been added again later.
    private(set) var removedAlbumEntries: [String: Set<UUID>] = [:]
    /// The number of skipped lines.
    private(set) var skippedLineCount = 0

    private var addedAssets = Series<UUID, JournalAsset>()
    private var seriesOfAlbums: [String: Series<UUID, UUID>] = [:]

    init(_ journal: LibraryJournal, from byteOffset: Int64 = 0, upTo end: Int64 = .max) throws {
        self.isWhole = byteOffset == 0
        var state = self
        state.skippedLineCount = try journal.forEachEntry(from: byteOffset, upTo: end) { state.apply($0) }
        state.assets = state.addedAssets.values.map { asset in
            var asset = asset
            asset.path = state.paths[asset.sha256] ?? asset.path
            return asset
        }
        self = state
    }

    /// The assets that were added to each plain album, in the order in which they were added, keyed by the name of the
    /// album.
    var albumEntries: [String: [UUID]] { self.seriesOfAlbums.mapValues(\.values) }

    private mutating func apply(_ entry: JournalEntry) {
        switch entry {
        case .begun: break
        case .added(let asset):
            self.addedAssets.set(asset, for: asset.id)
            self.removedAssetIDs.remove(asset.id)
        case .moved(let sha256, let path): self.paths[sha256] = path
        case .removed(let id):
            self.addedAssets.remove(id)
            self.adjustments[id] = nil
            self.removedAssetIDs.insert(id)
            for name in Array(self.seriesOfAlbums.keys) { self.seriesOfAlbums[name]?.remove(id) }
        case .adjusted(let adjustment): self.adjustments[adjustment.id] = adjustment
        case .albumMade(let album): self.albums.append(album)
        case .albumRemoved(let album):
            self.albums.removeAll { $0 == album }
            (self.seriesOfAlbums[album.name], self.removedAlbumEntries[album.name]) = (nil, nil)
            self.removedAlbums.insert(album)
        case .listed(let id, let name):
            self.seriesOfAlbums[name, default: Series()].set(id, for: id)
        case .unlisted(let id, let name):
            self.seriesOfAlbums[name]?.remove(id)
            self.removedAlbumEntries[name, default: []].insert(id)
        }
    }
}

/// A collection of values in the order in which their keys were added.
private struct Series<Key: Hashable, Value> {
    private var places: [Key: Int] = [:]
    /// The values, with nil for removed values.
    private var slots: [Value?] = []

    /// Replaces the value of an existing key without changing its position.
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
#endif
