#if Photos
package import BlobCore
import BlobHelper
import Foundation
import GRDB

/// The queries with which readers find an asset and its file, in an ``AssetLibrary`` or another catalogue.
protocol AssetBackend: Sendable {
    /// The path of the catalogue, for messages.
    var path: String { get }
    /// The cache of rendered pictures.
    var renditions: RenditionCache { get }

    /// Returns an asset with the digest of its original; nil if not found.
    ///
    /// - Throws: ``BlobError/Code/notFound`` if the digest must be computed and the original is missing.
    func asset(named id: String, _ context: BlobContext) throws(BlobError) -> Asset?

    /// Returns the facts on which a reader depends, without reading the original; nil if the asset does not exist.
    func record(of id: String, _ version: AssetSource.Version) throws(BlobError) -> AssetRecord?

    /// Opens the original of an asset.
    func file(of asset: Asset) throws(BlobError) -> OriginalFile

    /// Returns the digests of an asset's blocks, computing them if they are not stored.
    func blocks(
        of asset: Asset, computing: () throws(BlobError) -> (sha256: [UInt8], blocks: BlockDigests)
    ) throws(BlobError) -> BlockDigests

    /// Returns the last commit to the catalogue.
    func lastCommit() throws(BlobError) -> CatalogueCommit

    /// Calls `body` after changes to the catalogue, or periodically, until the returned objects are released.
    func observeCommits(_ body: @escaping @Sendable () -> Void) -> [any AnyObject & Sendable]

    /// Returns the adjustment of an asset.
    func adjustment(of asset: Asset) throws(BlobError) -> Adjustment

    /// Returns the adjustment of an asset and the picture to which it applies, without needing the digest of the
    /// original.
    func adjustment(ofCatalogued asset: CataloguedAsset) throws(BlobError) -> (Adjustment, DecodedPicture)

    /// Returns the identifier of the asset that is the render of an asset with its adjustment; nil if not found.
    func render(of asset: Asset) throws(BlobError) -> String?

    /// Returns all known facts about the original of an asset.
    func media(of asset: Asset, _ context: BlobContext) throws(BlobError) -> MediaDescription
}

/// A resolver that looks up an asset and its file in the current catalogue.
struct AssetResolver {
    let backend: any AssetBackend
    let id: String

    init(backend: any AssetBackend, id: String) { (self.backend, self.id) = (backend, id) }

    init(library: AssetLibrary, id: UUID) { self.init(backend: library, id: id.uuidString) }

    /// Returns the asset.
    ///
    /// - Throws: ``BlobError/Code/notFound`` if the asset does not exist.
    func asset(_ context: BlobContext = BlobContext()) throws(BlobError) -> Asset {
        if let asset = try self.backend.asset(named: self.id, context) { return asset }
        throw BlobError(.notFound, "There is no such asset in the library '\(self.backend.path)'.")
    }

    func record(_ version: AssetSource.Version) throws(BlobError) -> AssetRecord? {
        try self.backend.record(of: self.id, version)
    }

    func file(of asset: Asset) throws(BlobError) -> OriginalFile { try self.backend.file(of: asset) }

    /// Opens the original, and reads it once to verify it.
    ///
    /// - Throws: ``BlobError/Code/checksumMismatch`` if its bytes are not the imported bytes.
    func verifiedFile(of asset: Asset, _ context: BlobContext) throws(BlobError) -> OriginalFile {
        let file = try self.file(of: asset)
        let blocks = try self.backend.blocks(of: asset) { () throws(BlobError) in
            try file.digests(byteCount: asset.byteCount, context)
        }
        guard try file.hasContent(of: asset, blocks, context) else {
            throw BlobError(
                .checksumMismatch, "The original is damaged: its content differs from the imported content.",
                byteOffset: 0
            )
        }
        return file
    }
}

extension AssetLibrary: AssetBackend {
    /// Returns the last commit to the catalogue; reopens the catalogue if its file was replaced, unless the library was
    /// opened for writing.
    ///
    /// - Throws: ``BlobError/Code/changed`` if the library was opened for writing and its catalogue was replaced;
    ///   errors while reading.
    func lastCommit() throws(BlobError) -> CatalogueCommit {
        try self.catalogues.withLock { catalogues throws(BlobError) in
            try catalogues.lastCommit(mayReopen: self.access == .reading)
        }
    }

    func asset(named id: String, _ context: BlobContext) throws(BlobError) -> Asset? {
        try UUID(uuidString: id).flatMap { id throws(BlobError) in try self.catalogue.asset(id) }
    }

    func record(of id: String, _ version: AssetSource.Version) throws(BlobError) -> AssetRecord? {
        try self.asset(named: id, BlobContext()).map { AssetRecord($0, version) }
    }

    func file(of asset: Asset) throws(BlobError) -> OriginalFile {
        try OriginalFile(self.folder.path(ofStored: asset.storedPath))
    }

    func observeCommits(_ body: @escaping @Sendable () -> Void) -> [any AnyObject & Sendable] {
        guard let watch = try? self.watch() else { return [] }
        return [watch, watch.state.observe(\.self) { _ in body() }]
    }

    func adjustment(ofCatalogued asset: CataloguedAsset) throws(BlobError) -> (Adjustment, DecodedPicture) {
        let picture = DecodedPicture(asset.media)
        guard let id = UUID(uuidString: asset.id) else { return (.none, picture) }
        return (try self.descriptions(of: id) { asset.path }.adjustment(of: picture), picture)
    }

    func render(of asset: Asset) throws(BlobError) -> String? { try self.renderID(of: asset)?.uuidString }

    func media(of asset: Asset, _ context: BlobContext) throws(BlobError) -> MediaDescription { asset.media }
}

/// The kind of content of an asset's current version, as far as known without rendering.
package enum CurrentVersion: Hashable, Sendable {
    /// The original.
    case original
    /// A JPEG of a size in pixels, whose length in bytes is known only after rendering.
    case rendered(width: Int, height: Int)
    /// No content, because the named adjustments cannot be rendered.
    case unrenderable([String])
}

extension AssetCatalogue {
    /// Returns the kind of content of an asset's current version.
    ///
    /// - Throws: Errors from the catalogue; errors reading sidecars and headers. A missing file is treated as a file
    ///   without an adjustment.
    /// - Complexity: A few queries; for other programs' catalogues, also reads of the headers and the sidecars of one
    ///   file.
    package func currentVersion(of asset: CataloguedAsset) throws(BlobError) -> CurrentVersion {
        do throws(BlobError) {
            let (adjustment, picture) = try self.backend.adjustment(ofCatalogued: asset)
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

extension AssetLibrary {
    /// Returns the digests of an asset's blocks.
    ///
    /// The digests are read from the catalogue, or computed once and then stored, or kept in memory if storing fails.
    ///
    /// - Parameter computing: A closure that computes the digests by reading the original.
    /// - Throws: ``BlobError/Code/checksumMismatch`` if the original does not have the imported bytes; errors thrown by
    ///   `computing`; errors reading the catalogue.
    func blocks(
        of asset: Asset, computing: () throws(BlobError) -> (sha256: [UInt8], blocks: BlockDigests)
    ) throws(BlobError) -> BlockDigests {
        if let blocks = try self.catalogue.blocks(of: asset) { return blocks }
        if let blocks = self.unstoredBlocks.withLock({ $0[asset.sha256] }) { return blocks }
        let (found, blocks) = try computing()
        guard found == asset.sha256 else {
            throw BlobError(
                .checksumMismatch,
                "The original has the SHA-256 \(found.hexadecimal), but had "
                    + "\(asset.sha256.hexadecimal) when it was imported.", byteOffset: 0)
        }
        do {
            if self.access == .writing {
                try self.catalogue.setBlocks(blocks, of: asset)
            } else {
                let catalogue = try Catalogue(in: self.folder.path, isReadOnly: false)
                try catalogue.migrate()
                try catalogue.setBlocks(blocks, of: asset)
            }
        } catch {
            // A failure to store the digests must not prevent reading, because the library may be on a read-only
            // medium.
            self.unstoredBlocks.withLock { kept in
                if kept.values.reduce(0, { $0 + $1.byteCount }) >= Self.unstoredByteLimit { kept = [:] }
                kept[asset.sha256] = blocks
            }
        }
        return blocks
    }

    /// The number of bytes at which the digests in memory are discarded; sufficient for 128 GiB of originals.
    private static let unstoredByteLimit = 16 << 20
}
#endif
