public import BlobCore
public import Foundation

/// A folder of originals with a catalogue: photos, films, or any other bytes.
///
/// ```swift
/// let library = try AssetLibrary(at: url, for: .writing)
/// let asset = try library.importAsset(from: FileSource(path: "photo.jpg")).asset
/// let bytes = try await library.source(for: asset.id).data(upTo: 1 << 30)
/// ```
///
/// Several processes may use one library at the same time: readers continue beside a writer, writers take turns, and a
/// crash at any moment leaves only complete assets. The folder must be on a local file system, as SQLite's write-ahead
/// log requires. Safe to use from any thread; calls block.
public final class AssetLibrary: Sendable {
    /// The access for which a library is opened.
    public enum Access: Sendable {
        /// Changes nothing in the folder but SQLite's own files and, if it is writable, the catalogue, which receives
        /// the block digests of originals that an older version imported.
        case reading
        /// Updates the catalogue to the current version, and cleans up after a crash.
        case writing
    }

    let folder: LibraryFolder
    /// The path of the library's folder.
    public var path: String { self.folder.path }
    let access: Access

    /// The catalogue, and the connection that detects its changes.
    let catalogues: Locked<CurrentCatalogue>

    var catalogue: Catalogue { self.catalogues.withLock { $0.catalogue } }

    /// The names of the folders of originals that are known to survive a loss of power.
    let durableFolders = Locked<Set<String>>([])

    /// The block digests that could not be stored, by the digest of the original.
    let unstoredBlocks = Locked<[[UInt8]: BlockDigests]>([:])

    /// The watch that observers share; see ``watch()``.
    let sharedWatch = Locked(SharedWatch())

    /// The pictures that were rendered.
    let renditions = RenditionCache()

    /// Called after each step of an import, so that tests can interrupt it there.
    let onImportStep: (@Sendable (ImportStep) throws -> Void)?

    /// Opens the library in `folder`.
    ///
    /// - Throws: ``BlobError/Code/notFound`` when there is no library, ``BlobError/Code/unsupported`` when the database
    ///   is not a catalogue or of a newer version, ``BlobError/Code/corrupted``, ``BlobError/Code/permissionDenied``,
    ///   ``BlobError/Code/unavailable`` when others keep the catalogue locked for seconds.
    public convenience init(at folder: URL, for access: Access = .reading) throws(BlobError) {
        try self.init(at: folder, for: access, recovers: true)
    }

    /// - Parameter recovers: False when the caller holds the lock for recovery.
    package init(
        at folder: URL, for access: Access, recovers: Bool = true,
        onImportStep: (@Sendable (ImportStep) throws -> Void)? = nil
    ) throws(BlobError) {
        self.folder = LibraryFolder(folder)
        self.onImportStep = onImportStep
        self.access = access
        guard try self.folder.exists() else {
            throw BlobError(
                .notFound, "There is no asset library in '\(self.folder.path)': it has no \(Catalogue.fileName).",
                operation: "open")
        }
        self.catalogues = Locked(
            CurrentCatalogue(try Catalogue(in: self.folder.path, isReadOnly: access == .reading)))
        try self.catalogue.check(isMade: access == .reading)
        guard access == .writing else { return }
        try self.catalogue.migrate()
        try self.catchUp()
        if recovers { try self.recoverIfNeeded() } else { _ = try OriginalsFolder(making: self.folder) }
    }

    /// Creates an empty catalogue under another name, which will replace a lost one.
    init(rebuilding folder: URL, catalogueName: String) throws(BlobError) {
        self.folder = LibraryFolder(folder)
        self.onImportStep = nil
        self.access = .writing
        self.catalogues = Locked(
            CurrentCatalogue(try Catalogue(in: self.folder.path, named: catalogueName, isReadOnly: false)))
        try self.catalogue.migrate()
    }

    /// Creates a library, and its folder if it is missing.
    ///
    /// - Throws: ``BlobError/Code/invalidArgument`` when the folder contains a library or anything else already; errors
    ///   of the file system.
    public static func create(at folder: URL) throws(BlobError) -> AssetLibrary {
        let files = LibraryFolder(folder)
        try files.make()
        let catalogue = try Catalogue(in: files.path, isReadOnly: false)
        guard try catalogue.isEmpty() else {
            throw BlobError(
                .invalidArgument, "There is an asset library in '\(files.path)' already.", operation: "write")
        }
        try catalogue.migrate()
        return try AssetLibrary(at: folder, for: .writing)
    }

    /// Returns the asset with an identifier; nil when there is none.
    ///
    /// - Throws: Errors of the catalogue.
    public func asset(_ id: UUID) throws(BlobError) -> Asset? { try self.catalogue.asset(id) }

    /// Calls `body` with every asset, in the order of their import.
    ///
    /// Fetches some hundred assets at a time, so that memory use does not grow with the library. Assets that are
    /// imported or removed during the calls may be included or not.
    ///
    /// - Throws: Errors of the catalogue and of `body`, which end the calls.
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

    /// Returns a source of the bytes of an asset.
    ///
    /// - Parameters:
    ///   - id: The identifier of the asset, which need not exist yet.
    ///   - version: The version of an adjusted picture.
    ///   - unrenderable: The treatment of a picture whose adjustment cannot be rendered.
    ///   - quality: The quality of rendered pictures as JPEG, 0.01 to 1; other numbers are clamped.
    ///   - removal: The effect on readers when the asset is removed while they are open.
    public func source(
        for id: UUID, version: AssetSource.Version = .current, unrenderable: AssetSource.UnrenderablePolicy = .fail,
        quality: Double = AssetSource.renderingQuality, removal: AssetSource.RemovalPolicy = .finish
    ) -> AssetSource {
        AssetSource(
            id.uuidString, fileExtension: nil,
            AssetSource.Options(
                version: version, unrenderable: unrenderable, quality: quality, removal: removal)
        ) { self }
    }
}
