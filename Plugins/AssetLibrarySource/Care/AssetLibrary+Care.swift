package import BlobCore
import CPlatform
import Foundation

extension AssetLibrary {
    /// Writes a copy of the catalogue, which appears under its name when it is complete and synchronised.
    ///
    /// In the place of a lost catalogue, it catches up with the journal when the library is opened for writing.
    ///
    /// - Throws: ``BlobError/Code/invalidArgument`` when something has the name already; errors of the catalogue and of
    ///   writing.
    package func backUp(to path: String) throws(BlobError) {
        let temporaryPath = "\(path).\(UUID().uuidString)"
        defer { unlink(temporaryPath) }
        try self.catalogue.copy(to: temporaryPath)
        let descriptor = uninterrupted { open(temporaryPath, O_RDWR | O_CLOEXEC | O_NOFOLLOW) }
        guard descriptor >= 0 else { throw BlobError(systemError: errno, doing: "Could not open \(temporaryPath)") }
        defer { close(descriptor) }
        guard uninterrupted({ fsync(descriptor) }) == 0 else {
            throw BlobError(systemError: errno, doing: "Could not synchronise \(temporaryPath)")
        }
        guard blob_rename_new(AT_FDCWD, temporaryPath, AT_FDCWD, path) == 0 else {
            guard errno == EEXIST else { throw BlobError(systemError: errno, doing: "Could not name \(path)") }
            throw BlobError(.invalidArgument, "Something has the name '\(path)' already.", operation: "write")
        }
        try Folder(URL(fileURLWithPath: path).deletingLastPathComponent().path).synchronise()
    }

    /// Writes the journal anew from the catalogue, after adding the assets to it that the journal alone has.
    ///
    /// The journal is read under the lock for writers, with the changes of other processes. Its removals and albums are
    /// not applied: the catalogue has them, and of damaged lines they may be what is left.
    func rewriteJournal() throws {
        try self.catalogue.write { db in
            try self.catchUp(db)
            let state = try JournalState(self.journal)
            try self.replayAssets(state, keepsMissing: false, db)
            let known = try Catalogue.journalPlace(db)
            let place = try self.journal.replace(after: known) {
                try Catalogue.forEachJournalEntry(after: state, db, $0)
            }
            try Catalogue.setJournalPlace(place, db)
        }
    }
}
