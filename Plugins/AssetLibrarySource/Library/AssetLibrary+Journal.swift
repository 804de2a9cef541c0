#if Photos
import BlobCore
import Foundation
import GRDB

extension AssetLibrary {
    var journal: LibraryJournal { LibraryJournal(self.folder) }

    /// Performs one transaction that changes assets, and writes the changes to the journal before the commit.
    ///
    /// - Parameter body: Returns a result and the journal entries for the changes.
    /// - Throws: ``BlobError/Code/changed`` if the catalogue in the folder does not contain the commit, because it was
    ///   replaced or overwritten; errors thrown by `body`; errors from the journal and the transaction, which is then
    ///   rolled back.
    func commit<Value>(
        _ body: (Database) throws -> (value: Value, entries: [JournalEntry])
    ) throws(BlobError) -> Value {
        var lines: (start: JournalPlace, end: JournalPlace)?
        let value: Value
        do {
            value = try self.catalogue.write { db in
                try self.synchroniseWithJournal(db)
                let (value, entries) = try body(db)
                guard !entries.isEmpty else { return value }
                let start = try Catalogue.journalPlace(db)
                let end: JournalPlace
                do {
                    end = try self.journal.append(entries)
                } catch {
                    // The lines already written belong to no commit. Without a journal, there is nothing to truncate.
                    if start.byteCount > 0 { try? self.journal.truncate(to: start.byteCount) }
                    throw error
                }
                lines = (start, end)
                try Catalogue.setJournalPlace(end, db)
                return value
            }
        } catch {
            if let lines { self.removeUncommittedEntries(from: lines.start, to: lines.end) }
            throw error
        }
        if let lines { try self.catalogue.confirm(lines.end, of: self.journal) }
        return value
    }

    /// Removes the last lines of the journal if their commit did not happen, as on a full disk; otherwise the next
    /// commit would replay them.
    private func removeUncommittedEntries(from start: JournalPlace, to end: JournalPlace) {
        // Truncated under the lock for writers. Lines that cannot be removed are treated as after a crash.
        _ = try? self.catalogue.write { db in
            guard try Catalogue.journalPlace(db) == start, self.journal.place == end else { return }
            try self.journal.truncate(to: start.byteCount)
        }
    }

    /// Makes the catalogue and the journal agree.
    ///
    /// They differ after a crash between their commits, or if the catalogue has an older version, was restored from a
    /// backup, or has no journal.
    func synchroniseWithJournal() throws(BlobError) {
        let known = try self.catalogue.read(Catalogue.journalPlace)
        guard known.byteCount == 0 || known != self.journal.place else { return }
        // Compared again under the lock for writers, because another process may have been committing.
        try self.catalogue.write { db in try self.synchroniseWithJournal(db) }
    }

    func synchroniseWithJournal(_ db: Database) throws {
        let (known, found) = (try Catalogue.journalPlace(db), self.journal.place)
        guard known.byteCount == 0 || known != found else { return }
        let isTail = known.byteCount > 0 && known.byteCount < found.byteCount && known.id == found.id
        let state = try JournalState(self.journal, from: isTail ? known.byteCount : 0)
        let undone = try self.replay(state, keepsMissing: false, db)
        let place =
            if isTail {
                undone.isEmpty ? found : try self.journal.append(undone.map { .removed($0) })
            } else {
                try self.journal.replace(after: known) { try Catalogue.forEachJournalEntry(after: state, db, $0) }
            }
        try Catalogue.setJournalPlace(place, db)
    }

    /// Applies the changes that are missing from the catalogue.
    ///
    /// - Parameter keepsMissing: True to also add assets whose files are missing.
    /// - Returns: The assets that were not added because their files are missing.
    @discardableResult
    func replay(_ state: JournalState, keepsMissing: Bool, _ db: Database) throws -> [UUID] {
        for id in state.removedAssetIDs where try Catalogue.containsID(id, db) { _ = try Catalogue.remove(id, db) }
        for album in state.removedAlbums { try Catalogue.deleteAlbum(album, db) }
        for album in state.albums { try Catalogue.insertAlbum(album, db) }
        let undone = try self.replayAssets(state, keepsMissing: keepsMissing, db)
        // If an asset was added to an album again, or a line is damaged, only the catalogue contains the order.
        let hasOrder = state.isWhole && state.skippedLineCount == 0
        for (name, ids) in state.removedAlbumEntries {
            for id in ids { try Catalogue.removeAlbumEntry(id, inAlbum: name, db) }
        }
        for (name, ids) in state.albumEntries {
            if hasOrder { for id in ids { try Catalogue.removeAlbumEntry(id, inAlbum: name, db) } }
            for id in ids { try Catalogue.insertAlbumEntry(id, inAlbum: name, db) }
        }
        return undone
    }

    /// Adds the assets that are missing from the catalogue, and sets paths and adjustments.
    ///
    /// - Returns: The assets that were not added because their files are missing.
    @discardableResult
    func replayAssets(_ state: JournalState, keepsMissing: Bool, _ db: Database) throws -> [UUID] {
        for (sha256, path) in state.paths {
            guard let digest = Data(hexadecimal: sha256.utf8) else { continue }
            let old = try Row.fetchOne(
                db, sql: "SELECT path, byte_size FROM original WHERE sha256 = ?", arguments: [digest])
            guard let old, let byteCount = Int64.fromDatabaseValue(old["byte_size"] ?? .null),
                !self.hasFile(at: String.fromDatabaseValue(old["path"] ?? .null) ?? "", byteCount: byteCount),
                self.hasFile(at: path, byteCount: byteCount)
            else { continue }
            _ = try Catalogue.releasePath(path, except: Array(digest), db)
            try Catalogue.setPath(path, ofOriginal: digest, db)
        }
        var undone: [UUID] = []
        // The line of a removal may be damaged, so removals are also read from the catalogue. Identifiers are never
        // reused.
        let removed = Set(try Catalogue.removedAssets(db))
        for asset in state.assets where try !removed.contains(asset.id) && !Catalogue.containsID(asset.id, db) {
            guard let digest = Data(hexadecimal: asset.sha256.utf8) else { continue }
            let isThere = self.hasFile(at: asset.path, byteCount: asset.byteCount)
            if try !Catalogue.hasOriginal(digest, db) {
                guard isThere || keepsMissing, (try? self.folder.path(ofStored: asset.path)) != nil else {
                    undone.append(asset.id)
                    continue
                }
                _ = try Catalogue.releasePath(asset.path, except: Array(digest), db)
                try Catalogue.insertOriginal(of: asset, self.description(of: asset), isMissing: !isThere, db)
            }
            if let album = asset.album {
                // The line of the album may be damaged, so the album is added if it does not exist.
                try Catalogue.insertAlbum(JournalAlbum(name: album, isShared: true, madeAt: asset.importedAt), db)
            }
            try Catalogue.insertAsset(asset, db)
        }
        for adjustment in state.adjustments.values { try Catalogue.setAdjustment(adjustment, db) }
        return undone
    }

    private func description(of asset: JournalAsset) -> MediaDescription {
        guard let path = try? self.folder.path(ofStored: asset.path), let file = try? OriginalFile(path) else {
            return MediaDescription()
        }
        return MediaDescription(file.headerBytes)
    }

    /// Returns true if a regular file of this length is at a path of the catalogue.
    func hasFile(at storedPath: String, byteCount: Int64) -> Bool {
        guard let path = try? self.folder.path(ofStored: storedPath), let file = try? OriginalFile(path) else {
            return false
        }
        return file.snapshot.byteCount == byteCount
    }
}

/// The statements that keep the catalogue and the journal in sync.
extension Catalogue {
    /// Returns the end of the journal as of the last commit.
    static func journalPlace(_ db: Database) throws -> JournalPlace {
        // In a catalogue of an older version that is opened for reading, the columns do not exist.
        let columns = try db.columns(in: "library").map(\.name)
        guard columns.contains("journal_byte_count") else { return JournalPlace(byteCount: 0) }
        let byteCount = try Int64.fetchOne(db, sql: "SELECT journal_byte_count FROM library")
        let id = columns.contains("journal_id") ? try String.fetchOne(db, sql: "SELECT journal_id FROM library") : nil
        return JournalPlace(byteCount: byteCount ?? 0, id: id.flatMap(UUID.init(uuidString:)))
    }

    static func setJournalPlace(_ place: JournalPlace, _ db: Database) throws {
        try db.execute(
            sql: "UPDATE library SET journal_byte_count = ?, journal_id = ?",
            arguments: [place.byteCount, place.id?.uuidString])
    }

    static func insertOriginal(
        of asset: JournalAsset, _ media: MediaDescription, isMissing: Bool, _ db: Database
    ) throws {
        guard let sha256 = Data(hexadecimal: asset.sha256.utf8) else { return }
        let file = ImportedFile(byteCount: asset.byteCount, sha256: Array(sha256), media: media)
        try self.insertOriginal(file, path: asset.path, db)
        guard isMissing else { return }
        try db.execute(sql: "UPDATE original SET state = 'missing' WHERE sha256 = ?", arguments: [sha256])
    }

    /// Calls `body` with entries from which the catalogue can be rebuilt.
    ///
    /// These are the albums, the assets and their adjustments, and the lists of albums. Removals from a former journal
    /// come first, for older catalogues that may still contain those assets.
    static func forEachJournalEntry(
        after former: JournalState, _ db: Database, _ body: (JournalEntry) throws -> Void
    ) throws {
        for id in try former.removedAssetIDs.union(self.removedAssets(db)) where try !self.containsID(id, db) {
            try body(.removed(id))
        }
        for album in former.removedAlbums where try !self.hasAlbum(album, db) { try body(.albumRemoved(album)) }
        for (name, ids) in former.removedAlbumEntries {
            for id in ids where try self.containsID(id, db) { try body(.unlisted(id, album: name)) }
        }
        let albums = try self.albums(db)
        for album in albums { try body(.albumMade(album)) }
        try self.forEachAsset(db) { try body(.added(JournalAsset($0))) }
        for album in albums where album.isShared {
            for item in try self.assets(in: album, db) { try body(.added(JournalAsset(item, album: album.name))) }
        }
        let adjusted = try String.fetchAll(
            db,
            sql: """
                SELECT uuid FROM asset
                WHERE generation > 1 OR adjustment IS NOT NULL OR EXISTS (SELECT 1 FROM sidecar WHERE asset_id = asset.id)
                    OR EXISTS (SELECT 1 FROM render WHERE asset_id = asset.id)
                """)
        for id in adjusted.compactMap(UUID.init(uuidString:)) {
            if let adjustment = try self.journalAdjustment(of: id, db) { try body(.adjusted(adjustment)) }
        }
        for album in albums where !album.isShared {
            for asset in try self.assets(in: album, db) { try body(.listed(asset.id, album: album.name)) }
        }
    }
}
#endif
