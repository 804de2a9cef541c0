#if Photos
package import BlobCore
package import Foundation
import GRDB

/// A check that compares the catalogue, the journal and the files of a library.
package struct LibraryCheck {
    private let folder: LibraryFolder
    private let url: URL
    private let isDeep: Bool
    private let repairsProblems: Bool
    private let context: BlobContext
    private let onFinding: (LibraryFinding) throws -> Void

    /// - Parameters:
    ///   - isDeep: True to read all originals and verify the digests of all blocks.
    ///   - repairsProblems: True to repair the library. Only the remains of interrupted imports are removed. Files to
    ///     which no row refers and damaged originals are quarantined, originals are restored from the quarantine or
    ///     marked as missing, missing digests are computed, and a lost catalogue is rebuilt from the journal.
    ///   - onFinding: Called for each finding, with the result of its repair.
    package init(
        of url: URL, isDeep: Bool, repairsProblems: Bool, context: BlobContext = BlobContext(),
        onFinding: @escaping (LibraryFinding) throws -> Void
    ) {
        self.folder = LibraryFolder(url)
        (self.url, self.isDeep, self.repairsProblems) = (url, isDeep, repairsProblems)
        (self.context, self.onFinding) = (context, onFinding)
    }

    /// Runs the check.
    ///
    /// - Returns: False if files without rows were not checked, because an import or a removal is running.
    /// - Throws: ``BlobError/Code/notFound`` if the library does not exist; with repairs,
    ///   ``BlobError/Code/unavailable`` during an import or a removal; errors while reading; errors thrown by
    ///   `onFinding`.
    package func run() throws -> Bool {
        guard try self.folder.exists() || LibraryJournal(self.folder).byteCount > 0 else {
            _ = try AssetLibrary(at: self.url)
            return true
        }
        guard self.repairsProblems else {
            guard let library = try self.checkContent() else { return true }
            // The lock is held while names are listed, but not while originals are read, because imports wait for it.
            guard let lock = try? LibraryLock.exclusive(self.folder) else { return false }
            try withExtendedLifetime(lock) { try self.checkFiles(library, self.leftovers) }
            return true
        }
        guard let lock = try LibraryLock.exclusive(self.folder) else { throw AssetLibrary.libraryInUseError }
        try withExtendedLifetime(lock) {
            let leftovers = self.leftovers
            if let library = try self.checkContent() { try self.checkFiles(library, leftovers) }
        }
        return true
    }

    /// The names of files left by interrupted imports and removals.
    private var leftovers: [String] {
        let names = (try? OriginalsFolder(self.folder).incoming.names()) ?? []
        return names.filter(LibraryFolder.isIncoming)
    }

    /// Checks the catalogue, the originals and the journal; returns nil if the catalogue is unusable.
    private func checkContent() throws -> AssetLibrary? {
        guard try self.checkCatalogue() else { return nil }
        let library = try AssetLibrary(at: self.url, for: self.repairsProblems ? .writing : .reading, recovers: false)
        try self.checkOriginals(library)
        try self.checkJournal(library)
        return library
    }

    private func report(
        _ kind: LibraryFinding.Kind, _ subject: String, _ detail: String, isRepaired: Bool = false
    ) throws {
        try self.onFinding(LibraryFinding(kind: kind, subject: subject, detail: detail, isRepaired: isRepaired))
    }

    /// Checks the catalogue; returns false if it is unusable.
    private func checkCatalogue() throws -> Bool {
        guard let problem = try self.catalogueProblem() else { return true }
        let canRebuild = self.repairsProblems && LibraryJournal(self.folder).byteCount > 0
        let lostLineCount = canRebuild ? try CatalogueRebuild(self.folder, self.url).run() : 0
        let loss = lostLineCount > 0 ? " Damaged lines in the journal: \(lostLineCount). Assets may be lost." : ""
        try self.report(
            .catalogue, LibraryFolder.catalogue, problem + loss, isRepaired: canRebuild && lostLineCount == 0)
        return canRebuild
    }

    private func catalogueProblem() throws -> String? {
        do {
            guard try self.folder.exists() else { return "The catalogue is missing." }
            let catalogue = try Catalogue(in: self.folder.path, isReadOnly: true)
            if try catalogue.isEmpty() { return "The catalogue has no tables." }
            try catalogue.check(isMade: true)
            try catalogue.examine(isDeep: self.isDeep)
            return nil
        } catch {
            let error = BlobError(wrapping: error)
            guard error.code == .corrupted || error.code == .inconsistent else { throw error }
            return error.message
        }
    }

    // MARK: Originals

    private func checkOriginals(_ library: AssetLibrary) throws {
        try library.catalogue.forEachOriginal { original in
            try self.context.check()
            try self.check(original, library)
        }
    }

    /// Checks an original whose row was already read.
    func check(_ first: StoredOriginal, _ library: AssetLibrary) throws {
        var original = first
        guard let asset = try library.catalogue.firstAsset(of: original) else {
            // The original may have been removed with its last asset.
            guard try !library.catalogue.originals(where: "id = ?", [original.id]).isEmpty else { return }
            return try self.report(
                .catalogue, original.path, "The catalogue lists an original that does not belong to any asset.")
        }
        var damage = try self.damage(of: original, asset, library)
        // An import or a removal may have changed the row before it changed the file.
        while damage != nil {
            guard let now = try library.catalogue.originals(where: "id = ?", [original.id]).first else { return }
            guard now.path != original.path || now.isMissing != original.isMissing else { break }
            original = now
            damage = try self.damage(of: original, asset, library)
        }
        guard let damage else {
            guard original.isMissing else { return }
            if self.repairsProblems { try library.catalogue.setState("present", ofOriginal: original.id) }
            return try self.report(
                .missing, asset.locator.text, "The original is marked as missing, but exists.",
                isRepaired: self.repairsProblems)
        }
        guard damage.kind != .digests else { return try self.onFinding(damage) }
        var finding = damage
        if self.repairsProblems {
            finding.isRepaired = try library.restoreFromQuarantine(original, asset, self.context)
            var isMissing = damage.kind == .missing
            if !finding.isRepaired, damage.hasOtherBytes,
                try OriginalsFolder(self.folder).moveToQuarantine(original.path)
            {
                finding.detail += " It was moved to the quarantine."
                isMissing = true
            }
            if !finding.isRepaired, isMissing, !original.isMissing {
                try library.catalogue.setState("missing", ofOriginal: original.id)
            }
        }
        try self.onFinding(finding)
    }

    private func damage(
        of original: StoredOriginal, _ asset: Asset, _ library: AssetLibrary
    ) throws -> LibraryFinding? {
        let found = { (kind, detail, hasOtherBytes) in
            LibraryFinding(
                kind: kind, subject: asset.locator.text, detail: detail, hasOtherBytes: hasOtherBytes)
        }
        let file: OriginalFile
        do throws(BlobError) {
            file = try OriginalFile(self.folder.path(ofStored: original.path))
        } catch {
            if error.code == .notFound {
                return found(.missing, "The original is missing: \(original.path).", false)
            }
            return found(.content, "The original cannot be opened: \(error.message)", false)
        }
        guard file.snapshot.byteCount == asset.byteCount else {
            let detail = "The original has \(file.snapshot.byteCount) bytes, but should have \(asset.byteCount)."
            return found(.size, detail, true)
        }
        guard self.isDeep else { return nil }
        let (sha256, blocks): ([UInt8], BlockDigests)
        do throws(BlobError) {
            (sha256, blocks) = try file.digests(byteCount: asset.byteCount, self.context)
        } catch {
            if error.code == .cancelled || error.code == .timedOut { throw error }
            return found(.content, "The original cannot be read: \(error.message)", false)
        }
        guard sha256 == asset.sha256 else {
            return found(
                .content,
                "The original has the SHA-256 \(sha256.hexadecimal), but should have \(asset.sha256.hexadecimal).", true
            )
        }
        guard try library.catalogue.blocks(of: asset) != blocks else { return nil }
        if self.repairsProblems { try library.catalogue.setBlocks(blocks, of: asset) }
        var finding = found(.digests, "The stored digests of the original's blocks are missing or wrong.", false)
        finding.isRepaired = self.repairsProblems
        return finding
    }

    // MARK: Journal and files

    private func checkJournal(_ library: AssetLibrary) throws {
        let (skippedCount, unequalCount, lostRenderCount, lostCount) = try library.catalogue.read { db in
            // Reads one commit and the matching part of the journal, because imports may continue during the check.
            let (known, found) = (try Catalogue.journalPlace(db), library.journal.place)
            let isKnown = known.byteCount > 0 && known.byteCount <= found.byteCount && known.id == found.id
            let state = try JournalState(library.journal, upTo: isKnown ? known.byteCount : .max)
            var kept = Dictionary(state.assets.map { ($0.id, $0) }) { $1 }
            var unequalCount = 0
            try Catalogue.forEachAsset(db) { asset in
                let line = kept.removeValue(forKey: asset.id)
                if line?.sha256 != asset.sha256.hexadecimal || line?.path != asset.storedPath { unequalCount += 1 }
            }
            let lostRenderCount = try Catalogue.renders(db).count { state.adjustments[$0.key]?.render != $0.value }
            for line in Array(kept.values) where line.album != nil {
                if try Catalogue.containsID(line.id, db) { kept[line.id] = nil }
            }
            return (state.skippedLineCount, unequalCount, lostRenderCount, kept.count)
        }
        guard unequalCount + lostRenderCount + lostCount + skippedCount > 0 else { return }
        if self.repairsProblems { try library.rewriteJournal() }
        try self.report(
            .journal, LibraryFolder.journal,
            "The journal does not match the catalogue (missing or different assets: \(unequalCount), missing stored "
                + "renders: \(lostRenderCount), extra assets: \(lostCount), damaged lines: \(skippedCount)).",
            isRepaired: self.repairsProblems)
    }

    private func checkFiles(_ library: AssetLibrary, _ leftovers: [String]) throws {
        for name in leftovers.sorted() {
            try self.report(
                .leftover, "\(LibraryFolder.originals)/\(LibraryFolder.incoming)/\(name)",
                "An import or a removal was interrupted.", isRepaired: self.repairsProblems)
        }
        guard let folders = try? OriginalsFolder(self.folder) else { return }
        let orphans = try Self.orphans(folders, library)
        if self.repairsProblems { try library.recoverLocked() }
        for path in orphans.sorted() {
            try self.report(
                .orphan, path, "The catalogue does not refer to this file.", isRepaired: self.repairsProblems)
        }
    }

    private static func orphans(_ folders: OriginalsFolder, _ library: AssetLibrary) throws(BlobError) -> [String] {
        var orphans: [String] = []
        try folders.forEachOriginal { path throws(BlobError) in
            if try library.catalogue.isOrphan(path) { orphans.append(path) }
        }
        return orphans
    }
}

/// A difference between the parts of a library, found by a check.
package struct LibraryFinding: Hashable, Sendable {
    package enum Kind: String, Sendable {
        /// The catalogue is lost or damaged.
        case catalogue
        /// The journal and the catalogue differ.
        case journal
        /// An original is missing, or is marked as missing but exists.
        case missing
        /// An original does not have the expected length.
        case size
        /// An original does not have the imported bytes.
        case content
        /// An original has no block digests, which is not damage, because its first reader computes them.
        case digests
        /// No row refers to a file.
        case orphan
        /// A file or marker is left from an interrupted import or removal.
        case leftover
    }

    package let kind: Kind
    /// The URL of the asset, or the path of the file in the library.
    package let subject: String
    package var detail: String
    /// True if the original was read and does not have the imported bytes.
    var hasOtherBytes = false
    /// True if the repair is complete.
    package var isRepaired = false
}

/// An operation that rebuilds a lost or damaged catalogue from the journal.
struct CatalogueRebuild {
    private let folder: LibraryFolder
    private let url: URL

    /// The name of the new catalogue until it is complete, which is also the prefix of the name of its log.
    private static let newName = "catalog.sqlite.new"

    init(_ folder: LibraryFolder, _ url: URL) {
        (self.folder, self.url) = (folder, url)
    }

    /// Writes the new catalogue, quarantines the old one, and replaces it with the new one.
    ///
    /// Must be called under the exclusive lock. Can be repeated after a crash.
    ///
    /// - Returns: The number of damaged lines in the journal.
    func run() throws -> Int {
        let skippedLineCount: Int
        let root = try Folder(self.folder.path)
        let folders = try OriginalsFolder(making: self.folder)
        for suffix in LibraryFolder.databaseSuffixes { try root.removeFile(named: Self.newName + suffix) }
        do {
            let library = try AssetLibrary(rebuilding: self.url, catalogueName: Self.newName)
            let journal = library.journal
            // A commit from now on is in the rest of the journal, which is later applied to the new catalogue.
            let place = journal.place
            let state = try JournalState(journal)
            skippedLineCount = state.skippedLineCount
            try library.catalogue.write { db in
                try library.replay(state, keepsMissing: true, db)
                try Catalogue.setJournalPlace(place, db)
            }
            try library.catalogue.close()
        }
        try root.openFile(named: Self.newName, O_RDWR).synchronise(doing: "Could not synchronise \(Self.newName)")
        for suffix in LibraryFolder.databaseSuffixes {
            try folders.moveToQuarantine(LibraryFolder.catalogue + suffix, in: root)
            if !suffix.isEmpty { try root.removeFile(named: Self.newName + suffix) }
        }
        try root.replaceFile(named: LibraryFolder.catalogue, by: Self.newName)
        return skippedLineCount
    }
}
#endif
