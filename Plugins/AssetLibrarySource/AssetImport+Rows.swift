import BlobCore
import Foundation
import GRDB

extension AssetImport {
    /// The rows of one source that were added, or found.
    struct Added {
        let result: AssetLibrary.ImportResult
        /// True when the library uses the file of the source.
        let isUsed: Bool
        let entries: [JournalEntry]
    }

    /// The outcome of one source: its rows, or an error of this source alone.
    typealias Outcome = Result<Added, BlobError>

    /// Adds the rows of a source; adds none of them when the catalogue rejects one.
    func outcome(of member: Member, _ db: Database) throws -> Outcome {
        var added: Added?
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
    private func insert(_ member: Member, _ db: Database) throws -> Added {
        guard !member.isKnown else { return try self.setSidecars(of: member, db) }
        let owner = try Catalogue.asset(sha256: member.file.sha256, db)
        // An original may be that of items of shared streams alone.
        let existing = try owner ?? Catalogue.item(sha256: member.file.sha256, db)
        var isUsed = member.offersFile
        var entries: [JournalEntry] = []
        if let existing {
            // An original that was added in the meantime has just been verified by its import.
            isUsed = isUsed && (existing.storedPath == member.damagedPath || !self.library.hasFile(of: existing))
        }
        if isUsed, let reference = member.reference {
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
        try member.origin?.setGiven(ofOriginal: Data(file.sha256), db)
        let id = isNew ? member.id : existing?.id ?? member.id
        let isAdjusted = try Catalogue.setSidecars(file.sidecars, of: id, isNew: isNew, db)
        guard let asset = try Catalogue.asset(id, db) else { throw Self.isRemoved }
        try member.origin?.ifUnchanged?.remember(asset.id, db)
        if isUsed, existing != nil { entries.append(asset.moved) }
        let isRepaired = isUsed && existing?.isReference == false
        if isNew { entries.append(.added(JournalAsset(asset))) }
        if isAdjusted, let adjustment = try Catalogue.journalAdjustment(of: id, db) {
            entries.append(.adjusted(adjustment))
        }
        return Added(
            result: AssetLibrary.ImportResult(asset: asset, isNew: isNew, isRepaired: isRepaired), isUsed: isUsed,
            entries: entries)
    }

    private static let isRemoved = BlobError(
        .changed, "An asset with these bytes was removed while they were imported once more.")

    private func setSidecars(of member: Member, _ db: Database) throws -> Added {
        let isAdjusted = try Catalogue.setSidecars(member.file.sidecars, of: member.id, isNew: false, db)
        guard var asset = try Catalogue.asset(member.id, db) else { throw Self.isRemoved }
        var entries: [JournalEntry] = []
        if let news = member.origin {
            try news.replaceGiven(of: asset, db)
            asset = try Catalogue.asset(member.id, db) ?? asset
            entries.append(.added(JournalAsset(asset)))
        }
        if isAdjusted, let adjustment = try Catalogue.journalAdjustment(of: member.id, db) {
            entries.append(.adjusted(adjustment))
        }
        return Added(
            result: AssetLibrary.ImportResult(asset: asset, isNew: false, isRepaired: false), isUsed: false,
            entries: entries)
    }
}
