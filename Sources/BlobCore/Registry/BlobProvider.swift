/// The entry of a plugin in a ``BlobRegistry``: a factory of sources, and the properties by which its formats are
/// recognised.
///
/// ```swift
/// let text = BlobProvider(
///     .origin { locator, _ in MemorySource(locator.schemeSpecificPart.utf8) }, schemes: ["text"])
/// var plugins = BlobRegistry.standard
/// try plugins.register(text)
/// let hello = try plugins.source(for: "text:Hello")
/// ```
public struct BlobProvider: Sendable {
    /// The kind of a provider, with the closure that creates its sources.
    public enum Kind: Sendable {
        /// An origin, which creates a source from a locator with a scheme of the provider.
        case origin(@Sendable (BlobLocator, BlobContext) throws -> any BlobInputStreamDataSource)
        /// A filter, which creates a source that decodes the bytes of another source, such as `gzip`.
        case filter(@Sendable (any BlobInputStreamDataSource, BlobContext) throws -> any BlobInputStreamDataSource)
        /// A container format, which creates a container from another source; each member is a source: `tar`.
        case container(@Sendable (any BlobInputStreamDataSource, BlobContext) throws -> any BlobContainer)
    }

    /// The kind of the provider.
    package let kind: Kind

    /// The schemes of the provider, in lower case; the schemes of filters and containers are the wrappers of locators.
    public internal(set) var schemes: [String]

    /// True for an origin whose sources connect to other machines.
    ///
    /// A program that takes locators from data, such as a list, can refuse locators that reach the network with its
    /// user's credentials: see ``BlobRegistry/reachesNetwork(_:)``.
    public let reachesNetwork: Bool

    /// The media types of the formats that the provider decodes, in lower case and without parameters.
    package let mediaTypes: [String]

    /// The file name extensions of the formats that the provider decodes, in lower case and without the dot, such as
    /// `tar.gz`.
    package let fileExtensions: [String]

    /// The signatures of the formats that the provider decodes.
    package let signatures: [BlobSignature]

    /// Recognises a format without a signature by its first 512 bytes at most (fewer if the blob is shorter). Called if
    /// no signature of any provider matches; nil if the provider has no such format.
    package let recognizes: (@Sendable (_ beginning: [UInt8]) -> Bool)?

    /// Recognises a format that other data may precede, such as a self-extracting archive. Called last, and only for
    /// repeatable sources with random access; nil if the provider has no such format.
    package let recognizesWithin: (@Sendable (any BlobInputStreamDataSource, BlobContext) throws -> Bool)?

    /// The name of the module that created the provider, for messages.
    package let module: String

    /// Creates a provider with at least one scheme.
    ///
    /// The module is taken from `fileID`, the file of the call.
    public init(
        _ kind: Kind, schemes: [String], mediaTypes: [String] = [], fileExtensions: [String] = [],
        signatures: [BlobSignature] = [], recognizes: (@Sendable (_ beginning: [UInt8]) -> Bool)? = nil,
        recognizesWithin: (@Sendable (any BlobInputStreamDataSource, BlobContext) throws -> Bool)? = nil,
        reachesNetwork: Bool = false, fileID: String = #fileID
    ) {
        precondition(!schemes.isEmpty, "A provider must have at least one scheme.")
        self.kind = kind
        self.schemes = schemes
        self.reachesNetwork = reachesNetwork
        self.mediaTypes = mediaTypes
        self.fileExtensions = fileExtensions
        self.signatures = signatures
        self.recognizes = recognizes
        self.recognizesWithin = recognizesWithin
        self.module = String(fileID.prefix { $0 != "/" })
    }
}

/// Bytes at a fixed offset that identify a format.
public struct BlobSignature: Hashable, Sendable {
    /// The number of bytes at the start of a blob within which signatures lie: 36 KiB, past the volume descriptor of
    /// ISO 9660 at 32 KiB (ECMA-119, section 7.2.1), which is the furthest signature in use.
    static let maximumExtent = 36 * 1024

    /// The offset of the bytes from the start of the blob.
    let byteOffset: Int

    /// The bytes.
    package let bytes: [UInt8]

    /// Creates a signature, which must lie within the first 36 KiB of a blob and not be empty.
    public init(_ bytes: [UInt8], at byteOffset: Int = 0) {
        precondition(!bytes.isEmpty && byteOffset >= 0, "A signature must not be empty or have a negative offset.")
        precondition(byteOffset + bytes.count <= Self.maximumExtent, "A signature must lie within the first 36 KiB.")
        self.byteOffset = byteOffset
        self.bytes = bytes
    }

    func matches(_ beginning: some RandomAccessCollection<UInt8>) -> Bool {
        beginning.dropFirst(self.byteOffset).starts(with: self.bytes)
    }
}
