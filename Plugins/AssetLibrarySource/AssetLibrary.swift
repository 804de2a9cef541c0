#if Photos
public import BlobCore
public import Foundation
import GRDB

/// A folder of originals with a catalogue: photos, videos, or any other bytes.
///
/// ```swift
/// let library = try AssetLibrary(at: url, for: .writing)
/// let asset = try library.importAsset(from: FileSource(path: "photo.jpg")).asset
/// let bytes = try await library.source(for: asset.id).data(upTo: 1 << 30)
/// ```
///
/// Several processes may use one library at the same time. Readers do not wait for a writer, writers take turns, and a
/// crash at any moment leaves only complete assets. The folder must be on a local file system, as SQLite's write-ahead
/// log requires. Safe to use from any thread; calls block.
public final class AssetLibrary: Sendable {
    /// The access for which a library is opened.
    public enum Access: Sendable {
        /// Changes no assets. Writes only SQLite's own files and, if the catalogue is writable, missing block digests
        /// of originals that an older version imported.
        case reading
        /// Updates the catalogue to the current version, and cleans up after a crash.
        case writing
    }

    let folder: LibraryFolder
    /// The path of the library's folder.
    public var path: String { self.folder.path }
    let access: Access

    /// The catalogue, with the connection that detects changes.
    let catalogues: Locked<CurrentCatalogue>

    var catalogue: Catalogue { self.catalogues.withLock { $0.catalogue } }

    /// The names of the folders of originals that are known to survive a power failure.
    let durableFolders = Locked<Set<String>>([])

    /// The block digests that could not be stored, by the SHA-256 of the original.
    let unstoredBlocks = Locked<[[UInt8]: BlockDigests]>([:])

    /// The watch shared by observers; see ``watch()``.
    let sharedWatch = Locked(SharedWatch())

    /// The cache of rendered pictures.
    let renditions = RenditionCache()

    /// Called after each step of an import, so that tests can interrupt the import there.
    let onImportStep: (@Sendable (ImportStep) throws -> Void)?

    /// Opens the library in `folder`.
    ///
    /// - Throws: ``BlobError/Code/notFound`` if the folder has no library, ``BlobError/Code/unsupported`` if the
    ///   database is not a catalogue or has a newer version, ``BlobError/Code/corrupted`` if the database is damaged,
    ///   ``BlobError/Code/permissionDenied`` if its files cannot be accessed, ``BlobError/Code/unavailable`` if another
    ///   connection keeps the catalogue locked for seconds; other errors from the catalogue and the file system.
    public convenience init(at folder: URL, for access: Access = .reading) throws(BlobError) {
        try self.init(at: folder, for: access, recovers: true)
    }

    /// - Parameter recovers: True to recover from a crash; false if the caller holds the lock for recovery.
    package init(
        at folder: URL, for access: Access, recovers: Bool = true,
        onImportStep: (@Sendable (ImportStep) throws -> Void)? = nil
    ) throws(BlobError) {
        self.folder = LibraryFolder(folder)
        self.onImportStep = onImportStep
        self.access = access
        guard try self.folder.exists() else {
            throw BlobError(
                .notFound, "No asset library in '\(self.folder.path)': it does not contain \(LibraryFolder.catalogue).",
                operation: "open")
        }
        self.catalogues = Locked(
            CurrentCatalogue(try Catalogue(in: self.folder.path, isReadOnly: access == .reading)))
        try self.catalogue.check(isMade: access == .reading)
        guard access == .writing else { return }
        try self.catalogue.migrate()
        try self.synchroniseWithJournal()
        if recovers { try self.recoverIfNeeded() } else { _ = try OriginalsFolder(making: self.folder) }
    }

    /// Creates an empty catalogue under another name, to replace a lost catalogue.
    init(rebuilding folder: URL, catalogueName: String) throws(BlobError) {
        self.folder = LibraryFolder(folder)
        self.onImportStep = nil
        self.access = .writing
        self.catalogues = Locked(
            CurrentCatalogue(try Catalogue(in: self.folder.path, named: catalogueName, isReadOnly: false)))
        try self.catalogue.migrate()
    }

    /// Creates a library, and its folder if it does not exist.
    ///
    /// - Throws: ``BlobError/Code/invalidArgument`` if the folder already contains a library or other files; errors
    ///   from the file system.
    public static func create(at folder: URL) throws(BlobError) -> AssetLibrary {
        let files = LibraryFolder(folder)
        try files.create()
        let catalogue = try Catalogue(in: files.path, isReadOnly: false)
        guard try catalogue.isEmpty() else {
            throw BlobError(
                .invalidArgument, "An asset library already exists in '\(files.path)'.", operation: "write")
        }
        try catalogue.migrate()
        return try AssetLibrary(at: folder, for: .writing)
    }

    /// Returns the asset with an identifier; nil if not found.
    ///
    /// - Throws: Errors from the catalogue.
    public func asset(_ id: UUID) throws(BlobError) -> Asset? { try self.catalogue.asset(id) }

    /// Calls `body` with every asset, in order of import.
    ///
    /// Fetches a few hundred assets at a time, so that memory use does not grow with the library. Assets that are
    /// imported or removed during the calls may or may not be included.
    ///
    /// - Throws: Errors from the catalogue, and errors thrown by `body`, which end the calls.
    public func forEachAsset(_ body: (Asset) throws -> Void) throws {
        var row: Int64 = 0
        while true {
            let page = try self.catalogue.assets(after: row, atMost: Self.pageCount)
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
    ///   - quality: The JPEG quality of rendered pictures, 0.01 to 1; other numbers are clamped.
    ///   - removal: The effect on open readers when the asset is removed.
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

    /// The treatment of bytes that the library already contains.
    public enum DuplicatePolicy: Sendable {
        /// The result is the existing asset, and no asset is added. If a file is imported again, its sidecars are
        /// stored with the existing asset; new or changed sidecars increment its generation.
        case reuseAsset
        /// A new asset is added, which shares the original.
        case addAsset
    }

    /// The result of an import.
    public struct ImportResult: Sendable {
        /// The asset of the imported bytes.
        public let asset: Asset
        /// True if the import added the asset; false if the library already contained it.
        public let isNew: Bool
        /// True if the library already contained the bytes, but the original was damaged or missing. The imported file
        /// replaces it for all assets that share it. A damaged original is moved to `originals/.quarantine`.
        public let isRepaired: Bool
    }

    /// Adds the bytes of a source as an asset.
    ///
    /// The source is read once, to its end, with all of its checks, while its SHA-256 is computed. The file is written
    /// under a temporary name, synchronised to the disk and moved to its final path; then its row is committed and
    /// synchronised, too. A crash or a power failure leaves no asset before the commit, and a complete asset after it.
    /// For many sources, ``makeImport(duplicates:context:onCommit:)`` is faster.
    ///
    /// If the library already contains the bytes, its original is also read, and replaced if it is damaged. The source
    /// may therefore be deleted safely after every import.
    ///
    /// - Parameters:
    ///   - source: The source to import.
    ///   - name: The name of the asset; nil to use the name of the source.
    ///   - duplicates: The treatment of bytes that the library already contains.
    ///   - context: The cancellation and the deadline; a cancelled import leaves nothing behind.
    /// - Throws: Errors reading the source; ``BlobError/Code/permissionDenied`` if the library was opened for reading
    ///   or is not writable; ``BlobError/Code/unavailable`` if the catalogue stays locked for seconds, or if the source
    ///   is a placeholder for a file in a cloud; ``BlobError/Code/unsupported`` if one of the library's folders is a
    ///   link; ``BlobError/Code/io`` and other errors from the catalogue and the file system.
    /// - Complexity: O(bytes), in constant memory.
    public func importAsset(
        from source: any BlobInputStreamDataSource, name: String? = nil,
        duplicates: DuplicatePolicy = .reuseAsset, context: BlobContext = BlobContext()
    ) throws(BlobError) -> ImportResult {
        var result: ImportResult?
        let group = try self.makeImport(duplicates: duplicates, context: context) { result = $0 }
        try group.add(source, name: name)
        try group.finish()
        guard let result else { throw BlobError(.internalError, "The import finished without a result.") }
        return result
    }

    /// Begins an import of many sources.
    ///
    /// The sources are committed in groups, each with one synchronisation of the catalogue.
    ///
    ///     let photos = try library.makeImport { print($0.asset.locator) }
    ///     for file in files { try photos.add(FileSource(path: file)) }
    ///     try photos.finish()
    ///
    /// - Parameters:
    ///   - duplicates: The treatment of bytes that the library already contains.
    ///   - context: The cancellation and the deadline; ``AssetImport/finish()`` can still commit sources that were
    ///     added before a cancellation.
    ///   - onCommit: Called for each source, in the order in which the sources were added, once its asset will survive
    ///     a power failure.
    /// - Throws: The errors thrown by ``importAsset(from:name:duplicates:context:)``.
    public func makeImport(
        duplicates: DuplicatePolicy = .reuseAsset, context: BlobContext = BlobContext(),
        onCommit: @escaping (ImportResult) throws -> Void
    ) throws(BlobError) -> AssetImport {
        try self.checkCanWrite()
        return try AssetImport(self, duplicates, context, onCommit)
    }

    /// Reads the original, and returns true if it has the same bytes as `file`.
    func hasOriginal(of asset: Asset, _ file: ImportedFile, _ context: BlobContext) throws(BlobError) -> Bool {
        guard file.byteCount == asset.byteCount else { return false }
        do {
            let original = try OriginalFile(self.folder.path(ofStored: asset.storedPath))
            guard let blocks = file.blocks else { return false }
            return try original.hasContent(of: asset, blocks, context)
        } catch  where error.code != .cancelled && error.code != .timedOut {
            return false
        }
    }

    /// Returns true if the original exists, with the expected length, at its path in the catalogue.
    func hasFile(of asset: Asset) -> Bool {
        self.hasFile(at: asset.storedPath, byteCount: asset.byteCount)
    }

    /// Removes an asset, or an item of a shared stream, and its original unless another asset shares it.
    ///
    /// Open readers keep the file until they are closed; see ``AssetSource/RemovalPolicy``. When this method returns,
    /// the removal survives a power failure.
    ///
    /// - Throws: ``BlobError/Code/notFound`` if the asset does not exist; otherwise the errors thrown by
    ///   ``importAsset(from:name:duplicates:context:)``.
    public func removeAsset(_ id: UUID, context: BlobContext = BlobContext()) throws(BlobError) {
        try BlobError.naming("write") {
            try self.checkCanWrite()
            let lock = try LibraryLock.shared(self.folder, context)
            try withExtendedLifetime(lock) { try self.removeLocked(id) }
        }
    }

    private func removeLocked(_ id: UUID) throws {
        let folders = try OriginalsFolder(self.folder)
        let marker = try LibraryMarker(folders)
        let orphan: String?
        do {
            orphan = try self.commit { db in (try Catalogue.remove(id, db), [.removed(id)]) }
        } catch {
            // A commit that reported an error may still have taken effect, so the marker is kept for recovery to find
            // the file.
            if error.code == .notFound || (try? self.catalogue.read { try Catalogue.containsID(id, $0) }) == true {
                marker.remove()
            }
            throw error
        }
        // A file that cannot be removed here is left to recovery, which the marker triggers.
        if let orphan {
            do { try folders.remove(orphan) } catch { return }
        }
        marker.remove()
    }

    /// Reads the metadata of originals that were imported by an older version, or without a helper.
    ///
    /// Skips originals that cannot be opened.
    ///
    /// - Parameter helper: The path of the helper; nil to search for it.
    /// - Returns: The number of originals whose facts were read.
    /// - Throws: ``BlobError/Code/unavailable`` if the helper or its library is not found, in which case only facts
    ///   from headers are stored; ``BlobError/Code/permissionDenied`` if the library was opened for reading; errors
    ///   from the catalogue and the context.
    /// - Complexity: O(originals without facts), in one helper process.
    @discardableResult
    package func readFacts(
        helper: String? = nil, context: BlobContext = BlobContext()
    ) throws(BlobError) -> Int {
        try self.checkCanWrite()
        let facts = FactReader(path: helper, context)
        var count = 0
        try BlobError.wrapping {
            try self.catalogue.forEachOriginal(where: Catalogue.missingFactsCondition) { original in
                try context.check()
                guard let file = try? OriginalFile(self.folder.path(ofStored: original.path)) else { return }
                let (media, isWhole) = try facts.describe(file)
                try self.catalogue.write {
                    try Catalogue.setFacts(media, isWhole: isWhole, sha256: original.sha256, $0)
                }
                if isWhole { count += 1 }
            }
        }
        if let missing = facts.missingHelperError { throw missing }
        return count
    }
}

/// The steps of an import, in order; each case denotes a completed step.
package enum ImportStep: String, CaseIterable, Sendable {
    case began, copied, named, inserted, committed
}

extension BlobError {
    /// Performs a step, and adds the operation to its errors unless they already have one.
    static func naming<Value>(_ operation: String, _ body: () throws -> Value) throws(BlobError) -> Value {
        do {
            return try body()
        } catch {
            var error = BlobError(wrapping: error)
            error.operation = error.operation ?? operation
            throw error
        }
    }
}
#endif
