import BlobCore
import Foundation
import GRDB

extension Catalogue {
    /// The tables of albums: an item of a plain album names an asset; one of a shared stream has an identifier of its own
    /// and names an original, as a copy without the history of the asset.
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

    func insertAlbum(_ name: String, isShared: Bool) throws(BlobError) {
        try self.write { db in
            try db.execute(
                sql: "INSERT OR IGNORE INTO album (name, is_shared, created_at) VALUES (?, ?, ?)",
                arguments: [name, isShared, Date().nanoseconds])
            guard db.changesCount > 0 else {
                throw BlobError(.invalidArgument, "There is an album '\(name)' already.", operation: "write")
            }
        }
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

    /// Adds an asset to an album; adds nothing when a plain album has it already.
    ///
    /// - Returns: The asset, or the item that a shared stream has of it.
    func insertItem(_ id: UUID, inAlbum name: String) throws(BlobError) -> Asset {
        try self.write { db in
            guard let album = try Self.album(name, db) else { throw Self.noAlbum(name) }
            let item = album.isShared ? UUID() : id
            let columns = album.isShared ? "uuid, original_id, original_filename, file_extension" : "asset_id"
            let values = album.isShared ? "?4, original_id, original_filename, file_extension" : "id"
            try db.execute(
                sql: """
                    INSERT OR IGNORE INTO album_item (album_id, added_at, \(columns))
                    SELECT ?1, ?2, \(values) FROM asset WHERE uuid = ?3\(album.isShared ? "" : " AND ?4 IS NOT NULL")
                    """,
                arguments: [album.id, Date().nanoseconds, id.uuidString, item.uuidString])
            guard let asset = try Self.asset(item, db) ?? Self.item(item, db) else { throw Self.noAsset(id) }
            return asset
        }
    }

    /// Removes an asset from a plain album.
    func deleteItem(_ id: UUID, inAlbum name: String) throws(BlobError) {
        try self.write { db in
            guard let album = try Self.album(name, db) else { throw Self.noAlbum(name) }
            try db.execute(
                sql: """
                    DELETE FROM album_item
                    WHERE album_id = ? AND asset_id = (SELECT id FROM asset WHERE uuid = ?)
                    """, arguments: [album.id, id.uuidString])
            if db.changesCount == 0 { throw Self.noAsset(id) }
        }
    }

    func deleteAlbum(_ name: String) throws(BlobError) {
        try self.write { db in
            try db.execute(
                sql: """
                    DELETE FROM album WHERE name = ?
                        AND NOT EXISTS (SELECT 1 FROM album_item WHERE album_id = album.id AND uuid IS NOT NULL)
                    """, arguments: [name])
            if db.changesCount > 0 { return }
            guard try Self.album(name, db) != nil else { throw Self.noAlbum(name) }
            throw BlobError(.changed, "An item was added to the stream while its items were removed.")
        }
    }

    func isShared(_ name: String) throws(BlobError) -> Bool {
        try self.read { db in
            guard let album = try Self.album(name, db) else { throw Self.noAlbum(name) }
            return album.isShared
        }
    }

    private static func album(_ name: String, _ db: Database) throws -> (id: Int64, isShared: Bool)? {
        guard try db.tableExists("album") else { return nil }
        let row = try Row.fetchOne(db, sql: "SELECT id, is_shared FROM album WHERE name = ?", arguments: [name])
        return try row.map { row in
            let album = CheckedRow(row, of: "album")
            return (try album.value("id"), try album.value("is_shared"))
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
