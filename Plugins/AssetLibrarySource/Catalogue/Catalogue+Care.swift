import BlobCore
import Foundation
import GRDB

/// A row of an original, for a check.
struct StoredOriginal {
    let id: Int64
    let path: String
    let isMissing: Bool
    /// The first asset of the original, or else the first item of a shared stream; nil when there is none.
    let asset: Asset?
}

extension Catalogue {
    /// The ends of the names of a database's files.
    static let fileSuffixes = ["", "-wal", "-shm"]

    /// Checks the structure of the database and every row.
    ///
    /// - Parameter isDeep: True to compare the indexes with the tables too.
    /// - Throws: ``BlobError/Code/corrupted`` or ``BlobError/Code/inconsistent`` with the first problem.
    func examine(isDeep: Bool) throws(BlobError) {
        try self.read { db in
            let answer = try String.fetchOne(db, sql: "PRAGMA \(isDeep ? "integrity_check" : "quick_check")(1)")
            guard answer == "ok" else {
                throw BlobError(.corrupted, "The catalogue is damaged: \(answer ?? "no answer").")
            }
            if let row = try Row.fetchOne(db, sql: "PRAGMA foreign_key_check") {
                let table = String.fromDatabaseValue(row["table"] ?? .null) ?? "unknown"
                throw BlobError(.corrupted, "The catalogue is damaged: a row of '\(table)' refers to none.")
            }
        }
        var row: Int64 = 0
        while case let page = try self.assets(behind: row, atMost: 500), !page.assets.isEmpty { row = page.row }
        var last: Int64 = 0
        while let end = try self.storedOriginals(behind: last, atMost: 500).last { last = end.id }
    }

    /// Returns the originals after the row `id`, in the order of their rows.
    func storedOriginals(behind id: Int64, atMost count: Int) throws(BlobError) -> [StoredOriginal] {
        try self.storedOriginals(where: "id > ? ORDER BY id LIMIT ?", [id, count])
    }

    /// Returns the original that should be at a path, and is marked as missing; nil for any other path.
    func missingOriginal(at path: String) throws(BlobError) -> StoredOriginal? {
        try self.storedOriginals(where: "path = ? AND state = 'missing'", [path]).first
    }

    private func storedOriginals(
        where condition: String, _ arguments: StatementArguments
    ) throws(BlobError) -> [StoredOriginal] {
        try self.read { db in
            let sql = "SELECT id, path, state, sha256 FROM original WHERE \(condition)"
            return try Row.fetchAll(db, sql: sql, arguments: arguments).map { row in
                let original = CheckedRow(row, of: "original")
                let sha256: Data = try original.value("sha256")
                return StoredOriginal(
                    id: try original.value("id"), path: try original.value("path"),
                    isMissing: try original.isMissing(),
                    asset: try Self.asset(sha256: Array(sha256), db) ?? Self.item(sha256: Array(sha256), db))
            }
        }
    }

    /// Counts the assets for which `body` returns true.
    static func countAssets(_ db: Database, where body: (Asset) -> Bool) throws -> Int {
        let rows = try Row.fetchCursor(db, sql: self.selection(db))
        var count = 0
        while let row = try rows.next() { count += try body(Asset(row)) ? 1 : 0 }
        return count
    }

    /// Writes a copy of the database to a path where nothing is.
    func copy(to path: String) throws(BlobError) {
        do {
            try self.pool.unsafeRead { db in try db.execute(sql: "VACUUM INTO ?", arguments: [path]) }
        } catch {
            throw BlobError(catalogue: error)
        }
    }

    /// Moves the log into the database, and closes the connections.
    func close() throws(BlobError) {
        do {
            try self.pool.writeWithoutTransaction { db in _ = try db.checkpoint(.truncate) }
            try self.pool.close()
        } catch {
            throw BlobError(catalogue: error)
        }
    }
}
