public import BlobCore
public import Foundation

extension BlobProvider {
    /// Returns a provider of `assets-library` and `ph` locators, for the assets of the library in `folder`.
    ///
    /// The library is opened for reading when the first asset is resolved, and stays open.
    ///
    ///     var registry = BlobRegistry.standard
    ///     try registry.register(.assetLibrary(at: folder))
    public static func assetLibrary(at folder: URL) -> BlobProvider {
        self.assetLibrary { folder }
    }

    /// Returns a provider as ``assetLibrary(at:)`` does, for a folder that is determined when the first asset is
    /// resolved.
    ///
    /// - Parameter folder: Returns the folder, or throws when it is unknown. Called until it returns.
    package static func assetLibrary(at folder: @escaping @Sendable () throws(BlobError) -> URL) -> BlobProvider {
        let opened = Locked<AssetLibrary?>(nil)
        let library = { @Sendable () throws(BlobError) -> AssetLibrary in
            // Under the lock, so that concurrent first uses open the library only once.
            try opened.withLock { (library: inout AssetLibrary?) throws(BlobError) -> AssetLibrary in
                if let library { return library }
                let opened = try AssetLibrary(at: folder())
                library = opened
                return opened
            }
        }
        return BlobProvider(
            .origin { locator, _ in
                let id = try locator.assetID()
                let version = try locator.assetVersion()
                _ = try library()
                return AssetSource(
                    id, fileExtension: locator.assetExtension, AssetSource.Options(version: version), library: library)
            }, schemes: [BlobLocator.assetScheme, BlobLocator.photoScheme])
    }
}
