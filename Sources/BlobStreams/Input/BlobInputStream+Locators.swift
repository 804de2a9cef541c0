public import Foundation

extension BlobInputStream {
    /// Creates a stream over the source that a locator names.
    ///
    /// - Parameters:
    ///   - locator: A locator or a path, as interpreted by ``BlobRegistry/locator(for:)``.
    ///   - registry: The registry that resolves the locator; `BlobRegistry.standard` of `BlobStreamsStandard` contains
    ///     the plugins of this package.
    ///   - mode: The mode, which determines whether calls wait.
    ///   - context: The context in which the locator is resolved and the stream works.
    /// - Throws: ``BlobError/Code/invalidLocator``, ``BlobError/Code/notRegistered``, and the errors of the plugins. An
    ///   error of the source itself is reported when the stream is opened, unless resolving the locator has to read the
    ///   source.
    public convenience init(
        _ locator: String, registry: BlobRegistry, mode: BlobStreamMode = .synchronous,
        context: BlobContext = BlobContext()
    ) throws {
        self.init(try registry.source(for: locator, context: context), mode: mode, context: context)
    }

    /// Creates a stream over an asset, asynchronous for a delegate on a run loop unless `asynchronous` is false.
    ///
    /// The body of a `URLRequest` and a part of a multipart form are read as synchronous streams.
    ///
    /// - Throws: As ``init(_:registry:mode:context:)``.
    public convenience init(
        assetURL: URL, asynchronous: Bool = true, registry: BlobRegistry, context: BlobContext = BlobContext()
    ) throws {
        let mode = asynchronous ? BlobStreamMode.asynchronous : .synchronous
        try self.init(assetURL.absoluteString, registry: registry, mode: mode, context: context)
    }
}
