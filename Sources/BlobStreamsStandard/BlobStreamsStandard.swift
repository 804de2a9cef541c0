@_exported import ArchiveSource
@_exported import BlobCore
@_exported import BlobStreams
@_exported import CryptoDigest
@_exported import FileSource
public import Foundation
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

extension BlobInputStream {
    /// Creates a stream over the bytes at a URL with any scheme of ``BlobCore/BlobRegistry/standard``; nil if the URL
    /// has another scheme, or names nothing that can be resolved.
    ///
    /// As with `InputStream(url:)`, a missing file is an error when the stream is opened. To learn why a URL cannot be
    /// resolved, or to use another registry, call ``BlobStreams/BlobInputStream/init(_:registry:mode:context:)``.
    ///
    /// - Parameters:
    ///   - url: An absolute URL; its fragment names a member of an archive.
    ///   - mode: The mode, which determines whether calls wait.
    ///   - context: The context in which the URL is resolved and the stream works.
    public convenience init?(
        url: URL, mode: BlobStreamMode = .synchronous, context: BlobContext = BlobContext()
    ) {
        guard let locator = try? BlobLocator(url.absoluteString),
            let source = try? BlobRegistry.standard.source(for: locator, context: context)
        else { return nil }
        self.init(source, mode: mode, context: context)
    }

    /// Creates a stream over the bytes of a file; a missing file is an error when the stream is opened.
    ///
    /// - Parameters:
    ///   - path: A path as in ``FileSource/FileSource/init(path:growth:)``.
    ///   - mode: The mode, which determines whether calls wait.
    ///   - context: The context of the stream.
    public convenience init(
        fileAtPath path: String, mode: BlobStreamMode = .synchronous, context: BlobContext = BlobContext()
    ) {
        self.init(FileSource(path: path), mode: mode, context: context)
    }
}
