public import BlobCore

/// A catalogue of photos and films: our own ``AssetLibrary``, a folder, or the database of another program.
///
/// ``AssetLibrary/catalogue(at:)`` opens the catalogues that this module knows; other modules write this protocol for
/// theirs. Everything else comes with it: sources that verify what they read, follow changes and render adjustments.
///
/// ```swift
/// let photos = try AssetLibrary.catalogue(at: URL(fileURLWithPath: "Pictures"))
/// try photos.forEachCataloguedAsset(in: nil) { print($0.locator, $0.byteCount) }
/// let bytes = try await photos.source(for: "2024/IMG_0001.JPG").data(upTo: 1 << 30)
/// ```
///
/// The catalogues of others, and their files, are only read. Safe to use from any thread; calls block.
public protocol AssetCatalogue: Sendable {
    /// The path of the folder or of the database, for messages.
    var path: String { get }

    /// Returns the asset with an identifier; nil when there is none.
    ///
    /// - Throws: Errors of the catalogue.
    /// - Complexity: One look-up in an index, and a few of names in the folder of the file.
    func cataloguedAsset(_ id: String) throws(BlobError) -> CataloguedAsset?

    /// Calls `body` with every asset, or with those of a collection, in an order that stays the same while the
    /// catalogue does.
    ///
    /// Memory use does not grow with the number of assets in the catalogue, and no lock is held during the calls.
    /// Assets that come or go during the calls may be included or not.
    ///
    /// - Parameters:
    ///   - collection: The identifier of a collection; nil for all assets.
    ///   - body: Called with each asset.
    /// - Throws: ``BlobError/Code/notFound`` when there is no such collection; errors of the catalogue and of `body`,
    ///   which end the calls.
    func forEachCataloguedAsset(in collection: String?, _ body: (CataloguedAsset) throws -> Void) throws

    /// Returns all collections; by default, there are none.
    ///
    /// - Throws: Errors of the catalogue.
    func collections() throws(BlobError) -> [AssetCollection]

    /// Returns a number that is another one after each change of the catalogue, by whichever program; nil, by default,
    /// when there is none.
    ///
    /// Readers look their asset up again when the number has changed; without one, before each block.
    ///
    /// - Throws: Errors of the catalogue.
    func revision() throws(BlobError) -> Int64?
}

extension AssetCatalogue {
    /// Returns no collections.
    public func collections() throws(BlobError) -> [AssetCollection] { [] }

    /// Returns nil.
    public func revision() throws(BlobError) -> Int64? { nil }
}

/// A collection of assets: an album, a tag, an event or a folder.
public struct AssetCollection: Hashable, Sendable, Identifiable {
    /// The kind of a collection.
    public enum Kind: String, Sendable {
        /// A list that somebody made; in digiKam, a folder.
        case album
        /// A list whose items are copies; see ``AssetLibrary/Album/isShared``.
        case sharedStream = "shared"
        /// The assets with a tag.
        case tag
        /// The assets of a time that a program or a person put together.
        case event
        /// The files of a folder.
        case folder
    }

    /// The identifier, which no other collection of the catalogue has.
    public let id: String
    /// The name, of which there may be several; names in it are separated by slashes.
    public let name: String
    /// The kind.
    public let kind: Kind
    /// The number of assets, from 0; nil when it would have to be counted one by one.
    public let itemCount: Int?

    /// Creates a collection.
    public init(id: String, name: String, kind: Kind, itemCount: Int?) {
        (self.id, self.name, self.kind, self.itemCount) = (id, name, kind, itemCount)
    }
}
