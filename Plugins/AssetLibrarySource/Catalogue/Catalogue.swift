#if Photos
import BlobCore
import Foundation
import GRDB
import GRDBSQLite

/// The catalogue of a library, which owns the connections to its database.
///
/// The database uses SQLite's write-ahead log, so readers do not wait for a writer, even in another process. Writers
/// take turns.
struct Catalogue: Sendable {

    /// The time in seconds that a connection waits for another connection's lock; writers hold it for milliseconds.
    private static let busyTimeout: TimeInterval = 5

    let path: String
    let pool: DatabasePool
    /// The identity of the database file, recorded when it was opened.
    let file: FileIdentity

    /// Opens the database of `folder`.
    ///
    /// - Parameters:
    ///   - name: The name of the database in `folder`.
    ///   - isReadOnly: True to write nothing; the database must then exist.
    init(in folder: String, named name: String = LibraryFolder.catalogue, isReadOnly: Bool) throws(BlobError) {
        self.path = "\(folder)/\(name)"
        var configuration = Self.configuration(isReadOnly: isReadOnly)
        configuration.prepareDatabase { db in
            guard !isReadOnly else { return }
            // Keeps the log after the last writer has closed, because users without write access cannot read without
            // it.
            var persists: CInt = 1
            sqlite3_file_control(db.sqliteConnection, nil, SQLITE_FCNTL_PERSIST_WAL, &persists)
        }
        do {
            let path = isReadOnly ? try Self.pathForReading(self.path, in: folder) : self.path
            self.pool = try DatabasePool(path: path, configuration: configuration)
            self.file = try FileStatus(ofFileAt: Array(self.path.utf8)).identity
            // A committed row must survive a power failure, as its file does. Set after the pool is created, which sets
            // NORMAL.
            guard !isReadOnly else { return }
            try self.pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = FULL") }
        } catch {
            throw BlobError(catalogue: error)
        }
    }

    /// Returns the configuration for all connections.
    static func configuration(isReadOnly: Bool) -> Configuration {
        var configuration = Configuration()
        configuration.readonly = isReadOnly
        configuration.busyMode = .timeout(Self.busyTimeout)
        configuration.label = "BlobStreams.AssetLibrary"
        // The schema is untrusted: its expressions must not call functions with effects outside the database.
        configuration.prepareDatabase { db in try db.execute(sql: "PRAGMA trusted_schema = OFF") }
        return configuration
    }

    /// Returns the name with which SQLite can open the database even on a read-only medium, where it cannot create the
    /// index of the log.
    private static func pathForReading(_ path: String, in folder: String) throws(BlobError) -> String {
        guard access(folder, W_OK) != 0, access("\(path)-shm", F_OK) != 0 else { return path }
        guard FileStatus(at: "\(path)-wal")?.byteCount ?? 0 == 0 else {
            throw BlobError(
                .permissionDenied,
                "The catalogue has a log, '\(path)-wal', which can be read only in a writable folder: copy the "
                    + "catalogue and the log to one.", operation: "open")
        }
        return "\(BlobLocator(filePath: Array(path.utf8)).text)?immutable=1"
    }

    /// Creates or updates the tables.
    func migrate() throws(BlobError) {
        try Self.checked { try Self.migrator.migrate(self.pool) }
        try self.write { db in
            try db.execute(
                sql: "INSERT OR IGNORE INTO library (id, uuid, created_at) VALUES (1, ?, ?)",
                arguments: [UUID().uuidString, Date().nanoseconds])
        }
    }

    /// Checks that the database is a catalogue that this version can read.
    ///
    /// - Parameter isMade: True if its tables must already exist, in any version.
    /// - Throws: ``BlobError/Code/unsupported`` if the check fails; errors reading the catalogue.
    func check(isMade: Bool) throws(BlobError) {
        try self.read { db in
            guard try Int32.fetchOne(db, sql: "PRAGMA application_id") == Self.applicationIdentifier else {
                throw BlobError(.unsupported, "This database is not the catalogue of an asset library.")
            }
            guard try !Self.migrator.hasBeenSuperseded(db) else { throw Self.newerVersionError }
            guard try !isMade || Self.migrator.completedMigrations(db).contains(Self.oldestVersion) else {
                throw BlobError(
                    .unsupported, "The catalogue is incomplete: open the library for writing to complete it.")
            }
        }
    }

    /// Returns true if the database has no tables yet, as after an interrupted creation.
    func isEmpty() throws(BlobError) -> Bool {
        try self.read { db in
            guard try Int32.fetchOne(db, sql: "PRAGMA application_id") == 0 else { return false }
            let tables = try String.fetchAll(db, sql: "SELECT name FROM sqlite_master WHERE type = 'table'")
            return tables.allSatisfy { $0 == "grdb_migrations" || $0.hasPrefix("sqlite_") }
        }
    }

    private static let newerVersionError = BlobError(
        .unsupported,
        "The catalogue was created by a newer version of the software, and cannot be read by this version.")

    private static func checked<Value>(_ body: () throws -> Value) throws(BlobError) -> Value {
        do { return try body() } catch { throw BlobError(catalogue: error) }
    }

    func read<Value>(_ body: (Database) throws -> Value) throws(BlobError) -> Value {
        try Self.checked { try self.pool.read(body) }
    }

    /// Performs one transaction, which survives a power failure once this method has returned.
    ///
    /// - Throws: ``BlobError/Code/changed`` if the catalogue was replaced by another file, so that the changes are
    ///   lost; errors thrown by `body`; errors from the transaction, which is then rolled back.
    func write<Value>(_ body: (Database) throws -> Value) throws(BlobError) -> Value {
        let value = try Self.checked { try self.pool.write(body) }
        guard FileStatus(at: self.path)?.identity == self.file else {
            throw BlobError(.changed, "The catalogue '\(self.path)' was replaced while the library was open.")
        }
        return value
    }

    /// Checks the structure of the database and every row.
    ///
    /// - Parameter isDeep: True to also compare the indexes with the tables.
    /// - Throws: ``BlobError/Code/corrupted`` or ``BlobError/Code/inconsistent`` with the first problem.
    func examine(isDeep: Bool) throws(BlobError) {
        try self.read { db in
            let answer = try String.fetchOne(db, sql: "PRAGMA \(isDeep ? "integrity_check" : "quick_check")(1)")
            guard answer == "ok" else {
                throw BlobError(.corrupted, "The catalogue is damaged: \(answer ?? "the check had no result").")
            }
            if let row = try Row.fetchOne(db, sql: "PRAGMA foreign_key_check") {
                let table = String.fromDatabaseValue(row["table"] ?? .null) ?? "unknown"
                throw BlobError(.corrupted, "The catalogue is damaged: a row of '\(table)' refers to a missing row.")
            }
        }
        var row: Int64 = 0
        while case let page = try self.assets(after: row, atMost: 500), !page.assets.isEmpty { row = page.row }
        do { try self.forEachOriginal { _ = try self.firstAsset(of: $0) } } catch { throw BlobError(wrapping: error) }
    }

    /// Writes a copy of the database to an unused path.
    func copy(to path: String, _ context: BlobContext) throws(BlobError) {
        try context.check()
        let registration = context.cancellation.onCancel { [pool] in pool.interrupt() }
        defer { registration.cancel() }
        do {
            try self.pool.unsafeRead { db in try db.execute(sql: "VACUUM INTO ?", arguments: [path]) }
        } catch {
            try context.check()
            throw BlobError(catalogue: error)
        }
    }

    /// Writes the log back to the database, and closes the connections.
    func close() throws(BlobError) {
        try Self.checked {
            try self.pool.writeWithoutTransaction { db in _ = try db.checkpoint(.truncate) }
            try self.pool.close()
        }
    }

    /// Checks over a new connection that the database at the path contains a commit.
    ///
    /// Its file may have been replaced or overwritten, or its log removed, while existing connections still use the old
    /// files.
    ///
    /// - Parameter place: The end of the journal that was stored by the commit.
    /// - Throws: ``BlobError/Code/changed`` if the commit is missing.
    func confirm(_ place: JournalPlace, of journal: LibraryJournal) throws(BlobError) {
        let found = Result {
            try DatabaseQueue(path: self.path, configuration: Self.configuration(isReadOnly: true)).read(
                Self.journalPlace)
        }
        if case .success(let found) = found, journal.follows(found, place) { return }
        if case .failure(let error) = found, BlobError(catalogue: error).code == .unavailable {
            throw BlobError(catalogue: error)
        }
        throw BlobError(.changed, "The catalogue '\(self.path)' was replaced while the library was open.")
    }
}

extension BlobError {
    /// Creates an error from an error of SQLite.
    init(catalogue error: any Error) {
        guard let error = error as? DatabaseError else {
            self = BlobError(wrapping: error)
            return
        }
        let act = "Could not use the catalogue of the library"
        let text = "\(act): \(error.message ?? "unknown error") (SQLite \(error.extendedResultCode.rawValue))."
        let code: Code =
            switch error.resultCode {
            case .SQLITE_BUSY, .SQLITE_LOCKED, .SQLITE_PROTOCOL: .unavailable
            case .SQLITE_CORRUPT, .SQLITE_NOTADB, .SQLITE_FORMAT: .corrupted
            case .SQLITE_PERM, .SQLITE_READONLY, .SQLITE_AUTH: .permissionDenied
            case .SQLITE_ERROR, .SQLITE_SCHEMA: .inconsistent  // The tables do not match the version.
            default: .io
            }
        self = BlobError(code, text, cause: error)
    }
}

extension Date {
    /// The number of nanoseconds since 1970, clamped to the years 1677 to 2262.
    var nanoseconds: Int64 {
        let count = (self.timeIntervalSince1970 * 1_000_000_000).rounded()
        return Int64(exactly: count) ?? (count > 0 ? .max : .min)
    }

    init(nanoseconds: Int64) { self.init(timeIntervalSince1970: Double(nanoseconds) / 1_000_000_000) }
}

/// The catalogue of a library, which is reopened when its file is replaced, and the connection that detects commits.
struct CurrentCatalogue {
    private(set) var catalogue: Catalogue
    private var openingCount = 1
    /// The connection for ``lastCommit(mayReopen:)``, opened at the first query.
    private var detector: DatabaseQueue?

    init(_ catalogue: Catalogue) { self.catalogue = catalogue }

    /// Returns the last commit to the database at the catalogue's path.
    ///
    /// - Parameter mayReopen: True to reopen the catalogue if its file was replaced.
    /// - Throws: ``BlobError/Code/changed`` if its file was replaced and may not be reopened; errors while reading.
    /// - Complexity: About 5 µs.
    mutating func lastCommit(mayReopen: Bool) throws(BlobError) -> CatalogueCommit {
        let path = self.catalogue.path
        let isReplaced = try FileStatus(ofFileAt: Array(path.utf8)).identity != self.catalogue.file
        if isReplaced {
            guard mayReopen else {
                throw BlobError(.changed, "The catalogue '\(path)' was replaced while the library was open.")
            }
            let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
            let replacement = try Catalogue(in: folder, isReadOnly: true)
            try replacement.check(isMade: true)
            (self.catalogue, self.detector) = (replacement, nil)
            self.openingCount += 1
        }
        let detector = self.detector ?? (try? Self.makeDetector(path))
        self.detector = detector
        // Read outside a transaction, which would see the number as of its beginning.
        let number = try? detector?.unsafeRead { db in
            try Int64.fetchOne(db.cachedStatement(sql: "PRAGMA data_version"))
        }
        return CatalogueCommit(openingCount: self.openingCount, number: number)
    }

    private static func makeDetector(_ path: String) throws -> DatabaseQueue {
        var configuration = Catalogue.configuration(isReadOnly: true)
        configuration.busyMode = .immediateError
        configuration.label = "BlobStreams.AssetLibrary.Commits"
        return try DatabaseQueue(path: path, configuration: configuration)
    }
}

/// A commit to the catalogue.
struct CatalogueCommit: Sendable {
    fileprivate let openingCount: Int
    /// The number of the commit; nil if unknown, as on some read-only media.
    let number: Int64?

    /// - Parameter openingCount: The number of times that the file of the catalogue was opened.
    init(openingCount: Int = 0, number: Int64?) { (self.openingCount, self.number) = (openingCount, number) }

    /// Returns true if both values denote the same commit, so that no process has committed in between.
    func isSame(as other: Self?) -> Bool {
        self.number != nil && self.number == other?.number && self.openingCount == other?.openingCount
    }

    func isOfSameFile(as other: Self) -> Bool { self.openingCount == other.openingCount }
}
#endif
