@_exported import ArchiveSource
@_exported import BlobCore
@_exported import BlobStreams
@_exported import CryptoDigest
@_exported import FileSource
@_exported import GzipSource
@_exported import HTTPSource
@_exported import S3Source

#if Photos
@_exported import AssetLibrarySource
#endif

extension BlobRegistry {
    /// A registry with all plugins of this package; an asset library is registered separately, with its location.
    public static let standard: BlobRegistry = {
        var registry = BlobRegistry()
        for provider in [
            FileSource.provider, .dataURL, .gzip, .zlib, .deflate, HTTPSource.provider, S3Source.provider,
        ] + BlobProvider.archives {
            do {
                try registry.register(provider)
            } catch {
                preconditionFailure("Two plugins of this package use the same scheme: \(error)")
            }
        }
        return registry
    }()
}
