package import BlobCore

/// The kind of bytes that an asset's current version has, as far as it is known without rendering.
package enum CurrentVersion: Hashable, Sendable {
    /// The original.
    case original
    /// A JPEG of a size in pixels, whose length in bytes only rendering tells.
    case rendered(width: Int, height: Int)
    /// None: the identifiers name adjustments that cannot be rendered.
    case unrenderable([String])
}

extension AssetCatalogue {
    /// Returns the kind of an asset's current version.
    ///
    /// - Throws: Errors of the catalogue, and of reading sidecars and headers. An asset whose file is missing counts as
    ///   one without an adjustment in it.
    /// - Complexity: Some queries; for catalogues of others, reads of the headers and the sidecars of one file.
    package func currentVersion(of asset: CataloguedAsset) throws(BlobError) -> CurrentVersion {
        do throws(BlobError) {
            let (adjustment, picture) = try self.store.adjustment(ofCatalogued: asset)
            switch adjustment {
            case .none: return .original
            case .notRenderable(let identifiers): return .unrenderable(identifiers)
            case .renderable(let recipe):
                guard let size = picture.size else { return .original }
                let rendered = try RenderPlan(recipe, for: size).size
                return .rendered(width: rendered.width, height: rendered.height)
            }
        } catch  where error.code == .notFound {
            return .original
        }
    }
}
