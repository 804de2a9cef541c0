#if Photos
public import BlobCore
public import Foundation

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

/// An asset of an ``AssetCatalogue``, as the catalogue described it at the time of the query.
///
/// Listing does not access the files: what the catalogue does not know is nil.
public struct CataloguedAsset: Hashable, Sendable, Identifiable {
    /// The identifier, which stays the same for as long as the catalogue has the asset: letters, digits and
    /// `-._~/%`, with all other bytes as `%XX`.
    public let id: String
    /// The absolute path of the file.
    public let path: String
    /// The length of the file in bytes, from 0, as the catalogue has it.
    public let byteCount: Int64
    /// The name of the asset; nil when it has none.
    public var name: String?
    /// The SHA-256 of the file, 32 bytes; nil when it is unknown.
    public var sha256: [UInt8]?
    /// The description of the content.
    public var media = MediaDescription()
    /// The modification date of the file.
    public var modificationDate: Date?
    /// The identifier of the other half of a live photo, of the film or of the picture; nil also in a list of a
    /// catalogue that would have to search for it.
    public var pairID: String?
    /// The paths of the files beside this one that describe it: XMP, AAE and the JSON of Google Takeout.
    public var sidecarPaths: [String] = []
    /// True when the catalogue knows that the file is not in its place.
    public var isMissing = false
    /// The adjustment that the catalogue has; nil when sidecars and the file itself describe it.
    var adjustment: Adjustment?

    /// Creates the description of an asset.
    public init(id: String, path: String, byteCount: Int64) {
        (self.id, self.path, self.byteCount) = (id, path, byteCount)
        self.name = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[path.utf8.index(after: $0)...]) }
    }

    /// The asset's URL: `assets-library://asset/asset.JPG?id=ID&ext=JPG`.
    public var locator: BlobLocator { BlobLocator(asset: self.id, fileExtension: self.fileExtension) }

    /// The extension of the name, if any URL can contain it.
    var fileExtension: String? { self.name.flatMap(LibraryFolder.fileExtension(ofName:)) }

    /// A number that is another one when the adjustment may be.
    var adjustmentNumber: Int64 {
        var hasher = Hasher()
        hasher.combine(self.adjustment)
        for path in self.sidecarPaths {
            hasher.combine(path)
            let status = FileStatus(at: path)
            hasher.combine(status?.byteCount)
            hasher.combine(status?.modificationTime)
        }
        return Int64(hasher.finalize()) & .max
    }
}
#endif
