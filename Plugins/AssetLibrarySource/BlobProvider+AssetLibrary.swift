public import BlobCore
public import Foundation

extension BlobProvider {
    /// Returns a provider of `assets-library` and `ph` locators, for the assets of the library, or of another catalogue, in
    /// `folder`.
    ///
    /// See ``AssetLibrary/catalogue(at:)``. It is opened for reading when the first asset is resolved, and stays open. The item `version=original`
    /// of the query names ``AssetSource/Version/original``; `unrenderable=original` and `unrenderable=render` name the
    /// cases of ``AssetSource/UnrenderablePolicy``.
    ///
    ///     var registry = BlobRegistry.standard
    ///     try registry.register(.assetLibrary(at: folder))
    public static func assetLibrary(at folder: URL) -> BlobProvider {
        self.assetLibrary { folder }
    }

    /// Returns a provider as ``assetLibrary(at:)`` does, for a folder that is determined when the first asset is
    /// resolved.
    ///
    /// - Parameters:
    ///   - unrenderable: The treatment of a picture that cannot be rendered, unless its URL names one.
    ///   - folder: Returns the folder, or throws when it is unknown. Called until it returns.
    package static func assetLibrary(
        unrenderable: AssetSource.UnrenderablePolicy = .fail,
        at folder: @escaping @Sendable () throws(BlobError) -> URL
    ) -> BlobProvider {
        let opened = Locked<(any AssetStore)?>(nil)
        let store = { @Sendable () throws(BlobError) -> any AssetStore in
            // Under the lock, so that concurrent first uses open the library only once.
            try opened.withLock { (store: inout (any AssetStore)?) throws(BlobError) -> any AssetStore in
                if let store { return store }
                let opened = try AssetLibrary.catalogue(at: folder()).store
                store = opened
                return opened
            }
        }
        return BlobProvider(
            .origin { locator, _ in
                var id = try locator.catalogueID()
                let options = AssetSource.Options(
                    version: try locator.assetVersion(), unrenderable: try locator.unrenderablePolicy() ?? unrenderable)
                if try store() is AssetLibrary { id = try locator.assetID().uuidString }
                return AssetSource(id, fileExtension: locator.assetExtension, options, store: store)
            }, schemes: [BlobLocator.assetScheme, BlobLocator.photoScheme])
    }
}
