public import BlobCore
import Foundation

extension AssetLibrary {
    /// The treatment of bytes that the library has already.
    public enum DuplicatePolicy: Sendable {
        /// The existing asset is the result, and no other is added. Sidecars beside a file that is imported again are
        /// kept with it, and count its generation when they are new or differ.
        case reuseAsset
        /// A new asset is added, which shares the original.
        case addAsset
    }

    /// The result of an import.
    public struct ImportResult: Sendable {
        /// The asset of the imported bytes.
        public let asset: Asset
        /// True when the import added the asset; false when the library had it before.
        public let isNew: Bool
        /// True when the library had the bytes before and its original was damaged or missing: the imported file
        /// replaces it, for all assets that share it. A damaged original is in `originals/.quarantine`.
        public let isRepaired: Bool
    }

    /// Adds the bytes of a source as an asset.
    ///
    /// The source is read once, to its end, with all of its checks, and its SHA-256 is computed during the read. The
    /// file is written under a temporary name, synchronised to the disk and moved to its place; then its row is
    /// committed and synchronised too. A crash or a loss of power before the commit leaves no asset, and after it a
    /// complete one. For many sources, ``makeImport(duplicates:context:onCommit:)`` is faster.
    ///
    /// If the library has the bytes already, its original is read too, and replaced when it is damaged: the source may
    /// safely be deleted after the import in this case too.
    ///
    /// - Parameters:
    ///   - source: The source to import.
    ///   - name: The name of the asset; nil for the name that the source provides.
    ///   - duplicates: The treatment of bytes that the library has already.
    ///   - context: The cancellation and the deadline; a cancelled import leaves nothing.
    /// - Throws: Errors of reading the source; ``BlobError/Code/permissionDenied`` when the library was opened for
    ///   reading or is not writable; ``BlobError/Code/io``, ``BlobError/Code/unavailable``;
    ///   ``BlobError/Code/unsupported`` when a link is in the place of one of the library's folders.
    /// - Complexity: O(bytes), in memory that does not grow with them.
    public func importAsset(
        from source: any BlobInputStreamDataSource, name: String? = nil,
        duplicates: DuplicatePolicy = .reuseAsset, context: BlobContext = BlobContext()
    ) throws(BlobError) -> ImportResult {
        var result: ImportResult?
        let group = try self.makeImport(duplicates: duplicates, context: context) { result = $0 }
        try group.add(source, name: name)
        try group.finish()
        guard let result else { throw BlobError(.internalError, "An import was finished without a result.") }
        return result
    }

    /// Begins an import of many sources, which are committed in groups, with one synchronisation of the catalogue each.
    ///
    ///     let photos = try library.makeImport { print($0.asset.locator) }
    ///     for file in files { try photos.add(FileSource(path: file)) }
    ///     try photos.finish()
    ///
    /// - Parameters:
    ///   - duplicates: The treatment of bytes that the library has already.
    ///   - context: The cancellation and the deadline; sources that were added before a cancellation can still be
    ///     committed by ``AssetImport/finish()``.
    ///   - onCommit: Called for each source in the order in which they were added, once its asset will survive a loss
    ///     of power.
    /// - Throws: As ``importAsset(from:name:duplicates:context:)``.
    public func makeImport(
        duplicates: DuplicatePolicy = .reuseAsset, context: BlobContext = BlobContext(),
        onCommit: @escaping (ImportResult) throws -> Void
    ) throws(BlobError) -> AssetImport {
        try self.checkCanWrite()
        return try AssetImport(self, duplicates, context, onCommit)
    }

    /// Reads the original, and returns true when it has the bytes of `file`.
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

    /// Returns true when the original is at its path in the catalogue, with its length.
    func hasFile(of asset: Asset) -> Bool {
        self.hasFile(at: asset.storedPath, byteCount: asset.byteCount)
    }
}

/// The steps of an import in their order; each names the step that was just completed.
package enum ImportStep: String, CaseIterable, Sendable {
    case began, copied, named, inserted, committed
}
