#if Photos
import BlobCore
import Foundation
import GRDB
import GRDBSQLite

/// The SQLite database of another program, which may be running.
///
/// Neither the database nor any file beside it is written. There is one exception: if the other program deletes its
/// write-ahead log between two SQLite calls made by this type, an empty log may remain. The next program that opens the
/// database reuses it.
///
/// Each read opens the database, runs short statements that each hold its lock only briefly, and closes it, so that no
/// connection keeps the other program from removing its log.
struct ManagerDatabase: Sendable {
    /// The maximum time in seconds that a read waits for a writer.
    private static let busyTimeout: TimeInterval = 5
    /// The maximum length of a row in bytes; the longest rows list the photos of a tag.
    private static let rowByteLimit: CInt = 64 << 20
    /// The number of attempts to read a database that changes during the read.
    private static let maximumAttemptCount = 5
    /// The lock under which reads take turns, because closing a file anywhere in a process releases SQLite's locks on
    /// it.
    private static let accessLock = Locked<Void>(())

    let path: String

    /// - Parameter tables: The names of the tables that are read.
    /// - Throws: ``BlobError/Code/unsupported`` if a table is missing; the errors thrown by ``read(_:)``.
    init(at path: String, tables: [String]) throws(BlobError) {
        // SQLite's log is beside the file, not beside a link to it.
        self.path = resolvedPath(Array(path.utf8)).map { String(decoding: $0, as: UTF8.self) } ?? path
        let found = try self.tables()
        guard let missing = tables.first(where: { !found.contains($0) }) else { return }
        throw BlobError(.unsupported, "The database '\(path)' cannot be read, because it has no table '\(missing)'.")
    }

    /// Returns the names of the tables, without views and virtual tables, whose content is arbitrary.
    func tables() throws(BlobError) -> Set<String> {
        try self.read { db in
            let sql = "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0"
            return try Set(String.fetchAll(db, sql: sql))
        }
    }

    /// Returns a number that changes when the file or its log is touched.
    func revision() throws(BlobError) -> Int64 {
        var hasher = Hasher()
        for status in [try self.status(), FileStatus(at: "\(self.path)-wal")] {
            hasher.combine(status?.identity.inode)
            hasher.combine(status?.byteCount)
            hasher.combine(status?.modificationTime)
            hasher.combine(status?.statusChangeTime)
        }
        return Int64(hasher.finalize())
    }

    private func status() throws(BlobError) -> FileStatus { try FileStatus(ofFileAt: Array(self.path.utf8)) }

    // MARK: Assets

    /// The maximum number of rows that a statement reads.
    private static let pageRowLimit = 1000
    /// The time after which a page ends, because the other program cannot write during a page.
    private static let pageTimeLimit = Duration.milliseconds(10)
    /// The number of bytes of paths after which a page ends, so that long paths do not exhaust memory.
    private static let pageByteLimit = 4 << 20

    /// Calls `body` with the assets of a selection in row order, without holding the database's lock.
    ///
    /// - Parameters:
    ///   - selection: A statement that ends with a condition, and returns the row number as its column `id`.
    ///   - key: The name of that column in the condition.
    ///   - table: The table of the columns, for error messages.
    ///   - decode: Returns the asset of a row.
    func forEachAsset(
        _ selection: String, key: String, of table: String, _ decode: (CheckedRow) throws -> CataloguedAsset,
        _ body: (CataloguedAsset) throws -> Void
    ) throws {
        var last = Int64.min
        while true {
            let page = try self.read { db in
                let rows = try Row.fetchCursor(
                    db, sql: "\(selection) AND \(key) > ? ORDER BY \(key) LIMIT ?",
                    arguments: [last, Self.pageRowLimit])
                return try Self.page(rows, of: table, decode)
            }
            guard let end = page.last?.row, end > last else { return }
            for (asset, _) in page { try body(asset) }
            last = end
        }
    }

    private static func page(
        _ rows: RowCursor, of table: String, _ decode: (CheckedRow) throws -> CataloguedAsset
    ) throws -> [(asset: CataloguedAsset, row: Int64)] {
        var page: [(asset: CataloguedAsset, row: Int64)] = []
        var byteCount = 0
        // Measured from the first row, so that a slow first row does not result in pages with a single row.
        var end: ContinuousClock.Instant?
        while byteCount < Self.pageByteLimit, end.map({ ContinuousClock.now < $0 }) ?? true,
            let row = try rows.next()
        {
            end = end ?? .now + Self.pageTimeLimit
            let checked = CheckedRow(row, of: table)
            let asset = try decode(checked)
            byteCount += asset.path.utf8.count
            page.append((asset, try checked.value("id")))
        }
        return page
    }

    /// Returns true if a table has a row with this number.
    func hasRow(_ number: Int64, in table: String) throws(BlobError) -> Bool {
        try self.read { db in
            try Row.fetchOne(db, sql: "SELECT 1 FROM \(table) WHERE id = ?", arguments: [number]) != nil
        }
    }

    // MARK: Reading

    /// Calls `body` with a connection, on which each statement sees a consistent state of the database.
    ///
    /// - Throws: ``BlobError/Code/unavailable`` if the other program left a change incomplete, or holds a lock for
    ///   seconds; ``BlobError/Code/corrupted`` if the database is damaged; ``BlobError/Code/unsupported`` if the file
    ///   is not a database; ``BlobError/Code/inconsistent`` if a table or a column is missing;
    ///   ``BlobError/Code/changed`` if the database changes repeatedly during the read; errors thrown by `body`.
    func read<Value>(_ body: (Database) throws -> Value) throws(BlobError) -> Value {
        do {
            return try Self.accessLock.withLock { _ in try self.readAlone(body) }
        } catch let error as DatabaseError where error.resultCode == .SQLITE_READONLY {
            throw self.incompleteChangeError(error)
        } catch {
            throw BlobError(catalogue: error)
        }
    }

    private func readAlone<Value>(_ body: (Database) throws -> Value) throws -> Value {
        for _ in 0..<Self.maximumAttemptCount {
            // If a log is left from another file of this name, SQLite would otherwise create an index for the log.
            guard try self.isLogged() else { return try self.read("mode=ro&readonly_shm=1", body) }
            let before = try self.status()
            switch self.logState {
            // The index of the log is used as it is, or rebuilt in memory.
            case .inUse:
                do {
                    return try self.read("mode=ro&readonly_shm=1", body)
                } catch let error as DatabaseError where error.resultCode == .SQLITE_CANTOPEN {
                    // The writer may have closed the database in the meantime, and removed its log.
                    guard case .inUse = self.logState else { continue }
                    throw error
                }
            case .notIndexed: throw self.incompleteChangeError(nil)
            case .empty:
                // If opened normally, SQLite would leave a log. Without a log, no program writes to the file itself.
                let result = Result { try self.read("immutable=1", body) }
                if case .empty = self.logState, try self.status() == before { return try result.get() }
            }
        }
        throw BlobError(.changed, "The database '\(self.path)' changed repeatedly while it was being read.")
    }

    private func read<Value>(_ options: String, _ body: (Database) throws -> Value) throws -> Value {
        var configuration = Configuration()
        configuration.readonly = true
        configuration.busyMode = .timeout(Self.busyTimeout)
        configuration.label = "BlobStreams.ManagerDatabase"
        configuration.prepareDatabase { db in
            sqlite3_limit(db.sqliteConnection, SQLITE_LIMIT_LENGTH, Self.rowByteLimit)
            // The schema and the pages are untrusted.
            try db.execute(sql: "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON")
        }
        let name = "\(BlobLocator(filePath: Array(self.path.utf8)).text)?\(options)"
        let queue = try DatabaseQueue(path: name, configuration: configuration)
        defer { try? queue.close() }
        return try queue.unsafeRead(body)
    }

    /// Returns true if changes go to a write-ahead log.
    ///
    /// - Throws: ``BlobError/Code/unsupported`` if the file is not a database.
    private func isLogged() throws(BlobError) -> Bool {
        let file = try OriginalFile(self.path)
        defer { file.close() }
        // SQLite, "Database File Format", section 1.3: the magic string, and the read version at byte 19.
        let header = try file.prefix(100)
        guard header.count == 100, header.starts(with: "SQLite format 3\0".utf8) else {
            throw BlobError(.unsupported, "'\(self.path)' is not an SQLite database.")
        }
        return header[19] == 2
    }

    private enum LogState { case empty, inUse, notIndexed }

    private var logState: LogState {
        guard let log = FileStatus(at: "\(self.path)-wal") else { return .empty }
        guard access("\(self.path)-shm", F_OK) != 0 else { return .inUse }
        return log.byteCount == 0 ? .empty : .notIndexed
    }

    /// Returns the error for a database that its program must repair.
    private func incompleteChangeError(_ cause: (any Error)?) -> BlobError {
        BlobError(
            .unavailable,
            "The database '\(self.path)' contains an incomplete change, because its program was interrupted: start the "
                + "program once to repair it.",
            operation: "open", cause: cause)
    }
}

/// The identifier of a collection in another program's catalogue, which consists of its kind and its row number.
struct ManagerCollection {
    let kind: AssetCollection.Kind
    let number: Int64

    /// Parses text such as `album/12`; returns nil for any other text.
    init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let kind = AssetCollection.Kind(rawValue: String(parts[0])),
            [.album, .tag, .event].contains(kind), let number = Int64(parts[1])
        else { return nil }
        (self.kind, self.number) = (kind, number)
    }
}

extension CheckedRow {
    /// Returns the asset for a row, including the size and the orientation in its columns.
    ///
    /// - Parameters:
    ///   - nameColumn: The column of the path or the name, for error messages.
    ///   - byteCountColumn: The column of the length.
    /// - Throws: ``BlobError/Code/corrupted`` for values that only a damaged or forged catalogue can contain.
    func asset(
        _ id: String, at path: String, named nameColumn: String, byteCount byteCountColumn: String
    ) throws(BlobError) -> CataloguedAsset {
        guard path.hasPrefix("/"), !path.utf8.contains(0) else { throw self.corruptionError(nameColumn) }
        let byteCount = try self.optionalValue(byteCountColumn, as: Int64.self) ?? 0
        guard byteCount >= 0 else { throw self.corruptionError(byteCountColumn) }
        var asset = CataloguedAsset(id: id, path: path, byteCount: byteCount)
        asset.media = MediaDescription(fileName: asset.name ?? "")
        asset.media.setSize(
            try self.optionalValue("width", as: Int.self) ?? 0, try self.optionalValue("height", as: Int.self) ?? 0)
        asset.media.orientation = try self.optionalValue("orientation", as: Int.self).flatMap { number in
            (1...8).contains(number) ? number : nil
        }
        return asset
    }
}
#endif
