import BlobStreams
import Foundation
import GRDB

extension AssetLibrary {
    /// Removes an asset, and its original unless another asset shares it.
    ///
    /// Readers that are open keep the file until they are closed; see ``AssetSource/RemovalPolicy``.
    ///
    /// - Throws: ``BlobError/Code/notFound``, and as ``importAsset(from:name:duplicates:context:)``.
    public func removeAsset(_ id: UUID, context: BlobContext = BlobContext()) throws(BlobError) {
        do {
            try self.checkCanWrite()
            let lock = try LibraryLock.shared(self.folder, context)
            try withExtendedLifetime(lock) { try self.removeLocked(id) }
        } catch {
            var error = BlobError(wrapping: error)
            error.operation = error.operation ?? .write
            throw error
        }
    }

    private func removeLocked(_ id: UUID) throws {
        let marker = try LibraryMarker(self.folder, UUID())
        let orphan: String?
        do {
            orphan = try self.catalogue.write { db in try Catalogue.remove(id, db) }
        } catch {
            marker.remove()
            throw error
        }
        // A file that cannot be removed is left for recovery to find, with the marker.
        if let orphan {
            let path = try self.folder.path(ofStored: orphan)
            guard unlink(path) == 0 || errno == ENOENT else { return }
        }
        marker.remove()
    }
}

extension Catalogue {
    /// - Returns: The path of an original that nobody names any more.
    fileprivate static func remove(_ id: UUID, _ db: Database) throws -> String? {
        guard
            let original = try Int64.fetchOne(
                db, sql: "SELECT original_id FROM asset WHERE uuid = ?", arguments: [id.uuidString])
        else {
            throw BlobError(
                .notFound, "There is no such asset in the library.",
                locator: BlobLocator(asset: id, fileExtension: nil).text)
        }
        try db.execute(sql: "DELETE FROM asset WHERE uuid = ?", arguments: [id.uuidString])
        let sql =
            "DELETE FROM original WHERE id = ? AND NOT EXISTS (SELECT 1 FROM asset WHERE original_id = original.id)"
        let path = try String.fetchOne(db, sql: "\(sql) RETURNING path", arguments: [original])
        return path
    }
}
