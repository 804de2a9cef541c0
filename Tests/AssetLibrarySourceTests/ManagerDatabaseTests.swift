#if Photos
import BlobStreams
import BlobTestSupport
import Foundation
import GRDB
import Testing

@testable import AssetLibrarySource

/// The care with which databases of other programs are read, and databases that no program made.
@Suite struct ManagerDatabaseTests {
    private let folder: TemporaryFolder

    init() throws { self.folder = try TemporaryFolder() }

    /// Reads everything that there is to read.
    private func readAll(_ path: String) throws {
        let catalogue = try AssetLibrary.catalogue(at: URL(fileURLWithPath: path))
        for asset in try catalogue.list() { _ = try catalogue.cataloguedAsset(asset.id) }
        for collection in try catalogue.collections() { _ = try catalogue.list(in: collection.id) }
    }

    @Test(arguments: ["digikam4.db", "photo.db"], ["delete", "wal"])
    func readingLeavesTheDatabaseAndItsFolderAsTheyWere(_ name: String, journal: String) throws {
        let path = try ManagerFixtures.database(name, in: self.folder)
        try DatabaseQueue(path: path).writeWithoutTransaction {
            try $0.execute(sql: "PRAGMA journal_mode = \(journal)")
        }
        let (names, bytes) = (self.folder.names, try Data(contentsOf: URL(fileURLWithPath: path)))
        let status = FileStatus(at: path)
        try self.readAll(path)
        #expect(self.folder.names == names && !names.contains { $0.hasSuffix("-wal") })
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == bytes)
        #expect(status != nil && FileStatus(at: path) == status)
    }

    @Test func whatAWriterHasInItsLogIsReadAndNothingOfItIsTouched() throws {
        let path = try ManagerFixtures.database("photo.db", in: self.folder)
        let writer = try DatabasePool(path: path)
        try writer.write { try $0.execute(sql: "UPDATE PhotoTable SET filesize = 99 WHERE id = 2") }
        // The index of the log is memory that the connections of a process share.
        let files = ["", "-wal"].map { URL(fileURLWithPath: path + $0) }
        let before = try files.map { try Data(contentsOf: $0) }
        let catalogue = try AssetLibrary.catalogue(at: URL(fileURLWithPath: path))
        #expect(try catalogue.list().first { $0.name == "s2.jpg" }?.byteCount == 99)
        #expect(try files.map { try Data(contentsOf: $0) } == before)
        try writer.write { try $0.execute(sql: "UPDATE PhotoTable SET filesize = 98 WHERE id = 2") }
        #expect(try catalogue.list().first { $0.name == "s2.jpg" }?.byteCount == 98)
        try writer.close()
        #expect(!self.folder.names.contains("photo.db-wal"))
        #expect(try catalogue.list().first { $0.name == "s2.jpg" }?.byteCount == 98)
    }

    /// The log is beside the file, and not beside the link.
    @Test func whatAWriterHasInItsLogIsReadThroughALink() throws {
        let path = try ManagerFixtures.database("photo.db", in: self.folder)
        let link = self.folder.path("link.db")
        symlink(path, link)
        let writer = try DatabasePool(path: path)
        try writer.write { try $0.execute(sql: "UPDATE PhotoTable SET filesize = 99 WHERE id = 2") }
        let catalogue = try AssetLibrary.catalogue(at: URL(fileURLWithPath: link))
        #expect(try catalogue.list().first { $0.name == "s2.jpg" }?.byteCount == 99)
        let revision = try catalogue.revision()
        try writer.write { try $0.execute(sql: "UPDATE PhotoTable SET filesize = 98 WHERE id = 2") }
        #expect(try catalogue.revision() != revision)
        try writer.close()
    }

    @Test(.enabled(if: (try? FinishedProcess("python3", ["--version"]))?.status == 0, "Python is missing."))
    func aWriterInAnotherProcessIsNotKeptWaiting() async throws {
        let path = try ManagerFixtures.database("photo.db", in: self.folder)
        try ManagerFixtures.execute(
            """
            WITH RECURSIVE n(x) AS (SELECT 100 UNION ALL SELECT x + 1 FROM n WHERE x < 2999)
            INSERT INTO PhotoTable (id, filename, filesize) SELECT x, printf('/photos/%d.jpg', x), 1 FROM n
            """, in: path)
        // Half a second is far more than a page takes, also on a machine that is busy.
        let script = """
            import sqlite3, sys
            db = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=0.5)
            db.execute('PRAGMA synchronous = OFF')
            for n in range(300): db.execute(f'UPDATE PhotoTable SET filesize = {n} WHERE id = 2999')
            """
        let isDone = Locked(false)
        async let writer = onThread {
            defer { isDone.withLock { $0 = true } }
            return try FinishedProcess("python3", ["-c", script, path])
        }
        let catalogue = try AssetLibrary.catalogue(at: URL(fileURLWithPath: path))
        while !isDone.withLock({ $0 }) { #expect(try catalogue.list().count == 2906) }
        let finished = try await writer
        #expect(finished.status == 0, "\(finished.errors)")
        #expect(try catalogue.cataloguedAsset("thumb0000000000000bb7")?.byteCount == 299)
    }

    @Test func aChangeThatAProgramDidNotCompleteIsLeftToIt() throws {
        // A journal that is valid, of a program that was killed, as copies taken in the middle of its transaction.
        let path = try ManagerFixtures.database("photo.db", in: self.folder)
        let queue = try DatabaseQueue(path: path)
        let copy = self.folder.path("killed.db")
        try queue.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA cache_size = 1; PRAGMA cache_spill = 1; BEGIN IMMEDIATE")
            for number in 0..<300 {
                try db.execute(
                    sql: "INSERT INTO TagTable (name, photo_id_list) VALUES (?, ?)",
                    arguments: ["n\(number)", String(repeating: "x", count: 2000)])
            }
            for suffix in ["", "-journal"] {
                try FileManager.default.copyItem(atPath: path + suffix, toPath: copy + suffix)
            }
            try db.execute(sql: "ROLLBACK")
        }
        let before = try [copy, "\(copy)-journal"].map { try Data(contentsOf: URL(fileURLWithPath: $0)) }
        #expect(codeThrown { try self.readAll(copy) } == .unavailable)
        #expect(try [copy, "\(copy)-journal"].map { try Data(contentsOf: URL(fileURLWithPath: $0)) } == before)
    }

    @Test func aLogWithoutAnIndexIsLeftToItsProgram() throws {
        let path = try ManagerFixtures.database("digikam4.db", in: self.folder)
        let writer = try DatabasePool(path: path)
        try writer.write { try $0.execute(sql: "UPDATE Images SET fileSize = 5") }
        let copy = self.folder.path("copy.db")
        for suffix in ["", "-wal"] { try FileManager.default.copyItem(atPath: path + suffix, toPath: copy + suffix) }
        let names = self.folder.names
        #expect(codeThrown { try self.readAll(copy) } == .unavailable)
        #expect(self.folder.names == names)
        try writer.close()
    }

    @Test(arguments: [
        "DROP TABLE Tags", "ALTER TABLE Images RENAME COLUMN fileSize TO size",
        "DROP TABLE ImageTags; CREATE VIEW ImageTags AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x FROM n) "
            + "SELECT x AS imageid, x AS tagid FROM n",
        "UPDATE Images SET fileSize = 'text'",
        "UPDATE Images SET fileSize = -1", "UPDATE Images SET name = 'a/../../b' WHERE id = 1",
        "UPDATE Images SET name = x'ff00' WHERE id = 1",
        "UPDATE Albums SET relativePath = x'00' WHERE id = 1", "UPDATE ImageInformation SET width = 'wide'",
    ]) func aForgedDatabaseIsATypedError(_ sql: String) throws {
        let path = try ManagerFixtures.database("digikam4.db", in: self.folder)
        try ManagerFixtures.execute(sql, in: path)
        let code = codeThrown { try self.readAll(path) }
        #expect([.unsupported, .inconsistent, .corrupted].contains(code))
    }

    @Test func tagsInACircleAndLongTextsEnd() throws {
        let path = try ManagerFixtures.database("digikam4.db", in: self.folder)
        try DatabaseQueue(path: path).write { db in
            for trigger in try String.fetchAll(db, sql: "SELECT name FROM sqlite_master WHERE type = 'trigger'") {
                try db.execute(sql: "DROP TRIGGER \(trigger)")
            }
            try db.execute(
                sql: """
                    UPDATE Tags SET pid = 6 WHERE id = 4;
                    UPDATE ImageInformation SET creationDate = replace(hex(zeroblob(500000)), '00', 'long');
                    """)
        }
        try self.readAll(path)
    }

    @Test(arguments: ["digikam4.db", "photo.db"]) func aDamagedOrShortDatabaseIsNoTrap(_ name: String) throws {
        let path = try ManagerFixtures.database(name, in: self.folder)
        let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
        var random = SplitMix64(seed: 18)
        for cut in [0, 1, 15, 16, 99, 100, 101] + Array(stride(from: 4096, to: bytes.count, by: 4096)) {
            try self.folder.write(Array(bytes[..<cut]), to: "cut.db")
            #expect(codeThrown { try self.readAll(self.folder.path("cut.db")) } != nil, "\(cut)")
        }
        for _ in 0..<60 {
            var damaged = bytes
            let page = Int.random(in: 0..<(bytes.count / 4096), using: &random) * 4096
            for _ in 0..<40 {
                damaged[page + Int.random(in: 0..<4096, using: &random)] = .random(in: 0...255, using: &random)
            }
            try self.folder.write(damaged, to: "damaged.db")
            // Any typed error, or none where nothing is read.
            _ = codeThrown { try self.readAll(self.folder.path("damaged.db")) }
        }
    }
}
#endif
