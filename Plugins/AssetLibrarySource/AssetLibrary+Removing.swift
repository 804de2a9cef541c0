public import BlobCore
public import Foundation
import GRDB

extension AssetLibrary {
    /// Removes an asset, or an item of a shared stream, and its original unless another one shares it.
    ///
    /// Open readers keep the file until they are closed; see ``AssetSource/RemovalPolicy``. After the return, the
    /// removal survives a loss of power.
    ///
    /// - Throws: ``BlobError/Code/notFound`` when there is no such asset; otherwise as
    ///   ``importAsset(from:name:duplicates:context:)``.
    public func removeAsset(_ id: UUID, context: BlobContext = BlobContext()) throws(BlobError) {
        do {
            try self.checkCanWrite()
            let lock = try LibraryLock.shared(self.folder, context)
            try withExtendedLifetime(lock) { try self.removeLocked(id) }
        } catch {
            var error = BlobError(wrapping: error)
            error.operation = error.operation ?? "write"
            throw error
        }
    }

    private func removeLocked(_ id: UUID) throws {
        let folders = try OriginalsFolder(self.folder)
        let marker = try LibraryMarker(folders)
        let orphan: String?
        do {
            orphan = try self.commit { db in (try Catalogue.remove(id, db), [.removed(id)]) }
        } catch {
            // A commit that failed may have happened: the marker stays then, so that recovery finds the file.
            if error.code == .notFound || (try? self.catalogue.names(id)) == true { marker.remove() }
            throw error
        }
        // A file that cannot be removed is left to recovery, with the marker.
        if let orphan {
            do { try folders.remove(orphan) } catch { return }
        }
        marker.remove()
    }
}

extension Catalogue {
    /// Returns true when an asset has this identifier, whatever else its row contains.
    fileprivate func names(_ id: UUID) throws(BlobError) -> Bool {
        try self.read { db in try Self.names(id, db) }
    }

    /// Removes an asset or an item of a shared stream, and its original unless another one shares it.
    ///
    /// - Returns: The path of the original, if it was removed.
    static func remove(_ id: UUID, _ db: Database) throws -> String? {
        let tables = ["asset", "album_item"]
        let rows = try tables.map { table in
            let sql = "SELECT id, original_id FROM \(table) WHERE uuid = ?"
            return try Row.fetchOne(db, sql: sql, arguments: [id.uuidString])
        }
        guard let index = rows.firstIndex(where: { $0 != nil }), let row = rows[index] else { throw Self.noAsset(id) }
        let original: Int64 = try CheckedRow(row, of: tables[index]).value("original_id")
        try db.execute(sql: "DELETE FROM \(tables[index]) WHERE uuid = ?", arguments: [id.uuidString])
        let deletion = """
            DELETE FROM original WHERE id = ? AND NOT EXISTS (SELECT 1 FROM asset WHERE original_id = original.id)
                AND NOT EXISTS (SELECT 1 FROM album_item WHERE original_id = original.id)
            """
        let orphan = try Row.fetchOne(db, sql: "\(deletion) RETURNING id, path", arguments: [original])
        return try orphan.map { try CheckedRow($0, of: "original").value("path") }
    }
    static func noAsset(_ id: UUID) -> BlobError {
        BlobError(
            .notFound, "There is no such asset in the library.",
            locator: BlobLocator(asset: id, fileExtension: nil).text)
    }
}
