#if Photos
public import BlobCore
public import Foundation

/// An asset of an ``AssetLibrary``, as the catalogue described it at the time of the query.
public struct Asset: Hashable, Sendable, Identifiable {
    /// The identifier, which never changes.
    public let id: UUID

    /// The name under which the asset was imported; nil if its source had no name.
    public let name: String?

    /// The file name extension, 1 to 16 ASCII letters and digits; nil if neither the name nor the content determines an
    /// extension.
    public let fileExtension: String?

    /// The length of the original in bytes, at least 0.
    public let byteCount: Int64

    /// The SHA-256 of the original, 32 bytes.
    public let sha256: [UInt8]

    /// The description of the original, from its content.
    public let media: MediaDescription

    /// The number of versions that the asset's content has had, at least 1.
    public let generation: Int64

    /// True if the catalogue records that the original is missing.
    public let isMissing: Bool

    /// The date at which the asset was imported.
    public let importDate: Date

    /// The modification date of the imported file; nil if the source did not provide a date.
    public let modificationDate: Date?

    /// The path of the original in the library's folder; untrusted, because it comes from the catalogue.
    let storedPath: String

    /// The identifier in a folder or in another program's catalogue; nil for an asset of an ``AssetLibrary``.
    var catalogueID: String?

    /// True if the original was imported by reference.
    var isReference: Bool { self.storedPath.hasPrefix("file:") }
}

extension Asset {
    /// The asset's URL, in the form of the assets library of iOS: `assets-library://asset/asset.JPG?id=UUID&ext=JPG`.
    public var locator: BlobLocator {
        BlobLocator(asset: self.catalogueID ?? self.id.uuidString, fileExtension: self.fileExtension)
    }

    /// The validator of the original: a strong validator made from its SHA-256.
    public var validator: BlobValidator { .strong("sha256:\(self.sha256.hexadecimal)") }

    /// The info that readers of the asset report.
    var info: BlobInfo {
        BlobInfo(
            byteCount: self.byteCount, mediaType: self.media.mediaType, name: self.name, validator: self.validator)
    }
}
#endif
