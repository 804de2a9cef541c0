#if Photos
import AssetLibrarySource
import BlobStreams
import BlobTestSupport
import Foundation
import GRDB
import Testing

/// A library in a folder of its own, which goes with it.
final class TestLibrary: Sendable {
    let folder: URL
    let library: AssetLibrary

    init() throws {
        self.folder = FileManager.default.temporaryDirectory.appendingPathComponent("library-\(UUID().uuidString)")
        self.library = try AssetLibrary.create(at: self.folder)
    }

    deinit { try? FileManager.default.removeItem(at: self.folder) }

    func open(_ access: AssetLibrary.Access = .writing) throws -> AssetLibrary {
        try AssetLibrary(at: self.folder, for: access)
    }

    @discardableResult func add(_ bytes: [UInt8], named name: String? = "a.bin") throws -> Asset {
        try self.library.importAsset(from: MemorySource(Data(bytes)), name: name).asset
    }

    func path(_ name: String) -> String { "\(self.folder.path)/\(name)" }

    /// Works on the catalogue as another process would.
    @discardableResult func database<Value>(_ body: (Database) throws -> Value) throws -> Value {
        let queue = try DatabaseQueue(path: self.path("catalog.sqlite"))
        defer { try? queue.close() }
        return try queue.write(body)
    }

    /// The value that a statement gives, if it gives one.
    func sql<Value: DatabaseValueConvertible>(_ sql: String, _ type: Value.Type) throws -> Value? {
        try self.database { try Value.fetchOne($0, sql: sql) }
    }

    /// Executes statements outside of a transaction, in the catalogue unless another database is given.
    func execute(_ sql: String, in path: String? = nil) throws {
        let queue = try DatabaseQueue(path: path ?? self.path("catalog.sqlite"))
        defer { try? queue.close() }
        try queue.writeWithoutTransaction { try $0.execute(sql: sql) }
    }

    /// Puts a copy into the place of the catalogue, after changing it.
    func replaceCatalogue(changedBy sql: String = "") throws {
        let copy = self.path("copy.sqlite")
        // Without a log, which would be that of another file.
        try self.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        try? FileManager.default.removeItem(atPath: copy)
        try self.execute("VACUUM INTO '\(copy)'")
        try self.execute(sql, in: copy)
        for suffix in ["-wal", "-shm"] {
            try? FileManager.default.removeItem(atPath: self.path("catalog.sqlite\(suffix)"))
        }
        try #require(rename(copy, self.path("catalog.sqlite")) == 0)
    }

    func storedPath(of asset: Asset) throws -> String {
        let path = try self.sql(
            """
            SELECT path FROM original JOIN asset ON original_id = original.id WHERE uuid = '\(asset.id.uuidString)'
            """, String.self)
        return try #require(path)
    }

    func originalPath(of asset: Asset) throws -> String { self.path(try self.storedPath(of: asset)) }

    /// All files below the originals, but not folders, by their path within.
    var files: [String] {
        let names = (try? FileManager.default.subpathsOfDirectory(atPath: self.path("originals"))) ?? []
        return names.filter {
            var isDirectory: ObjCBool = false
            _ = FileManager.default.fileExists(atPath: self.path("originals/\($0)"), isDirectory: &isDirectory)
            return !isDirectory.boolValue
        }.sorted()
    }

    var assets: [Asset] {
        get throws {
            var assets: [Asset] = []
            try self.library.forEachAsset { assets.append($0) }
            return assets
        }
    }
}

/// Collects the events of a context.
final class Events: Sendable {
    private let events = Locked<[BlobEvent]>([])

    var context: BlobContext { BlobContext(eventSink: { event in self.events.withLock { $0.append(event) } }) }

    var all: [BlobEvent] { self.events.withLock { $0 } }
}

/// Writes into a file as it is, without replacing it.
func overwrite(_ path: String, at byteOffset: Int64, with bytes: [UInt8]) throws {
    let descriptor = open(path, O_WRONLY | O_CLOEXEC)
    try #require(descriptor >= 0)
    defer { close(descriptor) }
    try #require(
        bytes.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, off_t(byteOffset)) } == bytes.count)
}

/// The content of a file that is stored with the tests.
func libraryFixture(_ name: String) throws -> [UInt8] {
    try readFile(fixture(name, of: "AssetLibrarySourceTests").path)
}
#endif
