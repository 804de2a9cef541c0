public import BlobCore
import Foundation

/// A source of the original of an asset, as the catalogue describes it when a reader is opened.
///
/// Has random access, and a strong validator made from the digest. Wherever a reader begins, it verifies the digest of
/// each block of ``AssetSource/windowByteCount`` bytes before it delivers the first of them: bytes damaged on the disk
/// are ``BlobError/Code/checksumMismatch``, and no byte of their block is delivered. Small reads are served from the
/// block that was read last. An original that an older version imported is read once, from start to end, when it is
/// first opened, to compute the digests of its blocks.
///
/// A reader detects when the original is moved, touched or rewritten, and when the catalogue describes the asset
/// differently, as after an edit: before each block and at the end, and, if its context has an event sink, also while
/// nobody reads. It reports ``BlobEvent/Kind/invalidated`` and ``BlobEvent/Kind/recovering``, and queries the catalogue
/// again. It continues at the byte that it had reached, with ``BlobEvent/Kind/recovered``, only if the content is the
/// same; otherwise it throws ``BlobError/Code/changed``, whose message names the generation and the validator that the
/// asset has now.
public struct AssetSource: BlobInputStreamDataSource {
    /// The effect on a reader when the asset or its file is removed, or replaced by another one of the same name.
    public enum RemovalPolicy: Sendable {
        /// The reader continues to the end of the bytes for which it was opened, which its open file still has.
        case finish
        /// The reader throws ``BlobError/Code/changed``.
        case fail
    }

    /// The version of an asset that a reader delivers.
    package enum Version: Sendable {
        /// The asset as it was last adjusted. A reader throws ``BlobError/Code/changed`` when it is adjusted again.
        case current
        /// The file that was imported, which adjustments do not change.
        case original
    }

    /// The number of bytes that a reader fetches and verifies at once; smaller reads are served from a window.
    public static let windowByteCount = BlockDigests.blockByteCount

    private let id: UUID
    private let fileExtension: String?
    private let version: Version
    private let removal: RemovalPolicy
    /// Returns the library, and opens it at the first call.
    private let library: @Sendable () throws(BlobError) -> AssetLibrary

    init(
        _ id: UUID, fileExtension: String?, version: Version = .current, removal: RemovalPolicy,
        library: @escaping @Sendable () throws(BlobError) -> AssetLibrary
    ) {
        self.id = id
        self.fileExtension = fileExtension
        self.version = version
        self.removal = removal
        self.library = library
    }

    /// Can be opened again, and read on several threads at once; blocks.
    public var traits: BlobTraits { [.repeatable, .concurrentReaders] }

    /// The asset's URL.
    public var locator: BlobLocator? { BlobLocator(asset: self.id, fileExtension: self.fileExtension) }

    /// Returns the info in the catalogue, without accessing the file.
    ///
    /// - Throws: ``BlobError/Code/notFound`` when there is no such asset, and errors of opening the library.
    public func describe(_ context: BlobContext) throws -> BlobInfo { try self.resolver.asset().info }

    /// Opens the original; every reader has its own descriptor.
    ///
    /// - Throws: ``BlobError/Code/notFound`` when the asset or its original is missing, ``BlobError/Code/sizeMismatch``
    ///   when the original has another length, ``BlobError/Code/invalidArgument`` for an offset past the end, and
    ///   ``BlobError/Code/changed`` when the content does not match `validator`.
    public func makeReader(
        at byteOffset: Int64, matching validator: BlobValidator?, context: BlobContext
    ) throws -> any BlobReader {
        let resolver = try self.resolver
        let asset = try resolver.asset()
        try asset.info.check(byteOffset: byteOffset, matching: validator)
        return try AssetReader(
            asset, resolver, at: byteOffset, version: self.version, removal: self.removal, context)
    }

    var resolver: AssetResolver {
        get throws(BlobError) { AssetResolver(library: try self.library(), id: self.id) }
    }
}

/// The lookup of an asset and its file, in the current catalogue.
struct AssetResolver {
    let library: AssetLibrary
    let id: UUID

    /// Returns the asset.
    ///
    /// - Throws: ``BlobError/Code/notFound`` when there is none.
    func asset() throws(BlobError) -> Asset {
        if let asset = try self.library.catalogue.asset(self.id) { return asset }
        throw BlobError(.notFound, "There is no such asset in the library '\(self.library.folder.path)'.")
    }

    /// Returns the facts on which a reader depends; nil when there is no such asset.
    func record(_ version: AssetSource.Version) throws(BlobError) -> AssetRecord? {
        try self.library.catalogue.asset(self.id).map { AssetRecord($0, version) }
    }

    func file(of asset: Asset) throws(BlobError) -> OriginalFile {
        try OriginalFile(self.library.folder.path(ofStored: asset.storedPath))
    }
}
