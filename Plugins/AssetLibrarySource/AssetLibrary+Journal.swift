import BlobCore
import Foundation
import GRDB

extension AssetLibrary {
    var journal: LibraryJournal { LibraryJournal(self.folder) }

    /// Performs one transaction that changes assets, and writes them to the journal before its commit.
    ///
    /// - Parameter body: Returns a result, and the entries of the changes.
    /// - Throws: ``BlobError/Code/changed`` when the catalogue in the folder does not have the commit, because it was
    ///   replaced or written over; errors of `body`, of the journal and of the transaction, which is rolled back then.
    func commit<Value>(
        _ body: (Database) throws -> (value: Value, entries: [JournalEntry])
    ) throws(BlobError) -> Value {
        let (value, byteCount) = try self.catalogue.write { db in
            try self.catchUp(db)
            let (value, entries) = try body(db)
            guard !entries.isEmpty else { return (value, Int64?.none) }
            let byteCount = try self.journal.append(entries)
            try Catalogue.setJournalByteCount(byteCount, db)
            return (value, byteCount)
        }
        if let byteCount { try self.catalogue.confirm(journalByteCount: byteCount) }
        return value
    }

    /// Makes the catalogue and the journal agree, after a crash between their commits, with a catalogue of an older
    /// version, one that was restored from a backup, or without a journal.
    func catchUp() throws(BlobError) {
        let known = try self.catalogue.read(Catalogue.journalByteCount)
        guard known == 0 || known != self.journal.byteCount else { return }
        // Looked up again under the lock for writers: a commit of another process may have been on its way.
        try self.catalogue.write { db in try self.catchUp(db) }
    }

    private func catchUp(_ db: Database) throws {
        let (known, found) = (try Catalogue.journalByteCount(db), self.journal.byteCount)
        guard known == 0 || known != found else { return }
        let isTail = known > 0 && known < found
        let undone = try self.replay(JournalState(self.journal, from: isTail ? known : 0), keepsMissing: false, db)
        let byteCount =
            if isTail {
                undone.isEmpty ? found : try self.journal.append(undone.map { .removed($0) })
            } else {
                try self.journal.replace { write in try Catalogue.forEachJournalEntry(db, write) }
            }
        try Catalogue.setJournalByteCount(byteCount, db)
    }

    /// Applies the changes that the catalogue does not have.
    ///
    /// - Parameter keepsMissing: True to add assets without their files too.
    /// - Returns: The assets that were not added, because their files are not in their places.
    @discardableResult
    func replay(_ state: JournalState, keepsMissing: Bool, _ db: Database) throws -> [UUID] {
        for id in state.removed where try Catalogue.names(id, db) { _ = try Catalogue.remove(id, db) }
        for album in state.removedAlbums { try Catalogue.deleteAlbum(album, db) }
        for album in state.albums { try Catalogue.insertAlbum(album, db) }
        for (sha256, path) in state.paths {
            guard let digest = Data(hexadecimal: sha256) else { continue }
            let old = try Row.fetchOne(
                db, sql: "SELECT path, byte_size FROM original WHERE sha256 = ?", arguments: [digest])
            guard let old, let byteCount = Int64.fromDatabaseValue(old["byte_size"] ?? .null),
                !self.hasFile(at: String.fromDatabaseValue(old["path"] ?? .null) ?? "", byteCount: byteCount),
                self.hasFile(at: path, byteCount: byteCount)
            else { continue }
            _ = try Catalogue.releasePath(path, except: Array(digest), db)
            try Catalogue.setPath(path, ofOriginal: digest, db)
        }
        var undone: [UUID] = []
        for asset in state.assets where try !Catalogue.names(asset.id, db) {
            guard let digest = Data(hexadecimal: asset.sha256) else { continue }
            let isThere = self.hasFile(at: asset.path, byteCount: asset.byteCount)
            if try !Catalogue.hasOriginal(digest, db) {
                guard isThere || keepsMissing, (try? self.folder.path(ofStored: asset.path)) != nil else {
                    undone.append(asset.id)
                    continue
                }
                _ = try Catalogue.releasePath(asset.path, except: Array(digest), db)
                try Catalogue.insertOriginal(of: asset, self.description(of: asset), isMissing: !isThere, db)
            }
            if let album = asset.album {
                // Its own line may be damaged.
                try Catalogue.insertAlbum(JournalAlbum(name: album, isShared: true, madeAt: asset.importedAt), db)
            }
            try Catalogue.insertAsset(asset, db)
        }
        for adjustment in state.adjustments.values { try Catalogue.setAdjustment(adjustment, db) }
        for entry in state.listings {
            switch entry {
            case .listed(let id, let album): try Catalogue.list(id, inAlbum: album, db)
            case .unlisted(let id, let album): try Catalogue.unlist(id, inAlbum: album, db)
            default: break
            }
        }
        return undone
    }

    private func description(of asset: JournalAsset) -> MediaDescription {
        guard let path = try? self.folder.path(ofStored: asset.path), let file = try? OriginalFile(path) else {
            return MediaDescription()
        }
        return MediaDescription(file.headerBytes)
    }

    /// Returns true when a regular file of this length is at a path of the catalogue.
    func hasFile(at storedPath: String, byteCount: Int64) -> Bool {
        guard let path = try? self.folder.path(ofStored: storedPath), let file = try? OriginalFile(path) else {
            return false
        }
        return file.snapshot.byteCount == byteCount
    }
}

extension Data {
    /// Creates the bytes of hexadecimal digits; nil for any other text.
    init?(hexadecimal text: String) {
        let digits = Array(text.utf8)
        guard digits.count.isMultiple(of: 2) else { return nil }
        self.init(capacity: digits.count / 2)
        for start in stride(from: 0, to: digits.count, by: 2) {
            let pair = String(decoding: digits[start..<start + 2], as: UTF8.self)
            guard pair.allSatisfy(\.isHexDigit), let byte = UInt8(pair, radix: 16) else { return nil }
            self.append(byte)
        }
    }
}
