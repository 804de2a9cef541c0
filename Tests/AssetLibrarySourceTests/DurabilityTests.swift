#if Photos
import BlobStreams
import BlobTestSupport
import Foundation
import GRDB
import Testing

@testable import AssetLibrarySource

/// What is committed stays, and what nobody knows of is left alone.
@Suite struct DurabilityTests {
    private let test: TestLibrary

    init() throws { self.test = try TestLibrary() }

    @Test func everyCommitIsSynchronised() throws {
        for library in [self.test.library, try self.test.open()] {
            _ = try library.importAsset(from: MemorySource(Data([1])))
            // FULL, of https://www.sqlite.org/pragma.html#pragma_synchronous
            #expect(try library.catalogue.write { try Int.fetchOne($0, sql: "PRAGMA synchronous") } == 2)
            #expect(try library.catalogue.write { try String.fetchOne($0, sql: "PRAGMA journal_mode") } == "wal")
        }
    }

    /// A commit may fail and have happened, on a disk that is failing: the file that a row may name is not removed.
    @Test func aFileIsKeptWhenNobodyKnowsWhetherARowNamesIt() throws {
        let test = self.test
        let library = try AssetLibrary(at: test.folder, for: .writing) { reached in
            guard reached == .committed else { return }
            // From now on the catalogue cannot be asked.
            try test.database { try $0.execute(sql: "ALTER TABLE original RENAME TO hidden") }
            throw BlobError(.io, "A fault that the test injected.")
        }
        #expect(codeThrown { try library.importAsset(from: MemorySource(Data([1, 2, 3]))) } == .io)
        #expect(test.files.filter { !$0.hasPrefix(".") }.count == 1)
        #expect(test.files.contains { $0.hasPrefix(".incoming/") })
        try test.database { try $0.execute(sql: "ALTER TABLE hidden RENAME TO original") }
        let again = try test.open()
        let asset = try #require(try test.assets.first)
        #expect(try readAll(again.source(for: asset.id).open()) == [1, 2, 3])
        #expect(test.files.count == 1)
    }

    @Test func anImportIntoACatalogueThatWasReplacedIsNoSuccess() throws {
        try self.test.add([1])
        let copy = self.test.path("copy.sqlite")
        try FileManager.default.copyItem(atPath: self.test.path("catalog.sqlite"), toPath: copy)
        try #require(rename(copy, self.test.path("catalog.sqlite")) == 0)
        #expect(codeThrown { try self.test.add([2]) } == .changed)
        #expect(codeThrown { try self.test.add([3]) } == .changed)
    }
}
#endif
