import BlobCore
import Foundation
import GRDB
import GRDBSQLite

/// The SQLite database of another program, which may be running. Nothing is written, not even a file beside it; only a
/// program that removes its log between two of our calls can leave an empty one, which the next to open it takes up.
///
/// Each read opens the database, holds its lock for one short statement after the other, and closes it: the other
/// program finds no connection that would keep it from removing its log.
struct ForeignDatabase: Sendable {
    /// The time in seconds that a read waits for a writer.
    private static let busyTimeout: TimeInterval = 5
    /// The length of the longest row in bytes; a list of the photos of a tag is the longest there is.
    private static let rowByteLimit: CInt = 64 << 20
    /// The number of attempts to read a database that is changed meanwhile.
    private static let attemptLimit = 5
    /// Closing a file anywhere in a process releases the locks that SQLite has on it, so reads take turns.
    private static let turn = Locked<Void>(())

    let path: String

    /// - Parameter tables: The names of the tables that are read.
    /// - Throws: ``BlobError/Code/unsupported`` when one is missing, or the file is no database.
    init(at path: String, tables: [String]) throws(BlobError) {
        // SQLite's log is beside the file, and not beside a link to it.
        let resolved = realpath(path, nil)
        defer { free(resolved) }
        self.path = resolved.map { String(cString: $0) } ?? path
        let found = try self.tables()
        guard let missing = tables.first(where: { !found.contains($0) }) else { return }
        throw BlobError(.unsupported, "The database '\(path)' has no table '\(missing)', and cannot be read.")
    }

    /// Returns the names of the tables; views and virtual tables could contain anything, and are none.
    func tables() throws(BlobError) -> Set<String> {
        try self.read { db in
            let sql = "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0"
            return try Set(String.fetchAll(db, sql: sql))
        }
    }

    /// A number that is another one when the file or its log was touched.
    func revision() throws(BlobError) -> Int64 {
        var hasher = Hasher()
        for status in [try FileSnapshot(path: self.path), try? FileSnapshot(path: "\(self.path)-wal")] {
            hasher.combine(status?.inode)
            hasher.combine(status?.byteCount)
            hasher.combine(status?.modification)
            hasher.combine(status?.change)
        }
        return Int64(hasher.finalize())
    }

    /// Reads by statements, each of which sees one state of the database.
    ///
    /// - Throws: ``BlobError/Code/unavailable`` when a change is not complete that the other program was making when it
    ///   stopped, or when it holds a lock for seconds; ``BlobError/Code/corrupted``, ``BlobError/Code/unsupported``,
    ///   ``BlobError/Code/inconsistent`` for other tables; errors of `body`.
    func read<Value>(_ body: (Database) throws -> Value) throws(BlobError) -> Value {
        do {
            return try Self.turn.withLock { _ in try self.readAlone(body) }
        } catch let error as DatabaseError where error.resultCode == .SQLITE_READONLY {
            throw BlobError(self.incomplete, cause: error)
        } catch {
            throw BlobError(catalogue: error)
        }
    }

    private func readAlone<Value>(_ body: (Database) throws -> Value) throws -> Value {
        for _ in 0..<Self.attemptLimit {
            // Beside a log that another file of this name left, SQLite would make an index of it.
            guard try self.isLogged() else { return try self.read("mode=ro&readonly_shm=1", body) }
            let before = try FileSnapshot(path: self.path)
            switch self.logState {
            // The index of the log is taken as it is, or made in memory.
            case .inUse:
                do {
                    return try self.read("mode=ro&readonly_shm=1", body)
                } catch let error as DatabaseError where error.resultCode == .SQLITE_CANTOPEN {
                    // The writer has closed it meanwhile, and has taken its log along.
                    guard case .inUse = self.logState else { continue }
                    throw error
                }
            case .notIndexed: throw BlobError(self.incomplete)
            case .empty:
                // Opened in the usual way, SQLite would leave a log. Nobody writes into the file itself without one.
                let result = Result { try self.read("immutable=1", body) }
                if case .empty = self.logState, try FileSnapshot(path: self.path) == before { return try result.get() }
            }
        }
        throw BlobError(.changed, "The database '\(self.path)' was changed again and again while it was read.")
    }

    private func read<Value>(_ options: String, _ body: (Database) throws -> Value) throws -> Value {
        var configuration = Configuration()
        configuration.readonly = true
        configuration.busyMode = .timeout(Self.busyTimeout)
        configuration.label = "BlobStreams.ForeignDatabase"
        configuration.prepareDatabase { db in
            sqlite3_limit(db.sqliteConnection, SQLITE_LIMIT_LENGTH, Self.rowByteLimit)
            // The schema is untrusted, and so are its pages.
            try db.execute(sql: "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON")
        }
        let name = "\(BlobLocator(filePath: Array(self.path.utf8)).text)?\(options)"
        let queue = try DatabaseQueue(path: name, configuration: configuration)
        defer { try? queue.close() }
        return try queue.unsafeRead(body)
    }

    /// Returns true when changes go to a write-ahead log.
    ///
    /// - Throws: ``BlobError/Code/unsupported`` when the file is no database.
    private func isLogged() throws(BlobError) -> Bool {
        let file = try RegularDatabase(self.path)
        // Section 1.3 of "Database File Format" of SQLite: the magic string, and the version for reading at byte 19.
        guard file.header.starts(with: "SQLite format 3\0".utf8), file.header.count == RegularDatabase.headerByteCount
        else { throw BlobError(.unsupported, "'\(self.path)' is no SQLite database.") }
        return file.header[19] == 2
    }

    private enum LogState { case empty, inUse, notIndexed }

    private var logState: LogState {
        guard let log = try? FileSnapshot(path: "\(self.path)-wal") else { return .empty }
        guard access("\(self.path)-shm", F_OK) != 0 else { return .inUse }
        return log.byteCount == 0 ? .empty : .notIndexed
    }

    private var incomplete: String {
        "A change of the database '\(self.path)' is not complete: its program was stopped, and has to be started once."
    }
}

/// The beginning of a database file.
private struct RegularDatabase {
    static let headerByteCount = 100
    let header: [UInt8]

    /// Reads the file at a path, following links.
    init(_ path: String) throws(BlobError) {
        let descriptor = uninterrupted { open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) }
        guard descriptor >= 0 else { throw BlobError(systemError: errno, doing: "Could not open \(path)") }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: Self.headerByteCount)
        let count = bytes.withUnsafeMutableBytes { bytes in
            Result { () throws(BlobError) in try RegularFile.fill(bytes, from: descriptor, at: 0, named: path) }
        }
        self.header = try Array(bytes.prefix(count.get()))
    }
}

extension BlobError {
    /// Creates the error for a database that its program has to repair.
    fileprivate init(_ incomplete: String, cause: (any Error)? = nil) {
        self.init(.unavailable, incomplete, operation: "open", cause: cause)
    }
}

/// A page of rows.
struct RowPage {
    /// The number of rows that a statement reads at most.
    static let rowLimit = 1000
    /// The time after which a page ends, since the other program cannot write meanwhile.
    private static let timeLimit = Duration.milliseconds(10)
    /// The number of bytes of texts after which a page ends, so that long texts do not fill the memory.
    private static let byteLimit = 4 << 20

    /// The assets, and the numbers of their rows.
    private(set) var elements: [(asset: CataloguedAsset, row: Int64)] = []

    /// Reads rows until the page is full.
    ///
    /// - Parameters:
    ///   - key: The column with the number of the row.
    ///   - make: Returns the asset of a row.
    init(
        _ rows: RowCursor, key: String, of table: String, _ make: (CheckedRow) throws -> CataloguedAsset
    ) throws {
        var byteCount = 0
        // From the first row on, because a slow first one must not make pages of one row.
        var end: ContinuousClock.Instant?
        while byteCount < Self.byteLimit, end.map({ ContinuousClock.now < $0 }) ?? true, let row = try rows.next() {
            end = end ?? .now + Self.timeLimit
            let checked = CheckedRow(row, of: table, key: key)
            let asset = try make(checked)
            byteCount += asset.path.utf8.count
            self.elements.append((asset, try checked.value(key)))
        }
    }
}

/// The identifier of a collection in another program's catalogue: its kind, and the number of its row.
struct ForeignCollectionID {
    let kind: AssetCollection.Kind
    let number: Int64

    /// Parses a text as `album/12`; nil for any other.
    init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let kind = AssetCollection.Kind(rawValue: String(parts[0])),
            [.album, .tag, .event].contains(kind), let number = Int64(parts[1])
        else { return nil }
        (self.kind, self.number) = (kind, number)
    }
}
