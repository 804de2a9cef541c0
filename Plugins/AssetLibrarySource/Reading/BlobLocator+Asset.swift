#if Photos
public import BlobCore
public import Foundation

extension BlobLocator {
    /// The scheme of asset URLs.
    static let assetScheme = "assets-library"
    /// The scheme of PhotoKit URLs, which identify the same assets.
    static let photoScheme = "ph"

    /// Creates the URL of a version of an asset.
    ///
    /// - Parameter id: An identifier. Characters that a query cannot contain are percent-encoded, except '%', because
    ///   identifiers are already encoded.
    init(
        asset id: String, fileExtension: String?, version: AssetSource.Version = .current,
        unrenderable: AssetSource.UnrenderablePolicy = .fail
    ) {
        let name = fileExtension.map { ".\($0.uppercased())" } ?? ""
        let policy = Self.policies.first { $0.value == unrenderable && unrenderable != .fail }?.key
        let suffix =
            (fileExtension.map { "&ext=\($0.uppercased())" } ?? "")
            + (version == .original ? "&version=original" : "") + (policy.map { "&unrenderable=\($0)" } ?? "")
        let make = { (id: String) in try? BlobLocator("\(Self.assetScheme)://asset/asset\(name)?id=\(id)\(suffix)") }
        // If the identifier is not encoded, a '%' is a literal character.
        let text = PercentEncoding.encode(id.utf8, leaving: Self.idCharacters)
        guard let locator = make(text) ?? make(text.replacing("%", with: "%25")) else {
            preconditionFailure(
                "An encoded identifier and an extension of letters and digits must form a valid locator.")
        }
        self = locator
    }

    private static let idCharacters = ByteSet(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/%".utf8)

    /// Creates the URL of an asset of an ``AssetLibrary``.
    init(asset id: UUID, fileExtension: String?) { self.init(asset: id.uuidString, fileExtension: fileExtension) }

    /// Returns the identifier of the asset that this URL identifies, ignoring the extension, which is only for display.
    ///
    /// PhotoKit URLs are also accepted: `ph://UUID`, and `ph://UUID/L0/001` with the local identifier of an asset.
    ///
    /// - Throws: ``BlobError/Code/invalidLocator`` if this locator is not the URL of an asset.
    public func assetID() throws(BlobError) -> UUID {
        let prefix = "//asset/asset"
        let rest = self.schemeSpecificPart
        if self.scheme == Self.assetScheme, rest.hasPrefix(prefix), let id = self.assetItem("id"),
            let uuid = UUID(uuidString: id)
        {
            return uuid
        }
        if self.scheme == Self.photoScheme, let match = rest.wholeMatch(of: /\/\/([^\/]*)(?:\/L\d\/\d{3})?/),
            let uuid = UUID(uuidString: String(match.output.1))
        {
            return uuid
        }
        throw self.notAnAssetError
    }

    /// Returns the identifier in any catalogue: the value of the query item `id`, or the UUID of a PhotoKit URL.
    ///
    /// - Throws: The errors thrown by ``assetID()``.
    package func catalogueID() throws(BlobError) -> String {
        guard self.scheme == Self.assetScheme else { return try self.assetID().uuidString }
        guard self.schemeSpecificPart.hasPrefix("//asset/asset"), let id = self.assetItem("id"), !id.isEmpty else {
            throw self.notAnAssetError
        }
        return id
    }

    private var notAnAssetError: BlobError {
        BlobError(
            .invalidLocator,
            "The URL of an asset must be \(Self.assetScheme)://asset/asset.JPG?id=UUID&ext=JPG or "
                + "\(Self.photoScheme)://UUID.",
            operation: "resolve", locator: self.description)
    }
}

extension BlobLocator {
    /// The names of versions and policies in URLs.
    private static let versions: [String: AssetSource.Version] = ["current": .current, "original": .original]
    private static let policies: [String: AssetSource.UnrenderablePolicy] = [
        "fail": .fail, "original": .original, "render": .storedRender,
    ]

    /// Returns the version in this URL; the current version by default.
    ///
    /// - Throws: ``BlobError/Code/invalidLocator`` for an unknown version.
    func assetVersion() throws(BlobError) -> AssetSource.Version {
        try self.choice("version", Self.versions) { name in
            "The version of an asset must be 'current' or 'original', not '\(name)'."
        } ?? .current
    }

    /// Returns the treatment of a picture whose adjustment cannot be rendered; nil if the URL does not specify a
    /// treatment.
    ///
    /// - Throws: ``BlobError/Code/invalidLocator`` for an unknown treatment.
    func unrenderablePolicy() throws(BlobError) -> AssetSource.UnrenderablePolicy? {
        try self.choice("unrenderable", Self.policies) { name in
            "The value of 'unrenderable' must be 'fail', 'original' or 'render', not '\(name)'."
        }
    }

    private func choice<Choice>(
        _ item: String, _ choices: [String: Choice], _ message: (String) -> String
    ) throws(BlobError) -> Choice? {
        guard let name = self.assetItem(item) else { return nil }
        if let choice = choices[name] { return choice }
        throw BlobError(.invalidLocator, message(name), operation: "resolve", locator: self.description)
    }

    /// Returns the value of the first query item with this name.
    private func assetItem(_ name: String) -> String? {
        let rest = self.schemeSpecificPart
        guard let mark = rest.firstIndex(of: "?") else { return nil }
        let items = rest[mark...].dropFirst().split(separator: "&")
        return items.first { $0.hasPrefix("\(name)=") }.map { String($0.dropFirst(name.utf8.count + 1)) }
    }

    /// The extension in an asset's URL; nil if it has no extension.
    var assetExtension: String? {
        guard let mark = self.schemeSpecificPart.firstIndex(of: "?") else { return nil }
        let name = self.schemeSpecificPart[..<mark]
        return LibraryFolder.fileExtension(ofName: String(name))
    }
}
#endif
