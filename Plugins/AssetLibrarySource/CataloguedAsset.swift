public import BlobCore
public import Foundation

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
    var fileExtension: String? { self.name.flatMap(Asset.fileExtension(ofName:)) }

    /// A number that is another one when the adjustment may be.
    var adjustmentNumber: Int64 {
        var hasher = Hasher()
        hasher.combine(self.adjustment)
        for path in self.sidecarPaths {
            hasher.combine(path)
            let status = try? FileSnapshot(path: path)
            hasher.combine(status?.byteCount)
            hasher.combine(status?.modification.inNanoseconds)
        }
        return Int64(hasher.finalize()) & .max
    }
}
