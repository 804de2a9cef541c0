#if Photos
public import BlobCore
public import Foundation
import GRDB

extension AssetLibrary {
    /// Returns all albums, in order of creation.
    ///
    /// - Throws: Errors from the catalogue.
    public func albums() throws(BlobError) -> [Album] { try self.catalogue.albums() }

    /// Creates an empty album.
    ///
    /// - Throws: ``BlobError/Code/invalidArgument`` for an empty name, a name with a zero byte, or the name of an
    ///   existing album; ``BlobError/Code/permissionDenied`` if the library was opened for reading; errors from the
    ///   catalogue.
    public func makeAlbum(named name: String, isShared: Bool = false) throws(BlobError) {
        try self.checkCanWrite()
        guard !name.isEmpty, !name.utf8.contains(0) else {
            throw BlobError(
                .invalidArgument, "The name of an album must not be empty or contain a zero byte.", operation: "write")
        }
        let album = JournalAlbum(name: name, isShared: isShared, madeAt: Date().nanoseconds)
        try self.commit { db in
            guard try Catalogue.insertAlbum(album, db) else {
                throw BlobError(.invalidArgument, "An album '\(name)' already exists.", operation: "write")
            }
            return ((), [.albumMade(album)])
        }
    }

    /// Returns the assets of an album, or the items of a shared stream, in the order in which they were added.
    ///
    /// - Throws: ``BlobError/Code/notFound`` if the album does not exist; errors from the catalogue.
    public func assets(inAlbum name: String) throws(BlobError) -> [Asset] {
        try self.catalogue.read { db in try Catalogue.assets(in: Catalogue.album(name, db), db) }
    }

    private func isShared(_ name: String) throws(BlobError) -> Bool {
        try self.catalogue.read { db in try Catalogue.album(name, db).isShared }
    }

    /// Adds an asset to an album, or a new item for its original to a shared stream.
    ///
    /// An album contains an asset at most once.
    ///
    /// - Returns: The asset, or the new item, whose bytes are read by the item's own identifier.
    /// - Throws: ``BlobError/Code/notFound`` if the album or the asset does not exist; otherwise the errors thrown by
    ///   ``makeAlbum(named:isShared:)``.
    @discardableResult
    public func addAsset(_ id: UUID, toAlbum name: String) throws(BlobError) -> Asset {
        try self.checkCanWrite()
        return try self.commit { db in
            let album = try Catalogue.album(name, db)
            guard let asset = try Catalogue.asset(id, db) else { throw Catalogue.missingAssetError(id) }
            guard album.isShared else {
                try Catalogue.insertAlbumEntry(id, inAlbum: name, db)
                return (asset, [.listed(id, album: name)])
            }
            var item = JournalAsset(asset, album: name)
            (item.id, item.generation, item.importedAt) = (UUID(), 1, Date().nanoseconds)
            try Catalogue.insertItem(item, inAlbum: name, db)
            guard let added = try Catalogue.item(item.id, db) else { throw Catalogue.missingAssetError(id) }
            return (added, [.added(item)])
        }
    }

    /// Removes an asset from an album, or an item from a shared stream.
    ///
    /// An asset stays in the library. The original of an item is also removed if no other asset or item uses it.
    ///
    /// - Throws: ``BlobError/Code/notFound`` if the album does not contain the asset or item; otherwise the errors
    ///   thrown by ``removeAsset(_:context:)``.
    public func removeAsset(
        _ id: UUID, fromAlbum name: String, context: BlobContext = BlobContext()
    ) throws(BlobError) {
        try self.checkCanWrite()
        guard try self.isShared(name) else {
            return try self.commit { db in
                guard try Catalogue.removeAlbumEntry(id, inAlbum: name, db) else {
                    throw Catalogue.missingAssetError(id)
                }
                return ((), [.unlisted(id, album: name)])
            }
        }
        guard try self.assets(inAlbum: name).contains(where: { $0.id == id }) else {
            throw Catalogue.missingAssetError(id)
        }
        try self.removeAsset(id, context: context)
    }

    /// Removes an album, including the items of a shared stream, but no assets.
    ///
    /// - Throws: ``BlobError/Code/notFound`` if the album does not exist; otherwise the errors thrown by
    ///   ``removeAsset(_:context:)``.
    public func removeAlbum(named name: String, context: BlobContext = BlobContext()) throws(BlobError) {
        try self.checkCanWrite()
        if try self.isShared(name) {
            for item in try self.assets(inAlbum: name) { try self.removeAsset(item.id, context: context) }
        }
        try self.commit { db in
            // An item that was added in the meantime keeps its original in use.
            let album = try Catalogue.album(name, db)
            guard try !album.isShared || Catalogue.itemCount(in: album, db) == 0 else {
                throw BlobError(.changed, "An item was added to the shared album while its items were being removed.")
            }
            try Catalogue.deleteAlbum(album, db)
            return ((), [.albumRemoved(album)])
        }
    }
}
#endif
