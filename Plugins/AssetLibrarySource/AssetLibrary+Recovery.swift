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
    /// originals are marked as missing or as present. Opening for writing does it when there is a trace of a crash.
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
            var report = RecoveryReport()
            report.quarantinedCount = try self.quarantineOrphans()
            report.missingCount = try self.markMissing()
            for name in try LibraryFolder.names(in: self.folder.incomingPath) {
                _ = unlink("\(self.folder.incomingPath)/\(name)")
            }
            return report
        }
    }

    /// Recovers if there is a trace of a crash, and nobody at work to whom it belongs.
    func recoverIfNeeded() throws(BlobError) {
        guard try !LibraryFolder.names(in: self.folder.incomingPath).isEmpty else { return }
        do {
            try self.recover()
        } catch  where error.code == .unavailable {}
    }

    private func quarantineOrphans() throws(BlobError) -> Int {
        var count = 0
        for parent in try LibraryFolder.names(in: self.folder.originalsPath) where !parent.hasPrefix(".") {
            let folder = "\(self.folder.originalsPath)/\(parent)"
            var isDirectory: ObjCBool = false
            guard FileManager.default.fileExists(atPath: folder, isDirectory: &isDirectory), isDirectory.boolValue
            else {
                continue
            }
            for name in try LibraryFolder.names(in: folder) {
                guard try self.catalogue.namesNothing("\(LibraryFolder.originals)/\(parent)/\(name)") else { continue }
                let target = "\(self.folder.quarantinePath)/\(name)"
                guard rename("\(folder)/\(name)", target) == 0 else {
                    throw BlobError(systemError: errno, doing: "Could not set aside \(folder)/\(name)")
                }
                count += 1
            }
        }
        return count
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
            ).map { (id: $0["id"], path: $0["path"], isMissing: $0["state"] == "missing") }
        }
    }

    fileprivate func setState(_ state: String, ofOriginal id: Int64) throws(BlobError) {
        try self.write { db in
            try db.execute(sql: "UPDATE original SET state = ? WHERE id = ?", arguments: [state, id])
        }
    }
}
