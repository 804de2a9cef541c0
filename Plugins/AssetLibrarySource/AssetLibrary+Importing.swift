import BlobStreams
import CryptoDigest
import Foundation
import GRDB

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
    }

    /// Adds the bytes of a source as an asset.
    ///
    /// The source is read once, to its end, with all of its checks, and its SHA-256 computed on the way. The file is
    /// written aside, synchronised to the disk and named; then its row is committed: a crash before leaves no asset,
    /// and after it a whole one.
    ///
    /// - Parameters:
    ///   - source: What to import.
    ///   - name: What the asset is called; nil takes the name that the source says.
    ///   - duplicates: What happens to bytes that are there already.
    ///   - context: The terms; a cancelled import leaves nothing.
    /// - Throws: What reading the source throws; ``BlobError/Code/permissionDenied`` when the library was opened for
    ///   reading or may not be written; ``BlobError/Code/io``, ``BlobError/Code/unavailable``.
    /// - Complexity: O(bytes), in memory that does not grow with them.
    public func importAsset(
        from source: any BlobInputStreamDataSource, name: String? = nil,
        duplicates: DuplicatePolicy = .reuseAsset, context: BlobContext = BlobContext()
    ) throws(BlobError) -> ImportResult {
        do {
            try self.checkCanWrite()
            let lock = try LibraryLock.shared(self.folder, context)
            return try withExtendedLifetime(lock) { try self.importLocked(source, name, duplicates, context) }
        } catch {
            var error = BlobError(wrapping: error)
            error.operation = error.operation ?? .write
            throw error
        }
    }

    private func importLocked(
        _ source: any BlobInputStreamDataSource, _ name: String?, _ duplicates: DuplicatePolicy, _ context: BlobContext
    ) throws -> ImportResult {
        let id = UUID()
        let incoming = try IncomingFile(self.folder, id)
        defer { incoming.discard() }
        try self.onImportStep?(.began)
        let file = try self.copy(source, to: incoming, name, context)
        try self.onImportStep?(.copied)
        // Looked up once more in the transaction below; here it spares the disk the synchronising.
        if duplicates == .reuseAsset,
            let asset = try self.catalogue.read({ try Catalogue.asset(sha256: file.sha256, $0) }),
            self.hasFile(of: asset)
        {
            return ImportResult(asset: asset, isNew: false)
        }
        try incoming.synchronise()
        let path = LibraryFolder.storedPath(for: id, fileExtension: file.fileExtension)
        try incoming.move(toStored: path)
        try self.onImportStep?(.named)
        return try self.insert(id, file, path, incoming, duplicates)
    }

    private func copy(
        _ source: any BlobInputStreamDataSource, to incoming: IncomingFile, _ name: String?, _ context: BlobContext
    ) throws -> ImportedFile {
        let reader = try source.reader(context: context)
        defer { reader.close() }
        var hasher = CryptoDigest.sha256.makeHasher()
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.bufferByteCount, alignment: 4096)
        defer { buffer.deallocate() }
        while case let count = try reader.read(into: buffer), count > 0 {
            let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<count])
            hasher.update(bytes)
            try incoming.write(bytes)
        }
        let bytes = incoming.headerBytes(byteCount: reader.byteOffset)
        let format = MediaFormat(signature: bytes.prefix(MediaFormat.signatureByteCount))
        // The catalogue's texts end at a zero byte.
        let name = (name ?? reader.info.name)?.replacingOccurrences(of: "\0", with: "\u{FFFD}")
        var file = ImportedFile(
            name: name, fileExtension: name.flatMap(Asset.fileExtension(ofName:)) ?? format?.fileExtension,
            byteCount: reader.byteOffset, sha256: hasher.finalize(), media: MediaDescription(bytes))
        if case .weak(_, let modificationTime, _) = reader.info.validator, source.locator?.scheme == "file" {
            file.modificationTime = modificationTime
        }
        return file
    }

    /// As much as a read of the page cache is fastest with, and a write of the disk.
    private static let bufferByteCount = 256 * 1024

    /// Adds the rows, unless somebody else has added the same bytes meanwhile.
    private func insert(
        _ id: UUID, _ file: ImportedFile, _ path: String, _ incoming: IncomingFile, _ duplicates: DuplicatePolicy
    ) throws(BlobError) -> ImportResult {
        let outcome: (result: ImportResult, isUsed: Bool)
        do {
            outcome = try self.catalogue.write { db in
                let existing = try Catalogue.asset(sha256: file.sha256, db)
                var isUsed = true
                if let existing {
                    // An original that was lost comes back with the bytes that it had.
                    isUsed = !self.hasFile(of: existing)
                    if isUsed {
                        try db.execute(
                            sql: "UPDATE original SET path = ?, state = 'present' WHERE sha256 = ?",
                            arguments: [path, Data(file.sha256)])
                    }
                } else {
                    try Catalogue.insertOriginal(file, path: path, db)
                }
                let isNew = existing == nil || duplicates == .addAsset
                if isNew { try Catalogue.insertAsset(id, file, db) }
                try self.onImportStep?(.inserted)
                guard let asset = try Catalogue.asset(isNew ? id : existing?.id ?? id, db) else {
                    throw BlobError(.internalError, "A row that was inserted is not there.")
                }
                return (ImportResult(asset: asset, isNew: isNew), isUsed)
            }
        } catch {
            // A commit that failed may have happened: then the file belongs to the library.
            if try self.catalogue.namesNothing(path) { incoming.discard() } else { incoming.leaveToRecovery() }
            throw error
        }
        try? self.onImportStep?(.committed)
        if outcome.isUsed { incoming.keep() } else { incoming.discard() }
        return outcome.result
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
