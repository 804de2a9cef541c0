import BlobStreams
import Foundation

/// The original of an asset, as the catalogue has it when it is opened.
///
/// Has random access, and a strong validator from the digest. A reader that began at the first byte compares the digest
/// before it gives the last bytes: an original that was damaged on the disk is ``BlobError/Code/checksumMismatch``, and
/// never whole. Small reads are served from a window of ``AssetSource/windowByteCount`` bytes.
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

    /// How many bytes a reader fetches ahead for those who read less at a time.
    public static let windowByteCount = 128 * 1024

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
