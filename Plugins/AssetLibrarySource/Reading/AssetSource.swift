import BlobStreams
import Foundation

/// The original of an asset, as the catalogue has it when it is opened.
///
/// Has random access, and a strong validator from the digest. Wherever a reader begins, it compares the digest of each
/// block of ``AssetSource/windowByteCount`` bytes before it gives the first of them: bytes that were damaged on the disk
/// are ``BlobError/Code/checksumMismatch``, and none of them is given. Small reads are served from the block that was
/// read last. An original of a library that an older version made is read once, from front to end, when it is opened for
/// the first time: then the digests of its blocks are known.
///
/// A reader notices when the original is moved, touched or rewritten under it, reports
/// ``BlobEvent/invalidated(byteOffset:)``, asks the catalogue again, and goes on at the byte that it had reached, with
/// ``BlobEvent/recovered(byteOffset:)``, only if the digest says that the content is the same; otherwise the content
/// has ``BlobError/Code/changed``.
public struct AssetSource: BlobInputStreamDataSource {
    /// What it means for a reader when the asset, or its file, is removed or replaced by another of its name.
    public enum RemovalPolicy: Sendable {
        /// The reader goes on to the end of the bytes that it was opened for, which its open file still has.
        case finish
        /// The content has changed.
        case fail
    }

    /// How many bytes a reader fetches and checks at once, ahead for those who read less at a time.
    public static let windowByteCount = BlockDigests.blockByteCount

    private let id: UUID
    private let fileExtension: String?
    private let removal: RemovalPolicy
    /// The library, which may only be opened now.
    private let library: @Sendable () throws(BlobError) -> AssetLibrary

    init(
        _ id: UUID, fileExtension: String?, removal: RemovalPolicy,
        library: @escaping @Sendable () throws(BlobError) -> AssetLibrary
    ) {
        self.id = id
        self.fileExtension = fileExtension
        self.removal = removal
        self.library = library
    }

    /// Everything.
    public var capabilities: BlobCapabilities { .all }

    /// The asset's URL.
    public var locator: BlobLocator? { BlobLocator(asset: self.id, fileExtension: self.fileExtension) }

    /// What the catalogue says; the file is not looked at.
    ///
    /// - Throws: ``BlobError/Code/notFound``, and what opening the library throws.
    public func info(_ context: BlobContext) throws -> BlobInfo { try self.resolver.asset().info }

    /// Opens the original; every reader has a descriptor of its own.
    public func openReader(
        at byteOffset: Int64, matching validator: BlobValidator?, context: BlobContext
    ) throws -> any BlobReader {
        let resolver = try self.resolver
        let asset = try resolver.asset()
        try asset.info.check(byteOffset: byteOffset, matching: validator)
        return try AssetReader(asset, resolver, at: byteOffset, removal: self.removal, context)
    }

    private var resolver: AssetResolver {
        get throws(BlobError) { AssetResolver(library: try self.library(), id: self.id) }
    }
}

/// Finds an asset and its file, now.
struct AssetResolver {
    let library: AssetLibrary
    let id: UUID

    /// - Throws: ``BlobError/Code/notFound`` when there is none.
    func asset() throws(BlobError) -> Asset {
        if let asset = try self.library.catalogue.asset(self.id) { return asset }
        throw BlobError(.notFound, "There is no such asset in the library '\(self.library.folder.path)'.")
    }

    func file(of asset: Asset) throws(BlobError) -> OriginalFile {
        try OriginalFile(self.library.folder.path(ofStored: asset.storedPath))
    }
}
