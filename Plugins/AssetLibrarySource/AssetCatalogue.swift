#if Photos
public import BlobCore
public import Foundation

/// A catalogue of photos and videos: an ``AssetLibrary``, a folder, or the database of another program.
///
/// ``AssetLibrary/catalogue(at:)`` opens the catalogues that this module supports; other modules can conform their
/// catalogues to this protocol. Every catalogue provides sources that verify the bytes they read, follow changes and
/// render adjustments.
///
/// ```swift
/// let photos = try AssetLibrary.catalogue(at: URL(fileURLWithPath: "Pictures"))
/// try photos.forEachCataloguedAsset(in: nil) { print($0.locator, $0.byteCount) }
/// let bytes = try await photos.source(for: "2024/IMG_0001.JPG").data(upTo: 1 << 30)
/// ```
///
/// Files and catalogues of other programs are never modified. Safe to use from any thread; calls block.
public protocol AssetCatalogue: Sendable {
    /// The path of the folder or of the database, for messages.
    var path: String { get }

    /// Returns the asset with an identifier; nil if not found.
    ///
    /// - Throws: Errors from the catalogue.
    /// - Complexity: One index look-up, and a few name look-ups in the folder of the file.
    func cataloguedAsset(_ id: String) throws(BlobError) -> CataloguedAsset?

    /// Calls `body` with every asset, or with every asset of a collection, in an order that is stable while the
    /// catalogue does not change.
    ///
    /// Memory use does not grow with the number of assets in the catalogue, and no lock is held during the calls.
    /// Assets that are added or removed during the calls may or may not be included.
    ///
    /// - Parameters:
    ///   - collection: The identifier of a collection; nil for all assets.
    ///   - body: Called with each asset.
    /// - Throws: ``BlobError/Code/notFound`` if the collection does not exist; errors from the catalogue, and errors
    ///   thrown by `body`, which end the calls.
    func forEachCataloguedAsset(in collection: String?, _ body: (CataloguedAsset) throws -> Void) throws

    /// Returns all collections; by default, an empty array.
    ///
    /// - Throws: Errors from the catalogue.
    func collections() throws(BlobError) -> [AssetCollection]

    /// Returns a number that changes with each change to the catalogue by any program; nil, the default, if the
    /// catalogue has no such number.
    ///
    /// A reader looks up its asset again when the number has changed, or before each block if the number is nil.
    ///
    /// - Throws: Errors from the catalogue.
    func revision() throws(BlobError) -> Int64?
}

extension AssetCatalogue {
    /// Returns no collections.
    public func collections() throws(BlobError) -> [AssetCollection] { [] }

    /// Returns nil, because the catalogue has no such number.
    public func revision() throws(BlobError) -> Int64? { nil }
}

/// A collection of assets: an album, a tag, an event or a folder.
public struct AssetCollection: Hashable, Sendable, Identifiable {
    /// The kind of a collection.
    public enum Kind: String, Sendable {
        /// A list made by a user; in digiKam, a folder.
        case album
        /// A list whose items are copies; see ``AssetLibrary/Album/isShared``.
        case sharedStream = "shared"
        /// All assets with a tag.
        case tag
        /// Assets from a period of time, grouped by a program or a user.
        case event
        /// The files of a folder.
        case folder
    }

    /// The identifier, unique in the catalogue.
    public let id: String
    /// The name, which need not be unique; slashes separate the levels of a hierarchy.
    public let name: String
    /// The kind of the collection.
    public let kind: Kind
    /// The number of assets, at least 0; nil if the catalogue would have to count them one by one.
    public let itemCount: Int?

    /// Creates a collection.
    public init(id: String, name: String, kind: Kind, itemCount: Int?) {
        (self.id, self.name, self.kind, self.itemCount) = (id, name, kind, itemCount)
    }
}

/// An asset of an ``AssetCatalogue``, as the catalogue described it at the time of the query.
///
/// Listing does not access the files, so facts that the catalogue does not store are nil.
public struct CataloguedAsset: Hashable, Sendable, Identifiable {
    /// The identifier, which stays the same while the catalogue contains the asset: letters, digits and `-._~/%`, with
    /// all other bytes as `%XX`.
    public let id: String
    /// The absolute path of the file.
    public let path: String
    /// The length of the file in bytes, at least 0, as stored in the catalogue.
    public let byteCount: Int64
    /// The name of the asset; nil if it has no name.
    public var name: String?
    /// The SHA-256 of the file, 32 bytes; nil if unknown.
    public var sha256: [UInt8]?
    /// The description of the content.
    public var media = MediaDescription()
    /// The modification date of the file.
    public var modificationDate: Date?
    /// The identifier of the other half of a Live Photo: its video or its photo; nil for any other asset, and in
    /// listings if the catalogue would have to search for it.
    public var pairID: String?
    /// The paths of the sidecars that describe this file: XMP, AAE and the JSON of Google Takeout.
    public var sidecarPaths: [String] = []
    /// True if the file is missing, or if the catalogue records it as missing.
    public var isMissing = false
    /// The adjustment stored in the catalogue; nil if the sidecars or the file itself describe the adjustment.
    var adjustment: Adjustment?

    /// Creates the description of an asset.
    public init(id: String, path: String, byteCount: Int64) {
        (self.id, self.path, self.byteCount) = (id, path, byteCount)
        self.name = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[path.utf8.index(after: $0)...]) }
    }

    /// The asset's URL: `assets-library://asset/asset.JPG?id=ID&ext=JPG`.
    public var locator: BlobLocator { BlobLocator(asset: self.id, fileExtension: self.fileExtension) }

    /// The extension of the name; nil unless it is valid in any URL.
    var fileExtension: String? { self.name.flatMap(LibraryFolder.fileExtension(ofName:)) }

    /// A number that changes when the adjustment may have changed.
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
