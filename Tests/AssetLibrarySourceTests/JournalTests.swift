#if Photos
import BlobStreams
import BlobTestSupport
import Foundation
import GRDB
import Testing

@testable import AssetLibrarySource

/// The journal beside the catalogue: what it keeps, and how both come to agree.
@Suite struct JournalTests {
    private let test: TestLibrary

    init() throws { self.test = try TestLibrary() }

    private var path: String { self.test.path("journal.jsonl") }

    private func state() throws -> JournalState { try JournalState(self.test.library.journal) }

    private func bytes() throws -> [UInt8] { try [UInt8](Data(contentsOf: URL(fileURLWithPath: self.path))) }

    /// Copies the catalogue with its log, as a backup of the folder does.
    private func copyCatalogue(_ suffixes: (from: String, to: String)) throws {
        for file in ["", "-wal"] {
            let path = self.test.path("catalog.sqlite\(file)")
            try? FileManager.default.removeItem(atPath: path + suffixes.to)
            try FileManager.default.copyItem(atPath: path + suffixes.from, toPath: path + suffixes.to)
        }
        if !suffixes.from.isEmpty { try? FileManager.default.removeItem(atPath: self.test.path("catalog.sqlite-shm")) }
    }

    @Test func itHasEveryImportRepairAndRemoval() throws {
        let assets = try (0..<3).map { try self.test.add([UInt8($0)], named: "\($0).jpg") }
        try self.test.library.removeAsset(assets[1].id)
        try #require(unlink(self.test.originalPath(of: assets[2])) == 0)
        let repaired = try self.test.add([2])
        let state = try self.state()
        #expect(state.assets.map(\.id) == [assets[0].id, assets[2].id] && state.removedAssetIDs == [assets[1].id])
        #expect(state.assets.map(\.name) == ["0.jpg", "2.jpg"])
        #expect(state.assets.last?.path == repaired.storedPath && repaired.storedPath != assets[2].storedPath)
        #expect(state.skippedLineCount == 0)
        let known = try self.test.sql("SELECT journal_byte_count FROM library", Int.self)
        #expect(try known == self.bytes().count)
        // Each line is JSON for everybody.
        for line in try self.bytes().split(separator: UInt8(ascii: "\n")) {
            #expect(try JSONSerialization.jsonObject(with: Data(line)) is [String: Any])
        }
    }

    @Test func tornAndDamagedLinesAreSkipped() throws {
        for number in 0..<3 { try self.test.add([UInt8(number)], named: "\"\u{FFFD}\n\(number)") }
        let bytes = try self.bytes()
        let all = try self.state().assets
        let ends = bytes.indices.filter { bytes[$0] == UInt8(ascii: "\n") }
        let copy = self.test.folder.appendingPathComponent("copy")
        try FileManager.default.createDirectory(at: copy, withIntermediateDirectories: true)
        let journal = LibraryJournal(LibraryFolder(copy))
        func parsed(_ bytes: [UInt8]) throws -> JournalState {
            try BlobTestSupport.write(bytes, to: copy.appendingPathComponent("journal.jsonl").path)
            return try JournalState(journal)
        }
        for length in 0...bytes.count {
            let state = try parsed(Array(bytes.prefix(length)))
            #expect(state.assets == Array(all.prefix(max(0, ends.count { $0 < length } - 1))))
        }
        for index in bytes.indices {
            let damaged = bytes.flipping(1 << UInt8(index % 8), at: index)
            let state = try parsed(damaged)
            #expect(state.skippedLineCount >= 1 && state.assets.count >= 1, "byte \(index)")
            #expect(Set(all.map(\.id)).isSuperset(of: state.assets.map(\.id)))
        }
        let long = try parsed([UInt8](repeating: 32, count: 3 << 20) + [UInt8(ascii: "\n")] + bytes)
        #expect(long.assets == all && long.skippedLineCount == 1)
    }

    /// A crash between the commits of both, or a catalogue from a backup.
    @Test func anOlderCatalogueCatchesUp() throws {
        let first = try self.test.add([1])
        try self.copyCatalogue((from: "", to: ".old"))
        let second = try self.test.add([2], named: "second.jpg")
        try self.test.library.removeAsset(first.id)
        try self.copyCatalogue((from: ".old", to: ""))
        let library = try self.test.open()
        #expect(try library.asset(first.id) == nil)
        let found = try #require(try library.asset(second.id))
        #expect(found.name == "second.jpg" && found.sha256 == second.sha256 && !found.isMissing)
        #expect(try readAll(library.source(for: second.id).open()) == [2])
        #expect(try library.recover() == .init())
    }

    /// As on a full disk.
    @Test func aRemovalThatFailedDoesNotHappenLater() throws {
        let asset = try self.test.add([1])
        let before = try self.bytes()
        try self.test.execute(
            "CREATE TRIGGER full BEFORE UPDATE ON library BEGIN SELECT RAISE(ABORT, 'disk is full'); END")
        #expect(codeThrown { try self.test.library.removeAsset(asset.id) } != nil)
        #expect(codeThrown { try self.test.add([2]) } != nil)
        #expect(try self.bytes() == before)
        try self.test.execute("DROP TRIGGER full")
        #expect(try readAll(self.test.open().source(for: asset.id).open()) == [1])
        try self.test.library.removeAsset(asset.id)
        #expect(try self.test.open().asset(asset.id) == nil)
    }

    /// The place that a catalogue remembers is in the journal that was there before.
    @Test func anOlderCatalogueCatchesUpWithARewrittenJournal() throws {
        let first = try self.test.add([1], named: String(repeating: "long", count: 200))
        try self.copyCatalogue((from: "", to: ".old"))
        let second = try self.test.add([2])
        try self.test.library.removeAsset(first.id)
        try self.test.library.rewriteJournal()
        let more = try (3..<8).map { try self.test.add([$0]) }
        try self.copyCatalogue((from: ".old", to: ""))
        let library = try self.test.open()
        #expect(try library.asset(first.id) == nil)
        for asset in [second] + more { #expect(try library.asset(asset.id)?.sha256 == asset.sha256) }
    }

    /// Also one of a library whose journal was written before renders were in it.
    @Test(arguments: [false, true]) func aStoredRenderSurvivesTheLossOfTheCatalogue(isOlder: Bool) throws {
        let (asset, render) = (try self.test.add(Pictures.picture, named: "a.png"), try self.test.add([1]))
        let sidecar = self.test.path("a.AAE")
        try write(Array("Apple's".utf8), to: sidecar)
        try self.test.library.setAdjustment(of: asset.id, sidecar: sidecar)
        let journal = try self.bytes()
        try self.test.library.setRender(render.id, of: asset.id)
        #expect(try self.bytes().count > journal.count)
        var findings: [LibraryFinding] = []
        let check = LibraryCheck(of: self.test.folder, isDeep: false, repairsProblems: true) { findings.append($0) }
        if isOlder {
            try write(journal, to: self.path)
            try self.test.execute("UPDATE library SET journal_byte_count = \(journal.count)")
            #expect(try check.run())
            #expect(findings.map(\.kind) == [.journal] && findings.map(\.isRepaired) == [true])
        }
        #expect(try check.run())
        #expect(findings.count == (isOlder ? 1 : 0))
        for suffix in ["", "-wal", "-shm"] {
            try? FileManager.default.removeItem(atPath: self.test.path("catalog.sqlite\(suffix)"))
        }
        #expect(try check.run())
        #expect(findings.last?.kind == .catalogue && findings.last?.isRepaired == true)
        let library = try self.test.open()
        #expect(try library.renderID(of: try #require(try library.asset(asset.id))) == render.id)
    }

    /// Its lines come before its commit, and what is removed is gone from the catalogue first.
    @Test func aCheckBesideAnImportAndARemovalFindsNothing() throws {
        let asset = try self.test.add([1])
        let other = try self.test.add([2])
        var line = JournalAsset(asset)
        line.id = UUID()
        _ = try self.test.library.journal.append([.added(line)])
        let check = LibraryCheck(of: self.test.folder, isDeep: false, repairsProblems: false) { finding in
            Issue.record("\(finding)")
        }
        #expect(try check.run())
        let rows = try self.test.library.catalogue.originals(where: "TRUE ORDER BY id", [])
        for asset in [asset, other] { try self.test.library.removeAsset(asset.id) }
        for row in rows { try check.check(row, self.test.library) }
    }

    @Test func aLineWithoutACommitAndWithoutItsFileIsUndone() throws {
        let asset = try self.test.add([1])
        let entry = JournalAsset(
            id: UUID(), byteCount: 5, sha256: String(repeating: "ab", count: 32),
            path: LibraryFolder.storedPath(for: UUID(), fileExtension: nil), generation: 1, importedAt: 0)
        _ = try self.test.library.journal.append([.added(entry)])
        try write([UInt8](try self.bytes()) + Array("{\"torn".utf8), to: self.path)
        let library = try self.test.open()
        #expect(try library.asset(entry.id) == nil)
        #expect(try self.state().assets.map(\.id) == [asset.id])
        // The next import continues behind the torn line.
        let next = try library.importAsset(from: MemorySource(Data([2]))).asset
        #expect(try self.state().assets.map(\.id) == [asset.id, next.id])
    }

    @Test(arguments: [0, 100, nil] as [Int?])
    func aJournalThatWasLostOrCutIsWrittenAnew(byteCount: Int?) throws {
        let assets = try (0..<3).map { try self.test.add([UInt8($0)]) }
        if let byteCount {
            try #require(truncate(self.path, off_t(byteCount)) == 0)
        } else {
            try #require(unlink(self.path) == 0)
        }
        _ = try self.test.open()
        #expect(try self.state().assets.map(\.id) == assets.map(\.id))
    }

    @Test func aCatalogueThatIsWrittenOverUnderAnImportIsNoticed() throws {
        try self.copyCatalogue((from: "", to: ".old"))
        try self.test.add([1])
        let old = try Data(contentsOf: URL(fileURLWithPath: self.test.path("catalog.sqlite.old")))
        // The same file, with the content of before.
        try overwrite(self.test.path("catalog.sqlite"), at: 0, with: [UInt8](old))
        try #require(unlink(self.test.path("catalog.sqlite-wal")) == 0)
        #expect(codeThrown { try self.test.add([2]) } == .changed)
    }

    @Test func aLogThatIsRemovedUnderAnImportIsNoticed() throws {
        try self.test.add([1])
        try #require(unlink(self.test.path("catalog.sqlite-wal")) == 0)
        #expect(codeThrown { try self.test.add([2]) } == .changed)
    }
}
#endif
