package import BlobStreamsStandard
import Foundation

#if Photos
extension BlobRegistry {
    /// Returns the standard registry, with the asset library that the environment variable `BLOB_LIBRARY` specifies, if
    /// any.
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
    /// Returns the standard registry, because this build excludes asset libraries.
    package static func standardWithLibrary() throws -> BlobRegistry { .standard }
}
#endif
