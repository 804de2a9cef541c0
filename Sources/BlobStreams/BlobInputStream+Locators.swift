import Foundation

extension BlobInputStream {
    /// Creates a stream over what a locator names.
    ///
    /// - Parameters:
    ///   - locator: As in ``BlobLocator``.
    ///   - registry: Who knows the schemes; `BlobRegistry.standard` of `BlobStreamsStandard` knows all that come along.
    ///   - mode: Whether calls wait.
    ///   - context: The terms of finding the source and of the stream.
    /// - Throws: ``BlobError/Code/invalidLocator``, ``BlobError/Code/notRegistered``; what is wrong with the source itself
    ///   shows when the stream is opened.
    public convenience init(
        _ locator: String, registry: BlobRegistry, mode: BlobStreamMode = .synchronous,
        context: BlobContext = BlobContext()
    ) throws {
        self.init(try registry.source(for: locator, context: context), mode: mode, context: context)
    }

    /// Creates a stream over an asset, for a delegate on a run loop unless `asynchronous` is false.
    public convenience init(
        assetURL: URL, asynchronous: Bool = true, registry: BlobRegistry, context: BlobContext = BlobContext()
    ) throws {
        let mode = asynchronous ? BlobStreamMode.asynchronous : .synchronous
        try self.init(assetURL.absoluteString, registry: registry, mode: mode, context: context)
    }

    /// Creates a stream over an asset, for the body of a `URLRequest`: synchronous, as `URLSession` wants it.
    public convenience init(
        forURLSessionWithAssetURL assetURL: URL, registry: BlobRegistry, context: BlobContext = BlobContext()
    ) throws {
        try self.init(assetURL: assetURL, asynchronous: false, registry: registry, context: context)
    }

    /// Creates a stream over an asset, for a part of a multipart form: synchronous, as builders of forms want it.
    public convenience init(
        forMultipartFormWithAssetURL assetURL: URL, registry: BlobRegistry, context: BlobContext = BlobContext()
    ) throws {
        try self.init(assetURL: assetURL, asynchronous: false, registry: registry, context: context)
    }
}
