import BlobStreams
import Foundation

extension BlobProvider {
    /// What answers to `assets-library` locators, with the assets of the library in `folder`.
    ///
    /// The library is opened for reading when the first asset is asked for, and stays open.
    ///
    ///     var registry = BlobRegistry.standard
    ///     try registry.register(.assetLibrary(at: folder))
    public static func assetLibrary(at folder: URL) -> BlobProvider {
        self.assetLibrary { folder }
    }

    /// As ``assetLibrary(at:)``, for a folder that is asked for with the first asset, and may turn out to be unknown.
    package static func assetLibrary(at folder: @escaping @Sendable () throws(BlobError) -> URL) -> BlobProvider {
        let opened = Locked<AssetLibrary?>(nil)
        let library = { @Sendable () throws(BlobError) -> AssetLibrary in
            // Under the lock, so that two who come first do not open it twice.
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
                _ = try library()
                return AssetSource(id, fileExtension: locator.assetExtension, removal: .finish, library: library)
            }, schemes: [BlobLocator.assetScheme], module: "AssetLibrarySource")
    }
}
