/// What a plugin adds to a ``BlobRegistry``: how to make sources, and what they are recognised by.
public struct BlobProvider: Sendable {
    /// What a provider makes its sources from.
    public enum Kind: Sendable {
        /// From a locator whose scheme is the provider's.
        case origin(@Sendable (BlobLocator, BlobContext) throws -> any BlobInputStreamDataSource)
        /// From another source, whose bytes it decodes: `gzip`.
        case filter(@Sendable (any BlobInputStreamDataSource, BlobContext) throws -> any BlobInputStreamDataSource)
        /// From another source, of which each member is a source: `tar`.
        case container(@Sendable (any BlobInputStreamDataSource, BlobContext) throws -> any BlobContainer)
    }

    /// What it makes its sources from.
    public var kind: Kind

    /// The schemes it answers to, in lower case; those of filters and containers are the wrappers of locators.
    public var schemes: [String]

    /// The media types of what it decodes, in lower case and without parameters.
    public var mediaTypes: [String]

    /// The file name extensions of what it decodes, in lower case and without the dot; `tar.gz` is one.
    public var fileExtensions: [String]

    /// The signatures of what it decodes.
    public var signatures: [BlobSignature]

    /// The module that it comes from, for `blob schemes` and messages.
    public var module: String

    /// Creates a provider; at least one scheme is needed.
    public init(
        _ kind: Kind, schemes: [String], mediaTypes: [String] = [], fileExtensions: [String] = [],
        signatures: [BlobSignature] = [], module: String
    ) {
        precondition(!schemes.isEmpty, "A provider has a scheme.")
        self.kind = kind
        self.schemes = schemes
        self.mediaTypes = mediaTypes
        self.fileExtensions = fileExtensions
        self.signatures = signatures
        self.module = module
    }
}

/// A source with members in it, as a plugin of kind container makes it.
public protocol BlobContainer: Sendable {
    /// The member that `selector` names, as a source.
    ///
    /// - Throws: ``BlobError/Code/notFound``, ``BlobError/Code/ambiguousMember``, and what reading the container
    ///   throws.
    func member(_ selector: BlobLocator.Selector, context: BlobContext) throws -> any BlobInputStreamDataSource
}
