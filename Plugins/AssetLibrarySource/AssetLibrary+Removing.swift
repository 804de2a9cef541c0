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
            if error.code == .notFound || (try? self.catalogue.read { try Catalogue.names(id, $0) }) == true { marker.remove() }
            throw error
        }
        // A file that cannot be removed is left to recovery, with the marker.
        if let orphan {
            do { try folders.remove(orphan) } catch { return }
        }
        marker.remove()
    }
}
