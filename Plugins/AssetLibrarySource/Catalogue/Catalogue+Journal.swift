import BlobCore
import Foundation
import GRDB

/// The statements by which the catalogue and the journal are kept equal.
extension Catalogue {
    /// Returns the end of the journal as of the last commit.
    static func journalPlace(_ db: Database) throws -> JournalPlace {
        // A catalogue of an older version that is opened for reading lacks the columns.
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
        guard let sha256 = Data(hexadecimal: asset.sha256) else { return }
        let file = ImportedFile(byteCount: asset.byteCount, sha256: Array(sha256), media: media)
        try self.insertOriginal(file, path: asset.path, db)
        guard isMissing else { return }
        try db.execute(sql: "UPDATE original SET state = 'missing' WHERE sha256 = ?", arguments: [sha256])
    }

    /// Calls `body` with entries that make the catalogue: of albums, assets and their adjustments, and the lists of
    /// albums. Before them are the removals of a former journal, which an older catalogue may not have.
    static func forEachJournalEntry(
        after former: JournalState, _ db: Database, _ body: (JournalEntry) throws -> Void
    ) throws {
        for id in try former.removed.union(self.removedAssets(db)) where try !self.names(id, db) {
            try body(.removed(id))
        }
        for album in former.removedAlbums where try !self.hasAlbum(album, db) { try body(.albumRemoved(album)) }
        for (name, ids) in former.unlisted {
            for id in ids where try self.names(id, db) { try body(.unlisted(id, album: name)) }
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
