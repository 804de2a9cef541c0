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

    /// A source that was read, and is not committed yet.
    struct Member {
        let id: UUID
        let file: ImportedFile
        /// True for an asset of the library, of which only sidecars and documents changed.
        var isKnown = false
        /// The copied file; nil when the library has the bytes already, or refers to the file.
        var incoming: IncomingFile?
        /// The path in the catalogue of a file that stays where it is; nil for any other.
        var reference: String?
        /// The path of the original that should have these bytes and is damaged; nil when there is none.
        var damagedPath: String?
        /// The file that is remembered with the asset; of a known one, the facts that changed; nil for none.
        var origin: ImportOrigin?

        var storedPath: String {
            self.reference ?? LibraryFolder.storedPath(for: self.id, fileExtension: self.file.fileExtension)
        }
        var offersFile: Bool { self.incoming != nil || self.reference != nil }
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
        try self.add(source, name: name, from: nil)
    }

    /// Adds a source as ``add(_:name:)`` does, which is a file of a folder that is imported.
    package func add(
        _ source: any BlobInputStreamDataSource, name: String?, from origin: ImportOrigin?
    ) throws(BlobError) {
        do {
            try self.add { try self.member(source, name, origin) }
        } catch {
            throw Self.writing(error)
        }
    }

    /// Adds a file that was imported before and was not touched since; does nothing for any other.
    ///
    /// Sidecars of the file that were changed after the import of the asset are kept in place of others; one that is
    /// gone stays kept. So are the facts of a document that was changed, unless the file itself tells them. Without
    /// these, the bytes are not read, and `onCommit` is called at once.
    ///
    /// - Returns: False for a file that has to be imported.
    /// - Throws: As ``add(_:name:)``.
    /// - Complexity: O(log files).
    package func addImported(_ origin: ImportOrigin) throws(BlobError) -> Bool {
        do {
            guard let asset = try self.library.importedAsset(origin) else { return false }
            let sidecars = try self.ofSource { () throws(BlobError) in
                try self.library.changedSidecars(of: asset, origin)
            }
            let news = try self.library.news(for: asset, origin) { () throws(BlobError) in
                try self.ownMedia(of: asset)
            }
            if sidecars.isEmpty, news == nil {
                try self.commitIfComplete()
                try self.onCommit(AssetLibrary.ImportResult(asset: asset, isNew: false, isRepaired: false))
            } else {
                var file = ImportedFile(byteCount: asset.byteCount, sha256: asset.sha256, media: asset.media)
                file.sidecars = sidecars
                try self.add { Member(id: asset.id, file: file, isKnown: true, origin: news) }
            }
            return true
        } catch {
            throw Self.writing(error)
        }
    }

    /// Returns what the original of an asset itself tells.
    private func ownMedia(of asset: Asset) throws(BlobError) -> MediaDescription {
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

    /// The length of the descriptions of adjustments in one commit, in bytes, which are in memory until then.
    private static let descriptionByteLimit = 16 << 20

    // MARK: Committing

    func commitIfComplete() throws {
        guard !self.group.isEmpty else { return }
        let descriptions = self.group.reduce(0) { $0 + $1.file.descriptionByteCount }
        if self.group.count >= Self.groupLimit || descriptions >= Self.descriptionByteLimit
            || self.groupStart.duration(to: .now) >= Self.groupDuration
        {
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
                return (outcomes, outcomes.flatMap { (try? $0.get().entries) ?? [] })
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
}
