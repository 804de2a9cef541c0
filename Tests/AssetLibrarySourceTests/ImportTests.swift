#if Photos
import AssetLibrarySource
import BlobStreams
import BlobStreamsTesting
import BlobTestSupport
import FileSource
import Foundation
import GRDB
import Testing

/// Adding and removing, and what a crash or another process may do at the same time.
@Suite struct ImportTests {
    private let test: TestLibrary

    init() throws { self.test = try TestLibrary() }

    @Test(arguments: [0, 1, 2, 70_000, 1_000_000])
    func anImportedFileIsAnAsset(byteCount: Int) throws {
        let bytes = makeContent(byteCount)
        let path = self.test.path("photo.JPG")
        try write(bytes, to: path)
        let result = try self.test.library.importAsset(from: FileSource(path: path))
        let asset = result.asset
        #expect(result.isNew)
        #expect(asset.name == "photo.JPG" && asset.fileExtension == "JPG" && asset.byteCount == byteCount)
        #expect(asset.generation == 1 && !asset.isMissing)
        let id = asset.id.uuidString
        #expect(asset.locator.text == "assets-library://asset/asset.JPG?id=\(id)&ext=JPG")
        #expect(self.test.files == ["\(id.prefix(2))/\(id).jpg"])
        let modified = try FileManager.default.attributesOfItem(atPath: path)[.modificationDate] as? Date
        let difference = try #require(asset.modificationDate).timeIntervalSince(#require(modified))
        #expect(abs(difference) < 0.001)
        #expect(abs(asset.importDate.timeIntervalSinceNow) < 60)
        #expect(try self.test.library.asset(asset.id) == asset)
        #expect(try self.test.assets == [asset])
        #expect(try readAll(self.test.library.source(for: asset.id).open()) == bytes)
    }

    @Test func theDigestIsThatOfOtherTools() throws {
        // FIPS 180-4, of "abc" and of nothing.
        #expect(
            try self.test.add(Array("abc".utf8)).sha256.hexadecimal
                == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        #expect(
            try self.test.add([]).sha256.hexadecimal
                == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    }

    @Test func theSameBytesAreNotAddedTwice() throws {
        let first = try self.test.library.importAsset(from: MemorySource(Data([1, 2])), name: "a.x")
        let second = try self.test.library.importAsset(from: MemorySource(Data([1, 2])), name: "b.y")
        #expect(first.isNew && !second.isNew)
        #expect(first.asset == second.asset)
        #expect(self.test.files.count == 1)
    }

    @Test func theSameBytesMayBeAssetsOfTheirOwnThatShareTheOriginal() throws {
        let first = try self.test.add([1, 2])
        let second = try self.test.library.importAsset(
            from: MemorySource(Data([1, 2])), name: "b.y", duplicates: .addAsset)
        #expect(second.isNew && second.asset.id != first.id && second.asset.name == "b.y")
        #expect(self.test.files.count == 1)
        try self.test.library.removeAsset(first.id)
        #expect(try readAll(self.test.library.source(for: second.asset.id).open()) == [1, 2])
        try self.test.library.removeAsset(second.asset.id)
        #expect(self.test.files.isEmpty)
    }

    @Test func anOriginalThatWasLostComesBackWithItsBytes() throws {
        let asset = try self.test.add([1, 2, 3])
        try #require(unlink(self.test.originalPath(of: asset)) == 0)
        #expect(try self.test.library.recover().missingCount == 1)
        #expect(try self.test.library.asset(asset.id)?.isMissing == true)
        let again = try self.test.library.importAsset(from: MemorySource(Data([1, 2, 3])))
        #expect(!again.isNew && again.asset.id == asset.id && !again.asset.isMissing)
        #expect(try readAll(self.test.library.source(for: asset.id).open()) == [1, 2, 3])
    }

    @Test(arguments: [
        ("", nil), ("name", nil), (".hidden", nil), ("a.", nil), ("a.tar.gz", "gz"), ("a.b c", nil), ("a.ä", nil),
        ("a.toolongtobeanextension", nil), ("ein Ünïcödé 🙂.PnG", "PnG"), ("new\nline.x", "x"), ("a/../b.y", "y"),
        ("nul\0.z", "z"), ("%41#?&.q", "q"), (String(repeating: "x", count: 5000) + ".w", "w"), ("a.?&=#", nil),
    ])
    func oddNamesAreKeptAndNeverUsedAsPaths(name: String, fileExtension: String?) throws {
        let asset = try self.test.add(Array(name.utf8), named: name)
        #expect(asset.name == name.replacingOccurrences(of: "\0", with: "\u{FFFD}"))
        #expect(asset.fileExtension == fileExtension)
        #expect(try asset.locator.assetID() == asset.id)
        #expect(try BlobLocator(asset.locator.text) == asset.locator)
        #expect(try readAll(self.test.library.source(for: asset.id).open()) == Array(name.utf8))
        #expect(self.test.files.count == 1)
    }

    @Test func theContentSuggestsAnExtensionWhereTheNameHasNone() throws {
        let asset = try self.test.add([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A], named: nil)
        #expect(asset.fileExtension == "png" && asset.name == nil)
    }

    @Test(arguments: [FaultSource.Fault.fail(at: 0), .fail(at: 5000), .truncate(at: 5000), .wrongByteCount(by: 1)])
    func aSourceThatFailsLeavesNothing(_ fault: FaultSource.Fault) throws {
        let source = FaultSource(MemorySource(Data(makeContent(9000))), fault)
        #expect(codeThrown { try self.test.library.importAsset(from: source) } != nil)
        #expect(try self.test.assets.isEmpty && self.test.files.isEmpty)
    }

    @Test func aCancelledImportLeavesNothing() throws {
        let context = BlobContext()
        let source = MemorySource(Data(makeContent(1_000_000))).counting { _, byteOffset, _ in
            if byteOffset > 500_000 { context.cancellation.cancel() }
        }
        #expect(codeThrown { try self.test.library.importAsset(from: source, context: context) } == .cancelled)
        #expect(self.test.files.isEmpty)
    }

    @Test func removingTakesTheAssetAndItsFile() throws {
        let asset = try self.test.add([7])
        try self.test.library.removeAsset(asset.id)
        #expect(try self.test.assets.isEmpty && self.test.files.isEmpty)
        #expect(codeThrown { try self.test.library.removeAsset(asset.id) } == .notFound)
        #expect(self.test.files.isEmpty)
    }

    @Test func everyChangeIsInTheJournal() throws {
        let asset = try self.test.add([7])
        _ = try self.test.sql("UPDATE original SET path = 'originals/x'", Int.self)
        try self.test.library.removeAsset(asset.id)
        let kinds = "SELECT group_concat(kind, ' ') FROM (SELECT kind FROM change_seq ORDER BY seq)"
        #expect(try self.test.sql(kinds, String.self) == "inserted moved removed")
    }

    @Test func manyAssetsAreListedInTheirOrder() throws {
        try self.test.database { db in
            for number in 0..<1203 {
                try db.execute(
                    sql: "INSERT INTO original (sha256, byte_size, path) VALUES (randomblob(32), ?, ?)",
                    arguments: [number, "originals/\(number)"])
                try db.execute(
                    sql: "INSERT INTO asset (uuid, original_id, ingested_at) VALUES (?, last_insert_rowid(), 0)",
                    arguments: [UUID().uuidString])
            }
        }
        #expect(try self.test.assets.map(\.byteCount) == (0..<1203).map { Int64($0) })
    }

    // MARK: Groups

    @Test func everySourceOfManyGroupsHasItsResultInItsOrder() throws {
        let count = 2 * AssetImport.maximumGroupCount + 7
        var results: [AssetLibrary.ImportResult] = []
        let group = try self.test.library.makeImport { results.append($0) }
        for number in 0..<count {
            // Every fifth is the one before once more, some of them in the next group.
            try group.add(MemorySource(Data("\(number - (number % 5 == 0 && number > 0 ? 1 : 0))".utf8)))
            if results.isEmpty { #expect(try self.test.assets.isEmpty) }
        }
        #expect(results.count < count)
        try group.finish()
        #expect(results.count == count)
        for (number, result) in results.enumerated() {
            let isRepeated = number % 5 == 0 && number > 0
            #expect(result.isNew == !isRepeated && !result.isRepaired)
            #expect(!isRepeated || result.asset == results[number - 1].asset)
        }
        let assets = try self.test.assets
        #expect(assets == results.filter(\.isNew).map(\.asset))
        #expect(self.test.files.count == assets.count)
    }

    @Test func aSourceThatFailsLeavesTheOthersOfItsGroup() throws {
        var results: [AssetLibrary.ImportResult] = []
        let group = try self.test.library.makeImport { results.append($0) }
        try group.add(MemorySource(Data([1])))
        #expect(codeThrown { try group.add(FaultSource(MemorySource(Data([2, 2])), .fail(at: 1))) } != nil)
        try group.add(MemorySource(Data([3])))
        try group.finish()
        #expect(results.map(\.asset) == (try self.test.assets) && results.count == 2 && self.test.files.count == 2)
    }

    @Test func aSourceThatTheCatalogueDoesNotTakeLeavesTheOthersOfItsGroup() throws {
        // An original of no asset, as only a damaged catalogue has it.
        let asset = try self.test.add([2])
        try self.test.database { db in
            try db.execute(sql: "DELETE FROM asset")
        }
        var results: [AssetLibrary.ImportResult] = []
        let group = try self.test.library.makeImport { results.append($0) }
        for byte in 1...3 as ClosedRange<UInt8> { try group.add(MemorySource(Data([byte]))) }
        #expect(codeThrown { try group.finish() } != nil)
        #expect(results.map(\.asset.sha256) == (try self.test.assets.map(\.sha256)) && results.count == 2)
        #expect(!results.contains { $0.asset.sha256 == asset.sha256 } && self.test.files.count == 3)
        #expect(try self.test.library.recover().quarantinedCount == 0)
    }

    @Test func whatIsNotFinishedLeavesNothing() throws {
        do {
            let group = try self.test.library.makeImport { _ in Issue.record("Nothing was finished.") }
            try group.add(MemorySource(Data([1])))
        }
        #expect(try self.test.assets.isEmpty && self.test.files.isEmpty)
    }

    @Test func aSourceWaitsNoLongerForAnotherThanTheDuration() throws {
        let resultCount = Locked(0)
        let group = try self.test.library.makeImport { _ in resultCount.withLock { $0 += 1 } }
        try group.add(MemorySource(Data([1])))
        let start = ContinuousClock.now
        // Has bytes until the other is committed.
        let endless = ClosureSource { _, output, _ in
            if resultCount.withLock({ $0 }) == 0, start.duration(to: .now) < .seconds(60) { output.append(UInt8(7)) }
        }
        try group.add(endless)
        #expect(resultCount.withLock { $0 } == 1)
        #expect(start.duration(to: .now) >= AssetImport.maximumGroupDuration)
        try group.finish()
        #expect(resultCount.withLock { $0 } == 2)
    }

    // MARK: Several at once

    @Test func manyThreadsMayImportTheSameAtOnce() async throws {
        let test = self.test
        let ids = try await onThreads(6) { number in
            // Each its own connection, as other processes have.
            let library = try test.open()
            return try (0..<20).map { round in
                try library.importAsset(from: MemorySource(Data(makeContent(1000 + round)))).asset.id
            }
        }
        #expect(Set(ids).count == 1)
        #expect(try self.test.assets.count == 20)
        #expect(self.test.files.count == 20)
    }

    @Test func processesMayImportAtOnce() async throws {
        let test = self.test
        let paths = try (0..<4).map { number in
            let path = test.path("file\(number)")
            try write(makeContent(50_000 + number % 2), to: path)
            return path
        }
        let statuses = try await onThreads(4) { try runKilledImport(test.folder.path, paths[$0], step: "none") }
        #expect(statuses == [0, 0, 0, 0])
        #expect(try test.assets.count == 2 && test.files.count == 2)
    }

    // MARK: Crashes

    @Test(arguments: ImportStep.allCases)
    func aCrashLeavesNoBrokenState(at step: ImportStep) async throws {
        let test = self.test
        let bytes = makeContent(200_000)
        let before = try test.add([1])
        try write(bytes, to: test.path("photo.jpg"))
        let status = try await onThreads(1) { _ in
            try runKilledImport(test.folder.path, test.path("photo.jpg"), step: step.rawValue)
        }
        #expect(status == [SIGKILL])
        // Who reads sees whole assets, before anybody has recovered.
        let reading = try test.open(.reading)
        try reading.forEachAsset { asset in
            let count = try readAll(reading.source(for: asset.id).open()).count
            #expect(count == asset.byteCount)
        }
        #expect(test.files.contains { $0.hasPrefix(".incoming/") })

        let library = try test.open()
        #expect(!test.files.contains { $0.hasPrefix(".incoming/") })
        let isCommitted = step == .committed
        #expect(try test.assets.count == (isCommitted ? 2 : 1))
        #expect(try test.assets.first == before)
        let orphans = test.files.filter { $0.hasPrefix(".quarantine/") }.count
        #expect(orphans == ([.named, .inserted].contains(step) ? 1 : 0))
        let again = try library.importAsset(from: FileSource(path: test.path("photo.jpg")))
        #expect(again.isNew == !isCommitted)
        #expect(try readAll(library.source(for: again.asset.id).open()) == bytes)
        let report = try library.recover()
        #expect(report.quarantinedCount == 0 && report.missingCount == 0)
    }

    @Test func anImportThatFailsAtAStepLeavesNothing() throws {
        for step in ImportStep.allCases where step != .committed {
            let library = try AssetLibrary(at: self.test.folder, for: .writing) { reached in
                if reached == step { throw BlobError(.io, "A fault that the test injected.") }
            }
            #expect(codeThrown { try library.importAsset(from: MemorySource(Data([1, 2, 3]))) } == .io)
            #expect(try self.test.assets.isEmpty && self.test.files.isEmpty, "\(step)")
        }
    }

    @Test func recoveryWaitsForThoseAtWork() throws {
        let test = self.test
        let library = try AssetLibrary(at: test.folder, for: .writing) { reached in
            guard reached == .copied else { return }
            // While this import is on its way, another process opens the library.
            #expect(codeThrown { try test.open().recover() } == .unavailable)
        }
        let asset = try library.importAsset(from: MemorySource(Data([1, 2, 3]))).asset
        #expect(try readAll(library.source(for: asset.id).open()) == [1, 2, 3])
    }
}

/// Runs the program that imports and kills itself; gives its status, or the number of the signal that ended it.
func runKilledImport(_ library: String, _ file: String, step: String) throws -> Int32 {
    try runKilledImport([library, file, step])
}

func runKilledImport(_ arguments: [String], environment: [String: String] = [:]) throws -> Int32 {
    try FinishedProcess(
        productsFolder.appendingPathComponent("KilledImport").path, arguments, environment: environment
    ).status
}
#endif
