#if Photos
public import BlobCore
import CPlatform
import Foundation
import GRDB

extension AssetLibrary {
    /// The findings of a recovery.
    public struct RecoveryReport: Hashable, Sendable {
        /// The number of files that were quarantined because no row refers to them.
        public var quarantinedCount = 0
        /// The number of missing originals.
        public var missingCount = 0
    }

    /// Compares the files with the catalogue, and cleans up after a crash.
    ///
    /// Removes partially written files, moves files to which no row refers to `originals/.quarantine`, and marks
    /// originals as missing or present. Affects only files whose names and paths are from an import; other files are
    /// kept, and links are not followed. Opening a library for writing recovers it if a crash has left traces.
    ///
    /// - Throws: ``BlobError/Code/unavailable`` during an import or a removal, ``BlobError/Code/permissionDenied`` if
    ///   the library was opened for reading; otherwise the errors thrown by ``init(at:for:)``.
    /// - Complexity: O(assets).
    @discardableResult
    public func recover() throws(BlobError) -> RecoveryReport {
        try self.checkCanWrite()
        guard let lock = try LibraryLock.exclusive(self.folder) else { throw Self.libraryInUseError }
        return try withExtendedLifetime(lock) { () throws(BlobError) in try self.recoverLocked() }
    }

    static let libraryInUseError = BlobError(
        .unavailable, "The library is in use: assets are being imported or removed.")

    @discardableResult
    func recoverLocked() throws(BlobError) -> RecoveryReport {
        let folders = try OriginalsFolder(self.folder)
        let traces = try folders.incoming.names().filter(LibraryFolder.isIncoming)
        var report = RecoveryReport()
        // This comes first, because it throws for an invalid row, whose file must not be quarantined.
        report.missingCount = try self.markMissing()
        try folders.forEachOriginal { path throws(BlobError) in
            guard try self.catalogue.isOrphan(path), try folders.moveToQuarantine(path) else { return }
            report.quarantinedCount += 1
        }
        for name in traces where folders.incoming.hasFile(named: name) {
            try folders.incoming.removeFile(named: name)
        }
        return report
    }

    /// Recovers the library if a crash has left traces, unless an import or a removal is running.
    ///
    /// An invalid row does not prevent imports: the traces are kept, and ``recover()`` throws the error.
    func recoverIfNeeded() throws(BlobError) {
        let names = try OriginalsFolder(making: self.folder).incoming.names()
        guard names.contains(where: LibraryFolder.isIncoming) else { return }
        do {
            try self.recover()
        } catch  where error.code == .unavailable || error.code == .corrupted {}
    }

    private func markMissing() throws(BlobError) -> Int {
        var missing = 0
        try BlobError.wrapping {
            try self.catalogue.forEachOriginal { original in
                let path = try self.folder.path(ofStored: original.path)
                let isThere = FileManager.default.fileExists(atPath: path)
                if !isThere { missing += 1 }
                guard isThere == original.isMissing else { return }
                try self.catalogue.setState(isThere ? "present" : "missing", ofOriginal: original.id)
            }
        }
        return missing
    }
}

extension AssetLibrary {
    /// Writes a copy of the catalogue, which appears at its path once it is complete and synchronised.
    ///
    /// A copy that replaces a lost catalogue catches up with the journal when the library is opened for writing.
    ///
    /// - Throws: ``BlobError/Code/invalidArgument`` if the name already exists; errors from the catalogue and the
    ///   context; errors while writing.
    package func backUp(to path: String, context: BlobContext = BlobContext()) throws(BlobError) {
        let temporaryPath = "\(path).\(UUID().uuidString)"
        defer { unlink(temporaryPath) }
        try self.catalogue.copy(to: temporaryPath, context)
        try Descriptor(temporaryPath, O_RDWR | O_NOFOLLOW, doing: "Could not open \(temporaryPath)")
            .synchronise(doing: "Could not synchronise \(temporaryPath)")
        guard blob_rename_new(AT_FDCWD, temporaryPath, AT_FDCWD, path) == 0 else {
            guard errno == EEXIST else {
                throw BlobError(systemError: errno, doing: "Could not rename the temporary file to \(path)")
            }
            throw BlobError(.invalidArgument, "'\(path)' already exists.", operation: "write")
        }
        try Folder(URL(fileURLWithPath: path).deletingLastPathComponent().path).synchronise()
    }

    /// Rewrites the journal from the catalogue, after adding assets that only the journal contains to the catalogue.
    ///
    /// The journal is read under the lock for writers, so that it includes changes by other processes. Its removals and
    /// albums are not applied, because the catalogue contains them, and they may result from damaged lines.
    func rewriteJournal() throws {
        try self.catalogue.write { db in
            try self.synchroniseWithJournal(db)
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
#endif
