#if Photos
package import BlobCore
import BlobHelper
package import Foundation
import GRDB

extension AssetLibrary {
    /// Returns the adjustment of an asset.
    ///
    /// If an older version imported the original, its headers are read.
    ///
    /// - Throws: Errors from the catalogue; errors reading the original.
    package func adjustment(of asset: Asset) throws(BlobError) -> Adjustment {
        try self.descriptions(of: asset).adjustment(of: DecodedPicture(asset.media))
    }

    private func descriptions(of asset: Asset) throws(BlobError) -> AdjustmentDescriptions {
        try self.descriptions(of: asset.id) { () throws(BlobError) in
            try self.folder.path(ofStored: asset.storedPath)
        }
    }

    /// - Parameter path: Returns the path of the original.
    func descriptions(
        of id: UUID, _ path: () throws(BlobError) -> String
    ) throws(BlobError) -> AdjustmentDescriptions {
        var (descriptions, hasEmbedded) = try self.catalogue.adjustment(of: id)
        if !hasEmbedded {
            let file = try OriginalFile(path())
            defer { file.close() }
            descriptions.embedded = EmbeddedXMP.find(in: file.headerBytes)
            // A failure to store the packet must not prevent reading, because the library may be on a read-only medium.
            if self.access == .writing { try? self.catalogue.setEmbeddedXMP(descriptions.embedded, of: id) }
        }
        return descriptions
    }

    /// Records an asset as the render, made by another program, of another asset with its adjustment.
    ///
    /// The render is used as long as the adjustment is unchanged and both assets exist.
    ///
    /// - Throws: The errors thrown by ``setAdjustment(_:of:)``.
    package func setRender(_ render: UUID, of id: UUID) throws(BlobError) {
        try self.checkCanWrite()
        let asset = try self.requireAsset(self.asset(id), id)
        _ = try self.requireAsset(self.asset(render), render)
        let digest = try self.descriptions(of: asset).sha256
        let isKept = try self.commit { db -> (Bool, [JournalEntry]) in
            let isChanged = try Catalogue.setRender(render, of: id, adjustment: digest, db)
            let adjustment = try Catalogue.journalAdjustment(of: id, db)
            guard let adjustment, adjustment.render?.id == render else { return (false, []) }
            return (true, isChanged ? [.adjusted(adjustment)] : [])
        }
        guard isKept else { throw BlobError(.changed, "The asset was removed while its render was being stored.") }
    }

    /// Returns the identifier of the asset that is the render of an asset with its current adjustment; nil if not
    /// found.
    func renderID(of asset: Asset) throws(BlobError) -> UUID? {
        let digest = try self.descriptions(of: asset).sha256.hexadecimal
        let render = try self.catalogue.read { db in try Catalogue.renders(of: asset.id, db)[asset.id] }
        return render?.adjustment == digest ? render?.id : nil
    }

    /// Sets or removes the recipe for the current version of an asset.
    ///
    /// Without a recipe, the descriptions of an adjustment in the original or in its imported sidecars apply again.
    ///
    /// - Returns: The asset, whose generation is incremented if the recipe changed.
    /// - Throws: ``BlobError/Code/notFound`` if the asset does not exist; ``BlobError/Code/invalidArgument`` if the
    ///   recipe cannot be applied to the picture; ``BlobError/Code/unsupported`` if the asset is not a picture of known
    ///   size; ``BlobError/Code/permissionDenied`` if the library was opened for reading; errors from the catalogue.
    @discardableResult
    package func setAdjustment(_ recipe: AdjustmentRecipe?, of id: UUID) throws(BlobError) -> Asset {
        try self.checkCanWrite()
        if let recipe, let asset = try self.asset(id) {
            guard let size = DecodedPicture(asset.media).size else {
                throw BlobError(
                    .unsupported, "The asset cannot be adjusted, because it is not a picture of a known size.")
            }
            _ = try RenderPlan(recipe, for: size)
        }
        return try self.adjust(id) { db in try Catalogue.setRecipe(recipe, of: id, db) }
    }

    /// Stores a sidecar of a picture, AAE or XMP, as a description of the asset's adjustment.
    ///
    /// - Throws: ``BlobError/Code/invalidArgument`` if the file name is not the name of a sidecar; errors reading the
    ///   file; otherwise the errors thrown by ``setAdjustment(_:of:)``.
    package func setAdjustment(of id: UUID, sidecar path: String) throws(BlobError) {
        try self.checkCanWrite()
        guard let kind = Sidecar.kind(path) else {
            throw BlobError(
                .invalidArgument, "Not an adjustment file, whose extension must be .aae or .xmp: '\(path)'.")
        }
        let content = try Sidecar.content(Array(path.utf8))
        _ = try self.adjust(id) { db in try Catalogue.setSidecars([kind: content], of: id, isNew: false, db) }
    }

    /// - Parameter change: Returns false if the asset already has this adjustment.
    func adjust(_ id: UUID, _ change: (Database) throws -> Bool) throws(BlobError) -> Asset {
        let asset = try self.commit { db -> (Asset?, [JournalEntry]) in
            let isChanged = try change(db)
            let adjustment = isChanged ? try Catalogue.journalAdjustment(of: id, db) : nil
            return (try Catalogue.asset(id, db), adjustment.map { [.adjusted($0)] } ?? [])
        }
        return try self.requireAsset(asset, id)
    }

    private func requireAsset(_ asset: Asset?, _ id: UUID) throws(BlobError) -> Asset {
        if let asset { return asset }
        throw BlobError(
            .notFound, "There is no such asset in the library.",
            locator: BlobLocator(asset: id, fileExtension: nil).text)
    }
}
#endif
