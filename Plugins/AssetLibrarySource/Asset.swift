#if Photos
public import BlobCore
public import Foundation

/// An asset of an ``AssetLibrary``, as the catalogue described it at the time of the query.
public struct Asset: Hashable, Sendable, Identifiable {
    /// The identifier, which never changes.
    public let id: UUID

    /// The name under which the asset was imported; nil when its source had none.
    public let name: String?

    /// The file name extension, 1 to 16 ASCII letters and digits; nil when neither the name nor the content suggests
    /// one.
    public let fileExtension: String?

    /// The length of the original in bytes, from 0.
    public let byteCount: Int64

    /// The SHA-256 of the original, 32 bytes.
    public let sha256: [UInt8]

    /// The description of the original, from its content.
    public let media: MediaDescription

    /// The number of contents that the asset has had, from 1.
    public let generation: Int64

    /// True when the last recovery did not find the original in its place.
    public let isMissing: Bool

    /// The date of the import.
    public let importDate: Date

    /// The modification date of the file that was imported; nil when its source did not provide it.
    public let modificationDate: Date?

    /// The path of the original in the library's folder; untrusted, because it comes from the catalogue.
    let storedPath: String

    /// The identifier in the catalogue of another program or in a folder; nil in our own.
    var catalogueID: String?

    /// True when the original stays where it was when it was imported.
    var isReference: Bool { self.storedPath.hasPrefix("file:") }
}

extension Asset {
    /// The asset's URL, in the form of the assets library of iOS: `assets-library://asset/asset.JPG?id=UUID&ext=JPG`.
    public var locator: BlobLocator {
        BlobLocator(asset: self.catalogueID ?? self.id.uuidString, fileExtension: self.fileExtension)
    }

    /// The validator of the original: a strong one, made from its SHA-256.
    public var validator: BlobValidator { .strong("sha256:\(self.sha256.hexadecimal)") }

    /// The info that readers of the asset provide.
    var info: BlobInfo {
        BlobInfo(
            byteCount: self.byteCount, mediaType: self.media.mediaType, name: self.name, validator: self.validator)
    }
}
#endif
