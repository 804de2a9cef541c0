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
    package let kind: Kind

    /// The schemes it answers to, in lower case; those of filters and containers are the wrappers of locators.
    public internal(set) var schemes: [String]

    /// The media types of what it decodes, in lower case and without parameters.
    package let mediaTypes: [String]

    /// The file name extensions of what it decodes, in lower case and without the dot; `tar.gz` is one.
    package let fileExtensions: [String]

    /// The signatures of what it decodes.
    package let signatures: [BlobSignature]

    /// Recognises a format that has no signature of its own by its first 512 bytes at most (fewer when the blob has
    /// fewer); asked when no signature of any provider matches. Nil when there is no such format.
    package let recognizes: (@Sendable (_ beginning: [UInt8]) -> Bool)?

    /// Recognises a format that a source has something else before, such as a program that unpacks it; asked last, and
    /// only of sources that can seek. Nil when there is no such format.
    package let recognizesWithin: (@Sendable (any BlobInputStreamDataSource, BlobContext) throws -> Bool)?

    /// Creates a provider; at least one scheme is needed.
    public init(
        _ kind: Kind, schemes: [String], mediaTypes: [String] = [], fileExtensions: [String] = [],
        signatures: [BlobSignature] = [], recognizes: (@Sendable (_ beginning: [UInt8]) -> Bool)? = nil,
        recognizesWithin: (@Sendable (any BlobInputStreamDataSource, BlobContext) throws -> Bool)? = nil
    ) {
        precondition(!schemes.isEmpty, "A provider has a scheme.")
        self.kind = kind
        self.schemes = schemes
        self.mediaTypes = mediaTypes
        self.fileExtensions = fileExtensions
        self.signatures = signatures
        self.recognizes = recognizes
        self.recognizesWithin = recognizesWithin
    }
}
