public import BlobCore
public import Foundation

extension BlobLocator {
    /// The scheme of asset URLs.
    static let assetScheme = "assets-library"
    /// The scheme of the URLs of PhotoKit, which name the same assets.
    static let photoScheme = "ph"

    /// Creates the URL of an asset.
    init(asset id: UUID, fileExtension: String?) {
        let name = fileExtension.map { ".\($0.uppercased())" } ?? ""
        let suffix = fileExtension.map { "&ext=\($0.uppercased())" } ?? ""
        do {
            self = try BlobLocator("\(Self.assetScheme)://asset/asset\(name)?id=\(id.uuidString)\(suffix)")
        } catch {
            preconditionFailure("An extension of letters and digits gives a locator: \(error)")
        }
    }

    /// Returns the identifier of the asset that this URL names; ignores the extension, which is for people.
    ///
    /// Besides the URLs of the assets library, those of PhotoKit are accepted: `ph://UUID`, and `ph://UUID/L0/001` with
    /// the local identifier of an asset.
    ///
    /// - Throws: ``BlobError/Code/invalidLocator`` when this is not the URL of an asset.
    public func assetID() throws(BlobError) -> UUID {
        let prefix = "//asset/asset"
        let rest = self.schemeSpecificPart
        if self.scheme == Self.assetScheme, rest.hasPrefix(prefix), let mark = rest.firstIndex(of: "?"),
            let id = rest[mark...].dropFirst().split(separator: "&").first(where: { $0.hasPrefix("id=") }),
            let uuid = UUID(uuidString: String(id.dropFirst(3)))
        {
            return uuid
        }
        if self.scheme == Self.photoScheme, let match = rest.wholeMatch(of: /\/\/([^\/]*)(?:\/L\d\/\d{3})?/),
            let uuid = UUID(uuidString: String(match.output.1))
        {
            return uuid
        }
        throw BlobError(
            .invalidLocator,
            "An asset is named as in \(Self.assetScheme)://asset/asset.JPG?id=UUID&ext=JPG, or \(Self.photoScheme)://UUID.",
            operation: "resolve", locator: self.description)
    }
}

extension BlobLocator {
    /// The extension in an asset's URL; nil when there is none.
    var assetExtension: String? {
        guard let mark = self.schemeSpecificPart.firstIndex(of: "?") else { return nil }
        let name = self.schemeSpecificPart[..<mark]
        return Asset.fileExtension(ofName: String(name))
    }
}
