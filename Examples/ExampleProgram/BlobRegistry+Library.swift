package import BlobStreamsStandard
import Foundation

#if Photos
extension BlobRegistry {
    /// Returns the standard registry, with the asset library of `BLOB_LIBRARY` in the environment, if that is set.
    package static func standardWithLibrary() throws -> BlobRegistry {
        var registry = BlobRegistry.standard
        if let folder = ProcessInfo.processInfo.environment["BLOB_LIBRARY"] {
            try registry.register(.assetLibrary(at: URL(fileURLWithPath: folder)))
        }
        return registry
    }
}
#else
extension BlobRegistry {
    /// Returns the standard registry: the part of asset libraries is off.
    package static func standardWithLibrary() throws -> BlobRegistry { .standard }
}
#endif
