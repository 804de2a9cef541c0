#if Photos
import AssetLibrarySource
import BlobCore
import BlobTestSupport
import Foundation

extension SourceMaker {
    /// Assets, where the asset library is part of the build.
    static let assets = [
        SourceMaker(testDescription: "asset") { bytes, folder in
            let library = try AssetLibrary.create(at: folder.url(UUID().uuidString))
            let asset = try library.importAsset(from: MemorySource(bytes), name: "a.bin").asset
            return library.source(for: asset.id)
        }
    ]
}
#else
extension SourceMaker {
    /// None: the asset library is not part of the build.
    static let assets: [SourceMaker] = []
}
#endif
