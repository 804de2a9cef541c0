public import BlobCore
import Foundation
import GRDB

/// An import of many sources, which are committed in groups.
///
/// A group is committed when it has ``groupLimit`` sources, or when its first source has waited for ``groupDuration``
/// and bytes of another one are read. Recovery does not run between the first source and ``finish()``. Has one owner;
/// calls block.
public final class AssetImport {
    /// The largest number of sources in one commit.
    public static let groupLimit = 100
    /// The time that a source waits for others to be committed with it.
    public static let groupDuration = Duration.seconds(1)

    private let library: AssetLibrary
    private let duplicates: AssetLibrary.DuplicatePolicy
    private let context: BlobContext
    private let onCommit: (AssetLibrary.ImportResult) throws -> Void
    /// The lock against recovery, held from the first source to ``finish()``.
    private var lock: LibraryLock?
    private let folders: OriginalsFolder
    private let facts: FactReader
    private var group: [Member] = []
    private var groupStart = ContinuousClock.now

    /// A source that was copied, and is not committed yet.
    private struct Member {
        let id: UUID
        let file: ImportedFile
        /// The copied file; nil when the library has the bytes already.
        let incoming: IncomingFile?
        /// The path of the original that should have these bytes and is damaged; nil when there is none.
        let damagedPath: String?
        var storedPath: String { LibraryFolder.storedPath(for: self.id, fileExtension: self.file.fileExtension) }

        /// Returns the lines of the journal.
        func entries(of outcome: Outcome) -> [JournalEntry] {
            guard case .success(let added) = outcome else { return [] }
            let moved = added.result.isRepaired ? [added.result.asset.moved] : []
            return moved + (added.result.isNew ? [.added(JournalAsset(added.result.asset))] : [])
        }
    }

    init(
        _ library: AssetLibrary, _ duplicates: AssetLibrary.DuplicatePolicy, _ context: BlobContext,
        _ onCommit: @escaping (AssetLibrary.ImportResult) throws -> Void
    ) throws(BlobError) {
        self.library = library
        self.duplicates = duplicates
        self.context = context
        self.onCommit = onCommit
        self.facts = FactReader(context)
        do {
            self.folders = try OriginalsFolder(library.folder)
        } catch {
            throw Self.writing(error)
        }
    }

    /// Copies the bytes of a source into the library. Its asset exists once `onCommit` is called for it.
    ///
    /// - Parameters:
    ///   - source: The source to import.
    ///   - name: The name of the asset; nil for the name that the source provides.
    /// - Throws: Errors of reading the source, which do not affect the other sources; errors of committing a group, of
    ///   which nothing is added then, unless the catalogue rejects only single sources.
    public func add(_ source: any BlobInputStreamDataSource, name: String? = nil) throws(BlobError) {
        do {
            if self.lock == nil { self.lock = try LibraryLock.shared(self.library.folder, self.context) }
            let id = UUID()
            let incoming = try IncomingFile(self.folders, id)
            defer { incoming.close() }
            try self.library.onImportStep?(.began)
            let file = try self.copy(source, to: incoming, name)
            try self.library.onImportStep?(.copied)
            // Looked up again in the transaction. Here the original can be read without delaying other writers, and an
            // intact one saves waiting for the disk.
            let existing = try self.library.catalogue.read { db in
                try Catalogue.asset(sha256: file.sha256, db) ?? Catalogue.item(sha256: file.sha256, db)
            }
            let isWhole = try existing.map { try self.library.hasOriginal(of: $0, file, self.context) } ?? false
            if !isWhole { try incoming.synchronise() }
            if self.group.isEmpty { self.groupStart = .now }
            self.group.append(
                Member(
                    id: id, file: file, incoming: isWhole ? nil : incoming,
                    damagedPath: isWhole ? nil : existing?.storedPath))
            try self.commitIfComplete()
        } catch {
            throw Self.writing(error)
        }
    }

    /// Commits the sources that were added since the last group, and allows recovery again.
    ///
    /// - Throws: Errors of committing a group, as ``add(_:name:)``.
    public func finish() throws(BlobError) {
        defer { self.lock = nil }
        do {
            try self.commit()
        } catch {
            throw Self.writing(error)
        }
    }

    private static func writing(_ error: any Error) -> BlobError {
        var error = BlobError(wrapping: error)
        error.operation = error.operation ?? "write"
        return error
    }

    private func copy(
        _ source: any BlobInputStreamDataSource, to incoming: IncomingFile, _ name: String?
    ) throws -> ImportedFile {
        let reader = try source.open(context: self.context)
        defer { reader.close() }
        var hasher = BlockHasher()
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.bufferByteCount, alignment: 4096)
        defer { buffer.deallocate() }
        while case let count = try reader.readWaiting(into: buffer), count > 0 {
            let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<count])
            hasher.update(bytes)
            try incoming.write(bytes)
            try self.commitIfComplete()
        }
        let bytes = incoming.headerBytes(byteCount: reader.byteOffset)
        let format = MediaFormat(signature: bytes.prefix(MediaFormat.signatureByteCount))
        // Texts in the catalogue end at a zero byte.
        let name = (name ?? reader.info.name)?.replacingOccurrences(of: "\0", with: "\u{FFFD}")
        let (sha256, blocks) = hasher.finalize()
        let (media, hasAllFacts) = try self.facts.describe(bytes) { () throws(BlobError) in
            try incoming.openForReading()
        }
        var file = ImportedFile(
            name: name, fileExtension: name.flatMap(Asset.fileExtension(ofName:)) ?? format?.fileExtension,
            byteCount: reader.byteOffset, sha256: sha256, blocks: blocks, media: media,
            hasAllFacts: hasAllFacts)
        // With limits of its own.
        file.embeddedXMP = EmbeddedXMP.find(in: incoming.headerBytes(byteCount: reader.byteOffset))
        if let locator = source.locator, locator.scheme == "file", locator.selectors.isEmpty {
            file.modificationTime = locator.filePath.flatMap(modificationTime(ofFile:))
            if file.media.mediaType?.hasPrefix("image/") == true, let path = locator.filePath {
                file.sidecars = try Sidecar.beside(path)
            }
        }
        return file
    }

    /// The size of the buffer in bytes, with which reads from the page cache and writes to the disk are fastest.
    private static let bufferByteCount = 256 * 1024

    // MARK: Committing

    private func commitIfComplete() throws {
        guard !self.group.isEmpty else { return }
        if self.group.count >= Self.groupLimit || self.groupStart.duration(to: .now) >= Self.groupDuration {
            try self.commit()
        }
    }

    private func commit() throws {
        let group = self.group
        self.group = []
        guard !group.isEmpty else { return }
        // Present from before the first file is named until the rows are synchronised, so that recovery runs after a
        // crash.
        let marker = try LibraryMarker(self.folders)
        let outcomes = try self.commit(group, marker)
        var needsNoRecovery = true
        for (member, outcome) in zip(group, outcomes) {
            guard case .success(let added) = outcome, added.isUsed else {
                member.incoming?.discard()
                continue
            }
            member.incoming?.keep()
            // A file that cannot be set aside is left to recovery, with the marker.
            guard added.result.isRepaired, let path = member.damagedPath else { continue }
            if (try? self.folders.setAside(path)) == nil { needsNoRecovery = false }
        }
        if needsNoRecovery { marker.remove() }
        for case .success(let added) in outcomes { try self.onCommit(added.result) }
        for case .failure(let error) in outcomes { throw error }
    }

    /// The outcome of one source: its result, and whether the library uses its file; or an error of this source alone.
    private typealias Outcome = Result<(result: AssetLibrary.ImportResult, isUsed: Bool), BlobError>

    /// Moves the files to their places, and then adds the rows in one transaction.
    private func commit(_ group: [Member], _ marker: LibraryMarker) throws -> [Outcome] {
        do {
            for member in group { try member.incoming?.move(toStored: member.storedPath) }
            try self.folders.synchronise(
                group.lazy.filter { $0.incoming != nil }.map(\.storedPath), known: self.library.durableFolders)
            try self.library.onImportStep?(.named)
            let outcomes = try self.library.commit { db in
                let outcomes = try group.map { try self.outcome(of: $0, db) }
                try self.library.onImportStep?(.inserted)
                return (outcomes, zip(group, outcomes).flatMap { $0.entries(of: $1) })
            }
            try self.library.onImportStep?(.committed)
            return outcomes
        } catch {
            // A commit that failed may have happened: a file that a row may name is left to recovery, which runs
            // because of the marker.
            var isKnown = true
            for member in group where member.incoming != nil {
                if (try? self.library.catalogue.isOrphan(member.storedPath)) == true {
                    member.incoming?.discard()
                } else {
                    member.incoming?.keep()
                    isKnown = false
                }
            }
            if isKnown { marker.remove() }
            throw error
        }
    }

    /// Adds the rows of a source; adds none of them when the catalogue rejects one.
    private func outcome(of member: Member, _ db: Database) throws -> Outcome {
        var added: (result: AssetLibrary.ImportResult, isUsed: Bool)?
        do {
            try db.inSavepoint {
                added = try self.insert(member, db)
                return .commit
            }
        } catch let error as BlobError {
            return .failure(error)
        } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
            return .failure(BlobError(catalogue: error))
        }
        guard let added else { throw BlobError(.internalError, "A source was committed without a result.") }
        return .success(added)
    }

    /// Adds the rows of a source, except those that exist already, also if they were added in the meantime.
    private func insert(
        _ member: Member, _ db: Database
    ) throws -> (result: AssetLibrary.ImportResult, isUsed: Bool) {
        let owner = try Catalogue.asset(sha256: member.file.sha256, db)
        // An original may be that of items of shared streams alone.
        let existing = try owner ?? Catalogue.item(sha256: member.file.sha256, db)
        var isUsed = member.incoming != nil
        if let existing {
            // An original that was added in the meantime has just been verified by its import.
            isUsed = isUsed && (existing.storedPath == member.damagedPath || !self.library.hasFile(of: existing))
            if isUsed { try Catalogue.setOriginal(member.file, path: member.storedPath, db) }
        } else if isUsed {
            try Catalogue.insertOriginal(member.file, path: member.storedPath, db)
        }
        let file = member.file
        try Catalogue.setFacts(file.media, isWhole: file.hasAllFacts, sha256: file.sha256, db)
        let isNew = owner == nil || self.duplicates == .addAsset
        if isNew { try Catalogue.insertAsset(member.id, member.file, db) }
        let id = isNew ? member.id : existing?.id ?? member.id
        try Catalogue.setSidecars(member.file.sidecars, of: id, isNew: isNew, db)
        guard let asset = try Catalogue.asset(id, db) else {
            throw BlobError(.changed, "An asset with these bytes was removed while they were imported once more.")
        }
        let isRepaired = isUsed && existing != nil
        return (AssetLibrary.ImportResult(asset: asset, isNew: isNew, isRepaired: isRepaired), isUsed)
    }
}

/// Returns the time of modification of a file in nanoseconds since 1970; nil when it cannot be looked at.
private func modificationTime(ofFile path: [UInt8]) -> Int64? {
    var status = stat()
    let result = (path.map { CChar(bitPattern: $0) } + [0]).withUnsafeBufferPointer { characters in
        characters.baseAddress.map { stat($0, &status) } ?? -1
    }
    guard result == 0 else { return nil }
    #if canImport(Darwin)
        let time = status.st_mtimespec
    #else
        let time = status.st_mtim
    #endif
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}
