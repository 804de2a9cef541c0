import BlobStreams
import Foundation
import GRDB

extension AssetLibrary {
    /// What recovery found.
    public struct RecoveryReport: Hashable, Sendable {
        /// How many files were set aside because no row names them.
        public var quarantinedCount = 0
        /// How many originals are not in their place.
        public var missingCount = 0
    }

    /// Compares files and catalogue, and clears away what a crash left behind.
    ///
    /// Files that are half written are removed, files that no row names are set aside in `originals/.quarantine`, and
    /// originals are marked as missing or as present. Only files with names that imports give are touched, each in its
    /// own place: those of others stay, and nothing is reached through a link. Opening for writing does it when there
    /// is a trace of a crash.
    ///
    /// - Throws: ``BlobError/Code/unavailable`` while somebody imports or removes; otherwise as opening.
    /// - Complexity: O(assets).
    @discardableResult
    public func recover() throws(BlobError) -> RecoveryReport {
        try self.checkCanWrite()
        guard let lock = try LibraryLock.exclusive(self.folder) else {
            throw BlobError(.unavailable, "Somebody is importing into the library, or removing from it.")
        }
        return try withExtendedLifetime(lock) { () throws(BlobError) in
            let folders = try OriginalsFolder(self.folder)
            let traces = try folders.incoming.names().filter(LibraryFolder.isIncoming)
            var report = RecoveryReport()
            // First, because it throws at a row that cannot be, and a file must not be an orphan for that.
            report.missingCount = try self.markMissing()
            try folders.forEachOriginal { path throws(BlobError) in
                guard try self.catalogue.namesNothing(path), try folders.setAside(path) else { return }
                report.quarantinedCount += 1
            }
            for name in traces where folders.incoming.hasFile(named: name) {
                try folders.incoming.removeFile(named: name)
            }
            return report
        }
    }

    /// Recovers if there is a trace of a crash, and nobody at work to whom it belongs.
    ///
    /// A row that cannot be keeps nobody from importing: the trace stays, and ``recover()`` says what is wrong.
    func recoverIfNeeded() throws(BlobError) {
        let names = try OriginalsFolder(making: self.folder).incoming.names()
        guard names.contains(where: LibraryFolder.isIncoming) else { return }
        do {
            try self.recover()
        } catch  where error.code == .unavailable || error.code == .corrupted {}
    }

    private func markMissing() throws(BlobError) -> Int {
        var missing = 0
        var last: Int64 = 0
        while true {
            let page = try self.catalogue.originals(behind: last, atMost: 500)
            for original in page {
                let path = try self.folder.path(ofStored: original.path)
                let isThere = FileManager.default.fileExists(atPath: path)
                if !isThere { missing += 1 }
                guard isThere == original.isMissing else { continue }
                try self.catalogue.setState(isThere ? "present" : "missing", ofOriginal: original.id)
            }
            guard let end = page.last else { return missing }
            last = end.id
        }
    }
}

extension Catalogue {
    /// Whether no original has this path.
    func namesNothing(_ path: String) throws(BlobError) -> Bool {
        try self.read { db in
            try Row.fetchOne(db, sql: "SELECT 1 FROM original WHERE path = ?", arguments: [path]) == nil
        }
    }

    fileprivate func originals(
        behind id: Int64, atMost count: Int
    ) throws(BlobError) -> [(id: Int64, path: String, isMissing: Bool)] {
        try self.read { db in
            try Row.fetchAll(
                db, sql: "SELECT id, path, state FROM original WHERE id > ? ORDER BY id LIMIT ?",
                arguments: [id, count]
            ).map { row in
                let original = CheckedRow(row, of: "original")
                return (id: try original.value("id"), path: try original.value("path"), try original.isMissing())
            }
        }
    }

    fileprivate func setState(_ state: String, ofOriginal id: Int64) throws(BlobError) {
        try self.write { db in
            try db.execute(sql: "UPDATE original SET state = ? WHERE id = ?", arguments: [state, id])
        }
    }
}
