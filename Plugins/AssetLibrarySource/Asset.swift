import BlobStreams
import Foundation

/// What the catalogue of an ``AssetLibrary`` knows of one asset, at the moment it was asked.
public struct Asset: Hashable, Sendable, Identifiable {
    /// Stays the same for the asset's life.
    public let id: UUID

    /// The name that it was imported under; nil when its source had none.
    public let name: String?

    /// The extension, 1 to 16 letters and digits of ASCII; nil when neither name nor content suggest one.
    public let fileExtension: String?

    /// The length of the original in bytes, from 0.
    public let byteCount: Int64

    /// The SHA-256 of the original, 32 bytes.
    public let sha256: [UInt8]

    /// What the original says of itself.
    public let media: MediaDescription

    /// Counts the contents that the asset has had, from 1.
    public let generation: Int64

    /// Whether the last recovery did not find the original in its place.
    public let isMissing: Bool

    /// When it was imported.
    public let importDate: Date

    /// When the file that was imported had been modified; nil when its source could not tell.
    public let modificationDate: Date?

    /// Where the original lies in the library's folder; from the catalogue, so not to be trusted.
    let storedPath: String
}

extension Asset {
    /// The asset's URL, in the form of the assets library of iOS: `assets-library://asset/asset.JPG?id=UUID&ext=JPG`.
    public var locator: BlobLocator { BlobLocator(asset: self.id, fileExtension: self.fileExtension) }

    /// The identity of the original's bytes: the digest.
    public var validator: BlobValidator { .strong("sha256:\(self.sha256.hexadecimal)") }

    /// What a reader of the asset says of its bytes.
    var info: BlobInfo {
        BlobInfo(
            byteCount: self.byteCount, mediaType: self.media.mediaType, name: self.name, validator: self.validator)
    }

    /// The length of the longest extension that is kept; longer ones are names of other things.
    private static let extensionLimit = 16

    /// The extension of `name` if it is one that any file system and URL can hold.
    static func fileExtension(ofName name: String) -> String? {
        let bytes = name.utf8
        guard let dot = bytes.lastIndex(of: UInt8(ascii: ".")), dot != bytes.startIndex else { return nil }
        let suffix = String(name[bytes.index(after: dot)...])
        return self.isFileExtension(suffix) ? suffix : nil
    }

    static func isFileExtension(_ text: String) -> Bool {
        (1...self.extensionLimit).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                default: false
                }
            }
    }
}
