#if Photos
import BlobCore
public import Foundation
import GRDB

/// The rows of albums.
///
/// An item of a plain album refers to an asset. An item of a shared stream has its own identifier and refers to an
/// original, like a copy without the asset's history.
extension Catalogue {
    /// The items of shared streams in the form of assets, to replace the assets in a statement.
    static let itemsAsAssets = """
        WITH asset AS (
            SELECT id, uuid, original_id, 1 AS generation, original_filename, file_extension, NULL AS modified_at,
                added_at AS ingested_at, NULL AS adjustment, album_id
            FROM album_item WHERE uuid IS NOT NULL
        )
        """

    /// Returns the item of a shared stream with this identifier; nil if not found.
    static func item(_ id: UUID, _ db: Database) throws -> Asset? {
        try self.item("asset.uuid = ?", id.uuidString, db)
    }

    /// Returns the first item of the original with this digest; nil if not found.
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
            try Self.albums(db).map { album in
                AssetLibrary.Album(
                    name: album.name, isShared: album.isShared, itemCount: try Self.itemCount(in: album, db),
                    creationDate: Date(nanoseconds: album.madeAt))
            }
        }
    }

    /// Returns all albums, in order of creation.
    static func albums(_ db: Database) throws -> [JournalAlbum] {
        // A catalogue of an older version lacks the table.
        guard try db.tableExists("album") else { return [] }
        let sql = "SELECT id, name, is_shared, created_at FROM album ORDER BY id"
        return try Row.fetchAll(db, sql: sql).map { row in
            let album = CheckedRow(row, of: "album")
            return JournalAlbum(
                name: try album.value("name"), isShared: try album.value("is_shared"),
                madeAt: try album.value("created_at"))
        }
    }

    /// - Throws: ``BlobError/Code/notFound`` if the album does not exist.
    static func album(_ name: String, _ db: Database) throws -> JournalAlbum {
        if let album = try self.albums(db).first(where: { $0.name == name }) { return album }
        throw BlobError(.notFound, "There is no album '\(name)' in the library.")
    }

    /// Creates an album; returns false if the name is taken.
    @discardableResult static func insertAlbum(_ album: JournalAlbum, _ db: Database) throws -> Bool {
        try db.execute(
            sql: "INSERT OR IGNORE INTO album (name, is_shared, created_at) VALUES (?, ?, ?)",
            arguments: [album.name, album.isShared, album.madeAt])
        return db.changesCount > 0
    }

    static func itemCount(in album: JournalAlbum, _ db: Database) throws -> Int {
        let sql = "SELECT count(*) FROM album_item JOIN album ON album.id = album_id WHERE album.name = ?"
        return try Int.fetchOne(db, sql: sql, arguments: [album.name]) ?? 0
    }

    /// Returns the assets and the items of an album, in the order in which they were added.
    static func assets(in album: JournalAlbum, _ db: Database) throws -> [Asset] {
        let selection = try self.selection(db)
        let sql =
            album.isShared
            ? "\(self.itemsAsAssets) \(selection) JOIN album ON album.id = album_id WHERE album.name = ? ORDER BY asset.id"
            : """
            \(selection) JOIN album_item ON asset_id = asset.id JOIN album ON album.id = album_id WHERE album.name = ?
            ORDER BY album_item.id
            """
        return try Row.fetchAll(db, sql: sql, arguments: [album.name]).map(Asset.init)
    }

    /// Adds an asset to a plain album; does nothing if the album already contains the asset, or if one of them does not
    /// exist.
    static func insertAlbumEntry(_ id: UUID, inAlbum name: String, _ db: Database) throws {
        try db.execute(
            sql: """
                INSERT OR IGNORE INTO album_item (album_id, added_at, asset_id)
                SELECT album.id, ?, asset.id FROM album, asset
                WHERE album.name = ? AND NOT album.is_shared AND asset.uuid = ?
                """, arguments: [Date().nanoseconds, name, id.uuidString])
    }

    /// Removes an asset from a plain album; returns false if the album does not contain it.
    @discardableResult static func removeAlbumEntry(_ id: UUID, inAlbum name: String, _ db: Database) throws -> Bool {
        try db.execute(
            sql: """
                DELETE FROM album_item WHERE album_id = (SELECT id FROM album WHERE name = ?)
                    AND asset_id = (SELECT id FROM asset WHERE uuid = ?)
                """, arguments: [name, id.uuidString])
        return db.changesCount > 0
    }

    /// Adds an item for an asset's original to a shared stream.
    static func insertItem(_ item: JournalAsset, inAlbum name: String, _ db: Database) throws {
        try db.execute(
            sql: """
                INSERT INTO album_item (album_id, added_at, uuid, original_id, original_filename, file_extension)
                SELECT album.id, ?, ?, original.id, ?, ? FROM album, original
                WHERE album.name = ? AND album.is_shared AND original.sha256 = ?
                """,
            arguments: [
                item.importedAt, item.id.uuidString, item.name, item.fileExtension, name,
                Data(hexadecimal: item.sha256.utf8),
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
}

extension AssetLibrary {
    /// An album: a named list of assets, or a shared stream, whose items have identifiers of their own.
    public struct Album: Hashable, Sendable {
        /// The name, unique in the library.
        public let name: String
        /// True for a shared stream. Its items refer to originals, so adjusting or removing the added asset does not
        /// affect them.
        public let isShared: Bool
        /// The number of assets or items in the album, at least 0.
        public let itemCount: Int
        /// The date at which the album was created.
        public let creationDate: Date
    }
}
#endif
