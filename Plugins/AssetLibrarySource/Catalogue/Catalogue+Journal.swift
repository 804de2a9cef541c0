import BlobCore
import Foundation
import GRDB

/// The statements by which the catalogue and the journal are kept equal.
extension Catalogue {
    /// Returns the length of the journal as of the last commit; 0 when there was none.
    static func journalByteCount(_ db: Database) throws -> Int64 {
        try Int64.fetchOne(db, sql: "SELECT journal_byte_count FROM library WHERE id = 1") ?? 0
    }

    /// Returns the end of the journal as of the last commit.
    static func journalPlace(_ db: Database) throws -> JournalPlace {
        // A catalogue of an older version that is opened for reading lacks the columns.
        let columns = try db.columns(in: "library").map(\.name)
        guard columns.contains("journal_byte_count") else { return JournalPlace(byteCount: 0) }
        let id = columns.contains("journal_id") ? try String.fetchOne(db, sql: "SELECT journal_id FROM library") : nil
        return JournalPlace(byteCount: try self.journalByteCount(db), id: id.flatMap(UUID.init(uuidString:)))
    }

    static func setJournalPlace(_ place: JournalPlace, _ db: Database) throws {
        try db.execute(
            sql: "UPDATE library SET journal_byte_count = ?, journal_id = ?",
            arguments: [place.byteCount, place.id?.uuidString])
    }

    /// Returns true when an asset or an item has this identifier, whatever else its row contains.
    static func names(_ id: UUID, _ db: Database) throws -> Bool {
        let sql = "SELECT 1 FROM asset WHERE uuid = ?1 UNION SELECT 1 FROM album_item WHERE uuid = ?1"
        return try Row.fetchOne(db, sql: sql, arguments: [id.uuidString]) != nil
    }

    static func hasOriginal(_ sha256: Data, _ db: Database) throws -> Bool {
        try Row.fetchOne(db, sql: "SELECT 1 FROM original WHERE sha256 = ?", arguments: [sha256]) != nil
    }

    static func setPath(_ path: String, ofOriginal sha256: Data, _ db: Database) throws {
        try db.execute(
            sql: "UPDATE original SET path = ?, state = 'present' WHERE sha256 = ?", arguments: [path, sha256])
    }

    /// Takes a path from another original that had it, whose bytes are no longer there.
    ///
    /// - Returns: The entry of the journal.
    static func releasePath(_ path: String, except sha256: [UInt8], _ db: Database) throws -> [JournalEntry] {
        // A path where nothing is.
        let nowhere = LibraryFolder.storedPath(for: UUID(), fileExtension: nil)
        let row = try Row.fetchOne(
            db,
            sql: """
                UPDATE original SET path = ?, state = 'missing' WHERE path = ? AND sha256 <> ? RETURNING id, sha256
                """, arguments: [nowhere, path, Data(sha256)])
        guard let row else { return [] }
        let digest: Data = try CheckedRow(row, of: "original").value("sha256")
        return [.moved(sha256: Array(digest).hexadecimal, path: nowhere)]
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

    /// Adds an asset, or the item of a shared stream that exists.
    static func insertAsset(_ asset: JournalAsset, _ db: Database) throws {
        if let album = asset.album { return try self.insertItem(asset, inAlbum: album, db) }
        try db.execute(
            sql: """
                INSERT INTO asset (uuid, original_id, generation, original_filename, file_extension, modified_at,
                    ingested_at)
                SELECT ?, id, ?, ?, ?, ?, ? FROM original WHERE sha256 = ?
                """,
            arguments: [
                asset.id.uuidString, asset.generation, asset.name, asset.fileExtension, asset.modifiedAt,
                asset.importedAt, Data(hexadecimal: asset.sha256),
            ])
        try self.setGiven(
            captureDate: asset.captureDate, offset: asset.captureOffset, latitude: asset.latitude,
            longitude: asset.longitude, ofOriginal: Data(hexadecimal: asset.sha256) ?? Data(), db)
    }

    /// Stores what is known about an original where its file says nothing.
    static func setGiven(
        captureDate: String?, offset: String?, latitude: Double?, longitude: Double?, ofOriginal sha256: Data,
        _ db: Database
    ) throws {
        if let captureDate {
            try db.execute(
                sql: """
                    UPDATE original SET capture_date = ?, capture_offset = ? WHERE sha256 = ? AND capture_date IS NULL
                    """, arguments: [captureDate, offset, sha256])
        }
        guard let latitude, let longitude else { return }
        try db.execute(
            sql: """
                UPDATE original SET gps_latitude = ?, gps_longitude = ? WHERE sha256 = ? AND gps_latitude IS NULL
                """, arguments: [latitude, longitude, sha256])
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
        let albums = try Row.fetchCursor(db, sql: "SELECT id, name, is_shared, created_at FROM album ORDER BY id")
        while let row = try albums.next() {
            let album = CheckedRow(row, of: "album")
            try body(
                .albumMade(
                    JournalAlbum(
                        name: try album.value("name"), isShared: try album.value("is_shared"),
                        madeAt: try album.value("created_at"))))
        }
        let columns = """
            asset.id, uuid, original_filename, file_extension, generation, ingested_at, modified_at,
            original.id AS original_row, sha256, byte_size, path, capture_date, capture_offset, gps_latitude,
            gps_longitude
            """
        for sql in [
            "SELECT \(columns), NULL AS album FROM asset JOIN original ON original.id = original_id ORDER BY asset.id",
            """
            \(self.itemsAsAssets) SELECT \(columns), album.name AS album FROM asset
            JOIN original ON original.id = original_id JOIN album ON album.id = album_id ORDER BY asset.id
            """,
        ] {
            let rows = try Row.fetchCursor(db, sql: sql)
            while let row = try rows.next() { try body(.added(JournalAsset(row))) }
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
        let listed = try Row.fetchCursor(
            db,
            sql: """
                SELECT album_item.id, asset.uuid, album.name FROM album_item JOIN album ON album.id = album_id
                JOIN asset ON asset.id = asset_id ORDER BY album_item.id
                """)
        while let row = try listed.next() {
            let item = CheckedRow(row, of: "album_item")
            guard let id = UUID(uuidString: try item.value("uuid")) else { throw item.corrupted("uuid") }
            try body(.listed(id, album: try item.value("name")))
        }
    }
}

extension JournalAsset {
    /// Creates the facts of a row of the catalogue.
    ///
    /// - Throws: ``BlobError/Code/corrupted`` for values that only a damaged or forged catalogue can contain.
    fileprivate init(_ row: Row) throws(BlobError) {
        let asset = CheckedRow(row, of: "asset")
        let original = CheckedRow(row, of: "original", key: "original_row")
        guard let id = UUID(uuidString: try asset.value("uuid")) else { throw asset.corrupted("uuid") }
        let sha256: Data = try original.value("sha256")
        self.init(
            id: id, name: try asset.optionalValue("original_filename"),
            fileExtension: try asset.optionalValue("file_extension"), byteCount: try original.value("byte_size"),
            sha256: Array(sha256).hexadecimal, path: try original.value("path"),
            generation: try asset.value("generation"), importedAt: try asset.value("ingested_at"),
            modifiedAt: try asset.optionalValue("modified_at"),
            captureDate: try original.optionalValue("capture_date"),
            captureOffset: try original.optionalValue("capture_offset"),
            latitude: try original.optionalValue("gps_latitude"),
            longitude: try original.optionalValue("gps_longitude"),
            album: try asset.optionalValue("album"))
    }
}
