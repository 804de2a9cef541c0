#if Photos
public import BlobCore
import BlobHelper
import Foundation
import GRDB

/// An import of many sources, which are committed in groups.
///
/// A group is committed when it contains ``maximumGroupCount`` sources, or when its first source has waited for
/// ``maximumGroupDuration`` and another source is being read. Recovery does not run between the first source and
/// ``finish()``. Has one owner; calls block.
public final class AssetImport {
    /// The maximum number of sources in one commit.
    public static let maximumGroupCount = 100
    /// The time that a source waits for other sources before it is committed.
    public static let maximumGroupDuration = Duration.seconds(1)

    let library: AssetLibrary
    let duplicates: AssetLibrary.DuplicatePolicy
    let context: BlobContext
    private let onCommit: (AssetLibrary.ImportResult) throws -> Void
    /// The lock against recovery, held from the first source to ``finish()``.
    private var lock: LibraryLock?
    let folders: OriginalsFolder
    let facts: FactReader
    private(set) var group: [Member] = []
    private var groupStart = ContinuousClock.now

    /// A source that has been read but not committed.
    struct Member {
        let id: UUID
        let file: ImportedFile
        /// True for an existing asset for which only sidecars and documents changed.
        var isKnown = false
        /// The copied file; nil if the library already contains the bytes, or refers to the file.
        var incoming: IncomingFile?
        /// The path in the catalogue of a file imported by reference; nil for any other file.
        var referencedPath: String?
        /// The path of the damaged original that should have these bytes; nil if no original is damaged.
        var damagedPath: String?
        /// The file to record with the asset, or the changed facts of a known asset; nil if there is nothing to record.
        var origin: ImportOrigin?

        var storedPath: String {
            self.referencedPath ?? LibraryFolder.storedPath(for: self.id, fileExtension: self.file.fileExtension)
        }
        var offersFile: Bool { self.incoming != nil || self.referencedPath != nil }
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
        self.folders = try BlobError.naming("write") { try OriginalsFolder(library.folder) }
    }

    /// Copies the bytes of a source into the library.
    ///
    /// The asset exists once `onCommit` is called for the source.
    ///
    /// - Parameters:
    ///   - source: The source to import.
    ///   - name: The name of the asset; nil to use the name of the source.
    /// - Throws: Errors reading the source, which do not affect other sources. Errors committing a group, after which
    ///   none of its sources is added, unless the catalogue rejected only some of them.
    public func add(_ source: any BlobInputStreamDataSource, name: String? = nil) throws(BlobError) {
        try self.add(source, name: name, from: nil)
    }

    /// Adds a file of an imported folder, in the same way as ``add(_:name:)`` adds a source.
    package func add(
        _ source: any BlobInputStreamDataSource, name: String?, from origin: ImportOrigin?
    ) throws(BlobError) {
        try BlobError.naming("write") { try self.add { try self.member(source, name, origin) } }
    }

    /// Adds a file that was imported before and has not been touched since; does nothing for any other file.
    ///
    /// Sidecars that changed after the import of the asset replace the stored sidecars; the stored copy of a deleted
    /// sidecar is kept. Facts from a changed document are also stored, unless the file itself contains them. If neither
    /// has changed, the file is not read, and `onCommit` is called immediately.
    ///
    /// - Returns: False if the file must be imported.
    /// - Throws: The errors thrown by ``add(_:name:)``.
    /// - Complexity: O(log files).
    package func addImported(_ origin: ImportOrigin) throws(BlobError) -> Bool {
        try BlobError.naming("write") {
            guard let asset = try self.library.importedAsset(origin) else { return false }
            // Errors of this source do not affect other sources.
            let sidecars = try BlobError.naming("open") { try self.library.changedSidecars(of: asset, origin) }
            let changed = try self.library.changedFacts(for: asset, origin) { try self.embeddedMedia(of: asset) }
            if sidecars.isEmpty, changed == nil {
                try self.commitIfComplete()
                try self.onCommit(AssetLibrary.ImportResult(asset: asset, isNew: false, isRepaired: false))
            } else {
                var file = ImportedFile(byteCount: asset.byteCount, sha256: asset.sha256, media: asset.media)
                file.sidecars = sidecars
                try self.add { Member(id: asset.id, file: file, isKnown: true, origin: changed) }
            }
            return true
        }
    }

    /// Returns the facts contained in the original of an asset.
    private func embeddedMedia(of asset: Asset) throws(BlobError) -> MediaDescription {
        let file = try self.library.file(of: asset)
        defer { file.close() }
        return try self.facts.describe(file).media
    }

    private func add(_ member: () throws -> Member) throws {
        if self.lock == nil { self.lock = try LibraryLock.shared(self.library.folder, self.context) }
        let member = try member()
        if self.group.isEmpty { self.groupStart = .now }
        self.group.append(member)
        try self.commitIfComplete()
    }

    /// Commits the sources that were added since the last commit, and allows recovery to run again.
    ///
    /// - Throws: Errors committing a group, as for ``add(_:name:)``.
    public func finish() throws(BlobError) {
        defer { self.lock = nil }
        try BlobError.naming("write") { try self.commit() }
    }

    /// The total length of adjustment descriptions, in bytes, at which a group is committed, because the descriptions
    /// remain in memory until then.
    private static let descriptionByteLimit = 16 << 20

    // MARK: Committing

    func commitIfComplete() throws {
        guard !self.group.isEmpty else { return }
        let descriptions = self.group.reduce(0) { $0 + $1.file.descriptionByteCount }
        if self.group.count >= Self.maximumGroupCount || descriptions >= Self.descriptionByteLimit
            || self.groupStart.duration(to: .now) >= Self.maximumGroupDuration
        {
            try self.commit()
        }
    }

    private func commit() throws {
        let group = self.group
        self.group = []
        guard !group.isEmpty else { return }
        // The marker exists from before the first file is moved until the rows are synchronised, so that recovery runs
        // after a crash.
        let marker = try LibraryMarker(self.folders)
        let outcomes = try self.commit(group, marker)
        var needsNoRecovery = true
        for (member, outcome) in zip(group, outcomes) {
            guard case .success(let added) = outcome, added.isUsed else {
                member.incoming?.discard()
                continue
            }
            member.incoming?.keep()
            // A file that cannot be moved here is left to recovery, which the marker triggers.
            guard added.result.isRepaired, let path = member.damagedPath else { continue }
            if (try? self.folders.moveToQuarantine(path)) == nil { needsNoRecovery = false }
        }
        if needsNoRecovery { marker.remove() }
        for case .success(let added) in outcomes { try self.onCommit(added.result) }
        for case .failure(let error) in outcomes { throw error }
    }

    /// Moves the files to their final paths, and then adds the rows in one transaction.
    private func commit(_ group: [Member], _ marker: LibraryMarker) throws -> [Outcome] {
        do {
            for member in group { try member.incoming?.move(toStored: member.storedPath) }
            try self.folders.synchronise(
                group.lazy.filter { $0.incoming != nil }.map(\.storedPath), known: self.library.durableFolders)
            try self.library.onImportStep?(.named)
            let outcomes = try self.library.commit { db in
                let outcomes = try group.map { try self.outcome(of: $0, db) }
                try self.library.onImportStep?(.inserted)
                return (outcomes, outcomes.flatMap { (try? $0.get().entries) ?? [] })
            }
            try self.library.onImportStep?(.committed)
            return outcomes
        } catch {
            // A commit that reported an error may still have taken effect: a file to which a row may refer is left to
            // recovery, which the marker triggers.
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

    /// Reads a source, and copies it unless the library already has its bytes or will refer to its file.
    ///
    /// A repeatable file that is as long as an existing original is hashed first, so that duplicates are not written.
    func member(
        _ source: any BlobInputStreamDataSource, _ name: String?, _ origin: ImportOrigin?
    ) throws -> Member {
        if let path = source.filePath {
            try BlobError.naming("open") {
                // Opening and closing the catalogue's file would release SQLite's locks.
                guard !self.library.contains(path: path) else {
                    throw BlobError(.invalidArgument, "A file in the library cannot be imported into the same library.")
                }
                try CloudPlaceholder.check(file: path)
            }
        }
        let id = UUID()
        let isReference = origin?.isReference == true
        if try isReference || self.mayBeDuplicate(source) {
            var file = try self.read(source, to: nil, name)
            let (isWhole, damagedPath) = try self.existing(file, mayBeReference: isReference)
            let isInGroup = self.group.contains { $0.offersFile && $0.file.sha256 == file.sha256 }
            guard !isWhole, !isInGroup else { return Member(id: id, file: file, origin: origin) }
            if let origin, origin.isReference {
                let reference = try BlobError.naming("open") { try origin.reference() }
                try self.describe(&file, reference.file)
                return Member(
                    id: id, file: file, referencedPath: reference.path, damagedPath: damagedPath, origin: origin)
            }
        }
        let incoming = try IncomingFile(self.folders, id)
        defer { incoming.close() }
        try self.library.onImportStep?(.began)
        let file = try self.read(source, to: incoming, name)
        try self.library.onImportStep?(.copied)
        // The original is looked up again in the transaction. Here, it can be read without delaying other writers, and
        // an intact original saves a synchronisation of the disk.
        let (isWhole, damagedPath) = try self.existing(file, mayBeReference: false)
        if !isWhole { try incoming.synchronise() }
        return Member(
            id: id, file: file, incoming: isWhole ? nil : incoming, damagedPath: damagedPath,
            origin: origin)
    }

    /// Returns whether an original with these bytes is intact, and otherwise the path of a damaged original.
    ///
    /// - Parameter mayBeReference: False if a referenced file is not sufficient, because its owner may delete it.
    private func existing(_ file: ImportedFile, mayBeReference: Bool) throws -> (isWhole: Bool, damagedPath: String?) {
        let existing = try self.library.catalogue.read { db in
            try Catalogue.firstAsset(sha256: file.sha256, db)
        }
        let isWhole =
            try existing.map { asset in
                try (mayBeReference || !asset.isReference) && self.library.hasOriginal(of: asset, file, self.context)
            } ?? false
        return (isWhole, isWhole ? nil : existing?.storedPath)
    }

    /// Returns true if a file can be read twice, and an original of the same length exists.
    private func mayBeDuplicate(_ source: any BlobInputStreamDataSource) throws -> Bool {
        guard source.traits.contains(.repeatable), source.filePath != nil,
            let byteCount = try source.info(self.context).byteCount
        else { return false }
        if self.group.contains(where: { $0.file.byteCount == byteCount }) { return true }
        return try self.library.catalogue.read { try Catalogue.hasOriginal(byteCount: byteCount, $0) }
    }

    /// Reads a source to its end, and writes its bytes.
    ///
    /// - Parameter incoming: The file to write to; nil to only compute the digests.
    private func read(
        _ source: any BlobInputStreamDataSource, to incoming: IncomingFile?, _ name: String?
    ) throws -> ImportedFile {
        let reader = try source.open(context: self.context)
        defer { reader.close() }
        var hasher = BlockHasher()
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.bufferByteCount, alignment: 4096)
        defer { buffer.deallocate() }
        var header: [UInt8] = []
        while case let count = try reader.readBlocking(into: buffer), count > 0 {
            let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<count])
            hasher.update(bytes)
            header += bytes.prefix(MediaFormat.signatureByteCount - header.count)
            try incoming?.write(bytes)
            try self.commitIfComplete()
        }
        // Text in the catalogue ends at a zero byte.
        let name = (name ?? reader.info.name)?.replacingOccurrences(of: "\0", with: "\u{FFFD}")
        let (sha256, blocks) = hasher.finalize()
        let format = MediaFormat(signature: header)
        var file = ImportedFile(
            name: name, fileExtension: name.flatMap(LibraryFolder.fileExtension(ofName:)) ?? format?.fileExtension,
            byteCount: reader.byteOffset, sha256: sha256, blocks: blocks, media: MediaDescription())
        if let incoming {
            try self.describe(&file, incoming.openForReading())
        }
        if let path = source.filePath {
            file.modificationTime = try? FileStatus(ofFileAt: path).modificationTime
            if format?.mediaType.hasPrefix("image/") == true {
                file.sidecars = try BlobError.naming("open") { try Sidecar.sidecars(beside: path) }
            }
        }
        return file
    }

    /// Adds the facts from the headers and the metadata of a file.
    private func describe(_ file: inout ImportedFile, _ original: OriginalFile) throws(BlobError) {
        let name = file.name
        // Each parser uses a separate reader, because each reader has its own limit.
        try BlobError.naming("open") { try CloudPlaceholder.check(name: name, original.headerBytes) }
        (file.media, file.hasAllFacts) = try self.facts.describe(original)
        file.embeddedXMP = EmbeddedXMP.find(in: original.headerBytes)
    }

    /// The buffer size in bytes with which reads from the page cache and writes to the disk are fastest.
    private static let bufferByteCount = 256 * 1024

    /// The rows that were added or found for a source.
    struct AddedRows {
        let result: AssetLibrary.ImportResult
        /// True if the library uses the file of the source.
        let isUsed: Bool
        let entries: [JournalEntry]
    }

    /// The outcome for a source: its rows, or an error that affects only this source.
    typealias Outcome = Result<AddedRows, BlobError>

    /// Adds the rows of a source, or none of them if the catalogue rejects one.
    func outcome(of member: Member, _ db: Database) throws -> Outcome {
        var added: AddedRows?
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
        guard let added else {
            throw BlobError(.internalError, "The import was committed without a result.")
        }
        return .success(added)
    }

    /// Adds the rows of a source, except rows that already exist, even if they were added in the meantime.
    private func insert(_ member: Member, _ db: Database) throws -> AddedRows {
        guard !member.isKnown else { return try self.setSidecars(of: member, db) }
        let owner = try Catalogue.asset(sha256: member.file.sha256, db)
        // An original may belong only to items of shared streams.
        let existing = try owner ?? Catalogue.item(sha256: member.file.sha256, db)
        var isUsed = member.offersFile
        var entries: [JournalEntry] = []
        if let existing {
            // An original that was added in the meantime was just verified by its import.
            isUsed = isUsed && (existing.storedPath == member.damagedPath || !self.library.hasFile(of: existing))
        }
        if isUsed, let reference = member.referencedPath {
            entries += try Catalogue.releasePath(reference, except: member.file.sha256, db)
        }
        if existing == nil, isUsed {
            try Catalogue.insertOriginal(member.file, path: member.storedPath, db)
        } else if isUsed {
            try Catalogue.setOriginal(member.file, path: member.storedPath, db)
        }
        let file = member.file
        if existing != nil, let isWhole = file.hasAllFacts {
            try Catalogue.setFacts(file.media, isWhole: isWhole, sha256: file.sha256, db)
        }
        let isNew = owner == nil || self.duplicates == .addAsset
        if isNew { try Catalogue.insertAsset(file.asset(member.id, path: member.storedPath), db) }
        try member.origin?.setExternalFacts(ofOriginal: Data(file.sha256), db)
        let id = isNew ? member.id : existing?.id ?? member.id
        let isAdjusted = try Catalogue.setSidecars(file.sidecars, of: id, isNew: isNew, db)
        guard let asset = try Catalogue.asset(id, db) else { throw Self.removedAssetError }
        try member.origin?.unchangedOrigin?.remember(asset.id, db)
        if isUsed, existing != nil { entries.append(asset.moved) }
        let isRepaired = isUsed && existing?.isReference == false
        if isNew { entries.append(.added(JournalAsset(asset))) }
        if isAdjusted, let adjustment = try Catalogue.journalAdjustment(of: id, db) {
            entries.append(.adjusted(adjustment))
        }
        return AddedRows(
            result: AssetLibrary.ImportResult(asset: asset, isNew: isNew, isRepaired: isRepaired), isUsed: isUsed,
            entries: entries)
    }

    private static let removedAssetError = BlobError(
        .changed, "The asset with this content was removed while the same content was being imported again.")

    private func setSidecars(of member: Member, _ db: Database) throws -> AddedRows {
        let isAdjusted = try Catalogue.setSidecars(member.file.sidecars, of: member.id, isNew: false, db)
        guard var asset = try Catalogue.asset(member.id, db) else { throw Self.removedAssetError }
        var entries: [JournalEntry] = []
        if let changed = member.origin {
            try changed.replaceExternalFacts(of: asset, db)
            asset = try Catalogue.asset(member.id, db) ?? asset
            entries.append(.added(JournalAsset(asset)))
        }
        if isAdjusted, let adjustment = try Catalogue.journalAdjustment(of: member.id, db) {
            entries.append(.adjusted(adjustment))
        }
        return AddedRows(
            result: AssetLibrary.ImportResult(asset: asset, isNew: false, isRepaired: false), isUsed: false,
            entries: entries)
    }
}

extension BlobInputStreamDataSource {
    /// The path of a plain file, as bytes; nil for any other source.
    fileprivate var filePath: [UInt8]? {
        guard let locator, locator.scheme == "file", locator.selectors.isEmpty else { return nil }
        return locator.filePath
    }
}

/// The detection of placeholders for files whose content is stored in a cloud.
enum CloudPlaceholder {
    /// The maximum length of a placeholder of iCloud Drive, which is a property list of a few hundred bytes.
    private static let byteLimit: Int64 = 64 * 1024
    /// The minimum length of a file that must have blocks; file systems may store shorter files without blocks of their
    /// own.
    private static let blockByteCount: Int64 = 4096

    /// Throws ``BlobError/Code/unavailable`` for a property list with the name `.NAME.icloud`, with which iCloud Drive
    /// replaces a file whose content it has removed.
    static func check(name: String?, _ bytes: HeaderBytes) throws(BlobError) {
        guard let name, name.hasPrefix("."), name.hasSuffix(".icloud"), bytes.byteCount <= self.byteLimit else {
            return
        }
        let start = bytes.prefix(8)
        guard start.starts(with: "bplist".utf8) || start.starts(with: "<?xml".utf8) else { return }
        throw self.cloudPlaceholderError(String(name.dropFirst().dropLast(".icloud".count)))
    }

    /// Throws ``BlobError/Code/unavailable`` for a picture or a video that has a length but no blocks in the file
    /// system, because reading it would return zeros.
    static func check(file path: [UInt8]) throws(BlobError) {
        let name = String(decoding: path.split(separator: UInt8(ascii: "/")).last ?? [], as: UTF8.self)
        guard let status = try? FileStatus(ofFileAt: path), status.isRegular, status.hasNoBlocks,
            status.byteCount >= self.blockByteCount,
            let suffix = LibraryFolder.fileExtension(ofName: name)?.lowercased(), self.mediaExtensions.contains(suffix)
        else { return }
        throw self.cloudPlaceholderError(name)
    }

    private static let mediaExtensions = Set(
        MediaFormat.allCases.map(\.fileExtension) + ["jpeg", "tiff", "heif", "m4v"])

    private static func cloudPlaceholderError(_ name: String) -> BlobError {
        BlobError(.unavailable, "'\(name)' is stored in the cloud, not on this disk: download it first.")
    }
}
#endif
