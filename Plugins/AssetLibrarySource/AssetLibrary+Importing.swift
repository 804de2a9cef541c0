import BlobStreams
import Foundation

extension AssetLibrary {
    /// What happens to bytes that the library has already.
    public enum DuplicatePolicy: Sendable {
        /// The asset that has them is the result, and nothing is added.
        case reuseAsset
        /// A new asset is added, which shares the original.
        case addAsset
    }

    /// What an import did.
    public struct ImportResult: Sendable {
        /// The asset that has the bytes now.
        public let asset: Asset
        /// False when the library had it before.
        public let isNew: Bool
        /// True when the library had the bytes before, and its original was damaged or lost: these have taken its place,
        /// for all assets that share it. A damaged one is in `originals/.quarantine`.
        public let isRepaired: Bool
    }

    /// Adds the bytes of a source as an asset.
    ///
    /// The source is read once, to its end, with all of its checks, and its SHA-256 computed on the way. The file is
    /// written aside, synchronised to the disk and named; then its row is committed, and synchronised too: a crash or a
    /// loss of power before leaves no asset, and after it a whole one. ``makeImport(duplicates:context:onCommit:)``
    /// is faster for many sources.
    ///
    /// Where the library has the bytes already, its original is read too, and replaced when it is damaged: whoever
    /// imports something once more may remove their copy afterwards.
    ///
    /// - Parameters:
    ///   - source: What to import.
    ///   - name: What the asset is called; nil takes the name that the source says.
    ///   - duplicates: What happens to bytes that are there already.
    ///   - context: The terms; a cancelled import leaves nothing.
    /// - Throws: What reading the source throws; ``BlobError/Code/permissionDenied`` when the library was opened for
    ///   reading or may not be written; ``BlobError/Code/io``, ``BlobError/Code/unavailable``;
    ///   ``BlobError/Code/unsupported`` when links lie in the place of the library's folders.
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

    /// Begins to import many sources: they are committed in groups, each with one synchronisation of the catalogue.
    ///
    ///     let photos = try library.makeImport { print($0.asset.locator) }
    ///     for file in files { try photos.add(FileSource(path: file)) }
    ///     try photos.finish()
    ///
    /// - Parameters:
    ///   - duplicates: What happens to bytes that are there already.
    ///   - context: The terms; what was added and not committed when it is cancelled can still be finished.
    ///   - onCommit: Called for each source in the order in which they were added, once its asset will survive a loss of
    ///     power.
    /// - Throws: As ``importAsset(from:name:duplicates:context:)``.
    public func makeImport(
        duplicates: DuplicatePolicy = .reuseAsset, context: BlobContext = BlobContext(),
        onCommit: @escaping (ImportResult) throws -> Void
    ) throws(BlobError) -> AssetImport {
        try self.checkCanWrite()
        return try AssetImport(self, duplicates, context, onCommit)
    }

    /// Whether the original has the bytes of `file`: reads it.
    func hasOriginal(of asset: Asset, _ file: ImportedFile, _ context: BlobContext) throws(BlobError) -> Bool {
        guard file.byteCount == asset.byteCount else { return false }
        do {
            let original = try OriginalFile(self.folder.path(ofStored: asset.storedPath))
            return try original.hasContent(of: asset, file.blocks, context)
        } catch  where error.code != .cancelled && error.code != .timedOut {
            return false
        }
    }

    /// Whether the original lies where the catalogue says, with its length.
    func hasFile(of asset: Asset) -> Bool {
        guard let path = try? self.folder.path(ofStored: asset.storedPath), let file = try? OriginalFile(path) else {
            return false
        }
        return file.snapshot.byteCount == asset.byteCount
    }
}

/// The steps of an import, in their order: each is what was just done.
package enum ImportStep: String, CaseIterable, Sendable {
    case began, copied, named, inserted, committed
}
