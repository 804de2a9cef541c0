import BlobCore
import Foundation
import GRDB

extension Catalogue {
    /// The tables of albums: an item of a plain album names an asset; one of a shared stream has an identifier of its
    /// own and names an original, as a copy without the history of the asset.
    ///
    /// The triggers put items of shared streams into the journal of changes, as those of the first version do assets.
    static let albumSchema = """
        CREATE TABLE album (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            name TEXT NOT NULL UNIQUE,
            is_shared INTEGER NOT NULL CHECK (is_shared IN (0, 1)),
            created_at INTEGER NOT NULL
        ) STRICT;

        CREATE TABLE album_item (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            album_id INTEGER NOT NULL REFERENCES album(id) ON DELETE CASCADE,
            asset_id INTEGER REFERENCES asset(id) ON DELETE CASCADE,
            uuid TEXT UNIQUE,
            original_id INTEGER REFERENCES original(id),
            original_filename TEXT,
            file_extension TEXT,
            added_at INTEGER NOT NULL,
            UNIQUE (album_id, asset_id),
            CHECK ((asset_id IS NULL) = (uuid IS NOT NULL) AND (uuid IS NULL) = (original_id IS NULL))
        ) STRICT;
        CREATE INDEX album_item_asset ON album_item(asset_id);
        CREATE INDEX album_item_original ON album_item(original_id);

        CREATE TRIGGER item_inserted AFTER INSERT ON album_item WHEN NEW.uuid IS NOT NULL BEGIN
            INSERT INTO change_seq (asset_uuid, kind, generation) VALUES (NEW.uuid, 'inserted', 1);
        END;
        CREATE TRIGGER item_removed AFTER DELETE ON album_item WHEN OLD.uuid IS NOT NULL BEGIN
            INSERT INTO change_seq (asset_uuid, kind, generation) VALUES (OLD.uuid, 'removed', 1);
        END;
        CREATE TRIGGER item_moved AFTER UPDATE OF path, state ON original BEGIN
            INSERT INTO change_seq (asset_uuid, kind, generation)
                SELECT uuid, 'moved', 1 FROM album_item WHERE original_id = NEW.id ORDER BY id;
        END;
        """

    /// The items of shared streams in the form of assets, which this replaces in a statement.
    static let itemsAsAssets = """
        WITH asset AS (
            SELECT id, uuid, original_id, 1 AS generation, original_filename, file_extension, NULL AS modified_at,
                added_at AS ingested_at, NULL AS adjustment, album_id
            FROM album_item WHERE uuid IS NOT NULL
        )
        """

    /// Returns the item of a shared stream with this identifier; nil when there is none.
    static func item(_ id: UUID, _ db: Database) throws -> Asset? {
        try self.item("asset.uuid = ?", id.uuidString, db)
    }

    /// Returns the first item of the original with this digest; nil when there is none.
    static func item(sha256: [UInt8], _ db: Database) throws -> Asset? {
        try self.item("original.sha256 = ? ORDER BY asset.id LIMIT 1", Data(sha256), db)
    }

    private static func item(
        _ condition: String, _ argument: any DatabaseValueConvertible, _ db: Database
    ) throws -> Asset? {
        // A catalogue of an older version lacks the table.
        guard try db.tableExists("album_item") else { return nil }
        let sql = "\(self.itemsAsAssets) \(try self.selection(db)) WHERE \(condition)"
        return try Row.fetchOne(db, sql: sql, arguments: [argument]).map(Asset.init)
    }

    func albums() throws(BlobError) -> [AssetLibrary.Album] {
        try self.read { db in
            guard try db.tableExists("album") else { return [] }
            let sql = """
                SELECT album.id, name, is_shared, created_at, count(album_item.id) AS items
                FROM album LEFT JOIN album_item ON album_id = album.id GROUP BY album.id ORDER BY album.id
                """
            return try Row.fetchAll(db, sql: sql).map(AssetLibrary.Album.init)
        }
    }

    /// Makes an album; returns false when there is one with its name.
    @discardableResult static func insertAlbum(_ album: JournalAlbum, _ db: Database) throws -> Bool {
        try db.execute(
            sql: "INSERT OR IGNORE INTO album (name, is_shared, created_at) VALUES (?, ?, ?)",
            arguments: [album.name, album.isShared, album.madeAt])
        return db.changesCount > 0
    }

    /// Returns the assets and the items of an album, in the order in which they were added.
    func assets(inAlbum name: String) throws(BlobError) -> [Asset] {
        try self.read { db in
            guard let album = try Self.album(name, db) else { throw Self.noAlbum(name) }
            let selection = try Self.selection(db)
            let sql =
                album.isShared
                ? "\(Self.itemsAsAssets) \(selection) WHERE asset.album_id = ? ORDER BY asset.id"
                : "\(selection) JOIN album_item ON asset_id = asset.id WHERE album_id = ? ORDER BY album_item.id"
            return try Row.fetchAll(db, sql: sql, arguments: [album.id]).map(Asset.init)
        }
    }

    /// Adds an asset to a plain album, unless it has it already or one of them does not exist.
    static func list(_ id: UUID, inAlbum name: String, _ db: Database) throws {
        try db.execute(
            sql: """
                INSERT OR IGNORE INTO album_item (album_id, added_at, asset_id)
                SELECT album.id, ?, asset.id FROM album, asset
                WHERE album.name = ? AND NOT album.is_shared AND asset.uuid = ?
                """, arguments: [Date().nanoseconds, name, id.uuidString])
    }

    /// Removes an asset from a plain album; returns false when it is not there.
    @discardableResult static func unlist(_ id: UUID, inAlbum name: String, _ db: Database) throws -> Bool {
        try db.execute(
            sql: """
                DELETE FROM album_item WHERE album_id = (SELECT id FROM album WHERE name = ?)
                    AND asset_id = (SELECT id FROM asset WHERE uuid = ?)
                """, arguments: [name, id.uuidString])
        return db.changesCount > 0
    }

    /// Adds an item of the original of an asset to a shared stream.
    static func insertItem(_ item: JournalAsset, inAlbum name: String, _ db: Database) throws {
        try db.execute(
            sql: """
                INSERT INTO album_item (album_id, added_at, uuid, original_id, original_filename, file_extension)
                SELECT album.id, ?, ?, original.id, ?, ? FROM album, original
                WHERE album.name = ? AND album.is_shared AND original.sha256 = ?
                """,
            arguments: [
                item.importedAt, item.id.uuidString, item.name, item.fileExtension, name,
                Data(hexadecimal: item.sha256),
            ])
    }

    static func hasAlbum(_ album: JournalAlbum, _ db: Database) throws -> Bool {
        let sql = "SELECT 1 FROM album WHERE name = ? AND created_at = ?"
        return try Row.fetchOne(db, sql: sql, arguments: [album.name, album.madeAt]) != nil
    }

    static func deleteAlbum(_ album: JournalAlbum, _ db: Database) throws {
        try db.execute(
            sql: "DELETE FROM album WHERE name = ? AND created_at = ?", arguments: [album.name, album.madeAt])
    }

    func isShared(_ name: String) throws(BlobError) -> Bool {
        try self.read { db in try Self.isShared(name, db) }
    }

    /// - Throws: ``BlobError/Code/notFound`` when there is no such album.
    static func isShared(_ name: String, _ db: Database) throws -> Bool { try self.journalAlbum(name, db).isShared }

    /// Returns the facts of an album for the journal.
    ///
    /// - Throws: ``BlobError/Code/notFound`` when there is no such album.
    static func journalAlbum(_ name: String, _ db: Database) throws -> JournalAlbum {
        guard let album = try Self.album(name, db) else { throw Self.noAlbum(name) }
        return JournalAlbum(name: name, isShared: album.isShared, madeAt: album.madeAt)
    }

    static func itemCount(inAlbum name: String, _ db: Database) throws -> Int {
        let sql = "SELECT count(*) FROM album_item JOIN album ON album.id = album_id WHERE album.name = ?"
        return try Int.fetchOne(db, sql: sql, arguments: [name]) ?? 0
    }

    private static func album(_ name: String, _ db: Database) throws -> (id: Int64, isShared: Bool, madeAt: Int64)? {
        guard try db.tableExists("album") else { return nil }
        let sql = "SELECT id, is_shared, created_at FROM album WHERE name = ?"
        let row = try Row.fetchOne(db, sql: sql, arguments: [name])
        return try row.map { row in
            let album = CheckedRow(row, of: "album")
            return (try album.value("id"), try album.value("is_shared"), try album.value("created_at"))
        }
    }

    private static func noAlbum(_ name: String) -> BlobError {
        BlobError(.notFound, "There is no album '\(name)' in the library.")
    }
}

extension AssetLibrary.Album {
    fileprivate init(_ row: Row) throws {
        let album = CheckedRow(row, of: "album")
        self.init(
            name: try album.value("name"), isShared: try album.value("is_shared"),
            itemCount: try album.value("items"), creationDate: Date(nanoseconds: try album.value("created_at")))
    }
}
