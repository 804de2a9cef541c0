#if Photos
import BlobStreams
import Foundation
import GRDB
import Testing

@testable import AssetLibrarySource

/// Rows that only a damaged or forged catalogue holds.
@Suite struct DamagedRowTests {
    private let test: TestLibrary
    private let asset: Asset

    init() throws {
        self.test = try TestLibrary()
        self.asset = try self.test.add([1, 2, 3])
        // Nothing keeps forgers to the rules of the tables; only a key that other tables name must be one.
        var configuration = Configuration()
        configuration.foreignKeysEnabled = false
        let queue = try DatabaseQueue(path: self.test.path("catalog.sqlite"), configuration: configuration)
        try queue.write { db in
            for table in ["original", "asset"] {
                try db.execute(
                    sql: """
                        CREATE TABLE copy AS SELECT * FROM \(table);
                        DROP TABLE \(table);
                        ALTER TABLE copy RENAME TO \(table);
                        CREATE UNIQUE INDEX \(table)_key ON \(table)(id);
                        """)
            }
        }
        try queue.close()
    }

    private static let columns = [
        "asset.uuid", "asset.generation", "asset.ingested_at", "original.path", "original.sha256",
        "original.byte_size", "original.state", "original.pixel_width",
    ]

    private func expectCorrupted(_ column: String, _ act: String, _ body: () throws -> some Any) {
        do {
            _ = try body()
            Issue.record("\(act) \(column): nothing was thrown")
        } catch {
            let error = BlobError(wrapping: error)
            #expect(error.code == .corrupted, "\(act): \(error)")
            #expect(error.message.contains("'\(column)'") && error.message.contains("row 1"), "\(act): \(error)")
        }
    }

    /// Of the connections that read and write, detect commits, and confirm them.
    @Test(arguments: [true, false]) func noConnectionTrustsTheSchema(isReadOnly: Bool) throws {
        let configuration = Catalogue.configuration(isReadOnly: isReadOnly)
        let queue = try DatabaseQueue(path: self.test.path("catalog.sqlite"), configuration: configuration)
        defer { try? queue.close() }
        #expect(try queue.read { try Int.fetchOne($0, sql: "PRAGMA trusted_schema") } == 0)
    }

    @Test(arguments: Self.columns, ["NULL", "'text'", "x'FFFE'"])
    func aValueThatCannotBeIsNamedWithItsRow(column: String, value: String) throws {
        let parts = column.split(separator: ".")
        // Without a width is a file that says none.
        if column == "original.pixel_width", value == "NULL" { return }
        // A path that leads out of the originals is found when the file is opened.
        if column == "original.path", value == "'text'" { return }
        _ = try self.test.sql("UPDATE \(parts[0]) SET \(parts[1]) = \(value)", Int.self)
        let library = self.test.library
        let name = String(parts[1])
        self.expectCorrupted(name, "list") { try library.forEachAsset { _ in } }
        if name != "uuid" { self.expectCorrupted(name, "look up") { try library.asset(self.asset.id) } }
        if name != "sha256" {
            self.expectCorrupted(name, "import") { try library.importAsset(from: MemorySource(Data([1, 2, 3]))) }
        }
        if ["path", "state"].contains(name) { self.expectCorrupted(name, "recover") { try library.recover() } }
        // Nothing is taken for an orphan because its row is damaged.
        #expect(self.test.files.count == 1)
    }

    @Test(arguments: ["NULL", "'text'", "x'FFFE'"])
    func aRemovalNamesTheValueThatCannotBe(value: String) throws {
        _ = try self.test.sql("UPDATE original SET path = \(value)", Int.self)
        if value != "'text'" {
            self.expectCorrupted("path", "remove") { try self.test.library.removeAsset(self.asset.id) }
        }
        _ = try self.test.sql("UPDATE asset SET original_id = \(value)", Int.self)
        self.expectCorrupted("original_id", "remove") { try self.test.library.removeAsset(self.asset.id) }
        #expect(self.test.files.count == 1)
    }

    @Test(arguments: ["media_type", "orientation", "capture_date", "camera_make"])
    func whatTheMediaSaysIsCheckedToo(column: String) throws {
        _ = try self.test.sql("UPDATE original SET \(column) = x'FFFE'", Int.self)
        self.expectCorrupted(column, "look up") { try self.test.library.asset(self.asset.id) }
    }

    @Test(arguments: ["original_filename", "file_extension", "modified_at"])
    func whatTheAssetSaysIsCheckedToo(column: String) throws {
        _ = try self.test.sql("UPDATE asset SET \(column) = x'FFFE'", Int.self)
        self.expectCorrupted(column, "look up") { try self.test.library.asset(self.asset.id) }
    }
}
#endif
