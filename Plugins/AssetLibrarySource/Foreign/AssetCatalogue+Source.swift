extension AssetCatalogue {
    /// Returns a source of the bytes of an asset.
    ///
    /// A file of another program's catalogue, or of a folder, is read once for its digests, which are kept in the
    /// user's cache folder until it is touched; after that, an ``AssetSource`` treats it like an original of ours.
    ///
    /// - Parameters:
    ///   - id: The identifier of the asset, which need not exist yet.
    ///   - version: The version of an adjusted picture.
    ///   - unrenderable: The treatment of a picture whose adjustment cannot be rendered.
    ///   - removal: The effect on readers when the asset is removed while they are open.
    public func source(
        for id: String, version: AssetSource.Version = .current, unrenderable: AssetSource.UnrenderablePolicy = .fail,
        removal: AssetSource.RemovalPolicy = .finish
    ) -> AssetSource {
        let options = AssetSource.Options(version: version, unrenderable: unrenderable, removal: removal)
        return AssetSource(id, fileExtension: nil, options) { self.store }
    }

    /// The queries of readers.
    var store: any AssetStore { (self as? AssetLibrary) ?? ForeignStore(self) }
}
