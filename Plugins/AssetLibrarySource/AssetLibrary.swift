import BlobStreams
import Foundation

/// A folder of originals with a catalogue: photos, films, anything that is bytes.
///
/// Several processes may use one library at once: reading goes on beside a writer, writers take turns, and a crash at
/// any moment leaves whole assets only. The folder must lie on a local file system, as SQLite's log demands. Safe to
/// use from any thread; calls block.
public final class AssetLibrary: Sendable {
    /// What a library is opened for.
    public enum Access: Sendable {
        /// Nothing in the folder is changed but SQLite's own files; and the catalogue, for the digests of the blocks of
        /// originals that an older version imported, where it may be written.
        case reading
        /// The catalogue is brought to the present version, and what a crash left behind is cleared away.
        case writing
    }

    let folder: LibraryFolder
    let catalogue: Catalogue
    let access: Access

    /// The folders of originals that survive a loss of power.
    let durableFolders = Locked<Set<String>>([])

    /// The digests of blocks that could not be stored, by the digest of the original.
    let unstoredBlocks = Locked<[[UInt8]: BlockDigests]>([:])

    /// Told of each step of an import: where tests pull the plug.
    let onImportStep: (@Sendable (ImportStep) throws -> Void)?

    /// Opens the library in `folder`.
    ///
    /// - Throws: ``BlobError/Code/notFound`` when there is none, ``BlobError/Code/unsupported`` when it is something
    ///   else or of a newer version, ``BlobError/Code/corrupted``, ``BlobError/Code/permissionDenied``,
    ///   ``BlobError/Code/unavailable`` when others keep the catalogue locked for seconds.
    public convenience init(at folder: URL, for access: Access = .reading) throws(BlobError) {
        try self.init(at: folder, for: access, onImportStep: nil)
    }

    package init(
        at folder: URL, for access: Access, onImportStep: (@Sendable (ImportStep) throws -> Void)?
    ) throws(BlobError) {
        self.folder = LibraryFolder(folder)
        self.onImportStep = onImportStep
        self.access = access
        guard self.folder.exists else {
            throw BlobError(
                .notFound, "There is no asset library in '\(self.folder.path)': it has no \(Catalogue.fileName).",
                operation: .open)
        }
        self.catalogue = try Catalogue(in: self.folder.path, isReadOnly: access == .reading)
        try self.catalogue.check(isMade: access == .reading)
        guard access == .writing else { return }
        try self.catalogue.migrate()
        try self.recoverIfNeeded()
    }

    /// Makes a new library, and the folder if it is not there.
    ///
    /// - Throws: ``BlobError/Code/invalidArgument`` when there is a library already, or something else in the folder;
    ///   what the system says.
    public static func create(at folder: URL) throws(BlobError) -> AssetLibrary {
        let files = LibraryFolder(folder)
        try files.make()
        let catalogue = try Catalogue(in: files.path, isReadOnly: false)
        guard try catalogue.isEmpty() else {
            throw BlobError(
                .invalidArgument, "There is an asset library in '\(files.path)' already.", operation: .write)
        }
        try catalogue.migrate()
        return try AssetLibrary(at: folder, for: .writing)
    }

    /// What the catalogue knows of an asset; nil when there is none of this identifier.
    public func asset(_ id: UUID) throws(BlobError) -> Asset? { try self.catalogue.asset(id) }

    /// Calls `body` with every asset, in the order of their import.
    ///
    /// Fetches some hundred at a time, so that memory does not grow with the library; what is imported or removed
    /// meanwhile may be seen or not.
    public func forEachAsset(_ body: (Asset) throws -> Void) throws {
        var row: Int64 = 0
        while true {
            let page = try self.catalogue.assets(behind: row, atMost: Self.pageCount)
            for asset in page.assets { try body(asset) }
            guard page.assets.count == Self.pageCount else { return }
            row = page.row
        }
    }

    private static let pageCount = 500

    func checkCanWrite() throws(BlobError) {
        guard self.access == .writing else {
            throw BlobError(.permissionDenied, "The library '\(self.folder.path)' was opened for reading only.")
        }
    }

    /// An asset as a source of bytes.
    ///
    /// - Parameters:
    ///   - id: The asset, which need not be there yet.
    ///   - removal: What it means for readers when the asset is removed under them.
    public func source(
        for id: UUID, removal: AssetSource.RemovalPolicy = .finish
    ) -> AssetSource {
        AssetSource(id, fileExtension: nil, removal: removal) { self }
    }
}
