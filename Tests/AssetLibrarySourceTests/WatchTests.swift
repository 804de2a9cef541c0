#if Photos
import BlobStreams
import BlobTestSupport
import Foundation
import Testing

@testable import AssetLibrarySource

/// The changes that other processes make, as observers of a library and of a stream learn of them.
@Suite(.timeLimit(.minutes(5))) struct WatchTests {
    private let test: TestLibrary

    init() throws { self.test = try TestLibrary() }

    /// A process that imports a file at each line that it is sent.
    private final class Importer {
        private let process = Process()
        private let input = Pipe()
        private let output = Pipe()
        private var rest = Data()

        init(_ test: TestLibrary, count: Int) throws {
            self.process.executableURL = productsFolder.appendingPathComponent("KilledImport")
            self.process.arguments = [test.folder.path, "\(count)", "timed"]
            (self.process.standardInput, self.process.standardOutput) = (self.input, self.output)
            try self.process.run()
        }

        /// Imports a file.
        ///
        /// - Returns: The identifier of the asset, and the time after the commit in nanoseconds since 1970.
        func add() throws -> (id: String, time: Int64) {
            try self.input.fileHandleForWriting.write(contentsOf: Data("\n".utf8))
            while !self.rest.contains(UInt8(ascii: "\n")) {
                let bytes = self.output.fileHandleForReading.availableData
                try #require(!bytes.isEmpty)
                self.rest += bytes
            }
            let words = String(decoding: self.rest, as: UTF8.self).split(whereSeparator: \.isWhitespace)
            self.rest = Data()
            return (String(words[0]), try #require(Int64(words[1])))
        }

        deinit {
            try? self.input.fileHandleForWriting.close()
            self.process.waitUntilExit()
        }
    }

    private static var now: Int64 { Int64(Date().timeIntervalSince1970 * 1e9) }

    /// The limit allows for a machine that is busy with other tests; the contract is 100 ms, and 1.5 s without events.
    @Test(arguments: [(true, 10, 500), (false, 2, 3000)])
    func anotherProcessIsNoticed(usesEvents: Bool, count: Int, limit: Int64) async throws {
        let library = try self.test.open(.reading)
        let watch = try AssetLibraryWatch(library, usesEvents: usesEvents)
        let noticed = Recorder<(number: Int64, time: Int64)>()
        let observation = watch.state.observe(\.lastChange) { noticed.append(($0.new ?? -1, Self.now)) }
        let importer = try Importer(self.test, count: count)
        var latencies: [Int64] = []
        var changes = watch.changes().makeAsyncIterator()
        for number in 1...count {
            let (id, time) = try importer.add()
            let step = try #require(await noticed.first { $0.number >= Int64(number) })
            latencies.append((step.time - time) / 1_000_000)
            let change = try #require(try await changes.next())
            #expect(change.kind == .inserted && change.number == Int64(number) && change.generation == 1)
            #expect(change.assetID?.uuidString == id)
        }
        print("Noticed after \(latencies) ms, \(usesEvents ? "by events" : "by polling").")
        #expect(latencies.allSatisfy { $0 < limit })
        observation.cancel()
    }

    /// Nobody reads, and the stream learns of it.
    @Test(arguments: [BlobStreamMode.synchronous, .asynchronous])
    func anIdleStreamIsInvalidatedByAnotherProcess(mode: BlobStreamMode) async throws {
        let bytes = makeContent(3 * AssetSource.windowByteCount)
        let asset = try self.test.add(bytes)
        let source = try self.test.open(.reading).source(for: asset.id)
        let states = Recorder<BlobStreamState>()
        let stream = UnsafeTransfer(BlobInputStream(source, mode: mode))
        let times = Recorder<Int64>()
        let token = stream.value.state.observe(\.self) {
            if $0.new?.interruption == .invalidated { times.append(Self.now) }
            if let state = $0.new { states.append(state) }
        }
        stream.value.open()
        _ = await states.first { $0.phase == .open }
        let script = """
            import sqlite3, sys, time
            with sqlite3.connect(sys.argv[1]) as catalogue:
                catalogue.execute("UPDATE asset SET generation = 2, adjustment = '{}'")
            print(time.time_ns())
            """
        let command = try FinishedProcess("python3", ["-c", script, self.test.path("catalog.sqlite")])
        try #require(command.status == 0, "\(command.errors)")
        _ = await states.first { $0.interruption == .invalidated }
        let start = try #require(Int64(command.outputText.trimmingCharacters(in: .whitespacesAndNewlines)))
        let end = try #require(times.values.first)
        print("Invalidated after \((end - start) / 1_000_000) ms.")
        let rest = try await onThread {
            var buffer = [UInt8](repeating: 0, count: bytes.count + 1)
            var count = 0
            while count < buffer.count {
                let step = stream.value.read(&buffer, maxLength: buffer.count)
                if step <= 0 { return step }
                count += step
            }
            return count
        }
        #expect(rest == -1)
        let failed = await states.first { $0.phase == .failed }
        #expect(failed?.error?.code == .changed)
        #expect(failed?.error?.message.contains("generation 2") == true)
        token.cancel()
    }

    @Test func changesAreReadFromTheJournalInOrder() async throws {
        let first = try self.test.add([1])
        try self.test.add([2])
        try self.test.library.removeAsset(first.id)
        let watch = try self.test.open(.reading).watch()
        #expect(watch.state.value.lastChange == 3)
        var changes = watch.changes(since: 1).makeAsyncIterator()
        #expect(try await changes.next()?.kind == .inserted)
        let removal = try await changes.next()
        #expect(removal?.kind == .removed && removal?.assetID == first.id && removal?.number == 3)
        // Made before the update, after which the task may begin.
        let laterChanges = watch.changes()
        let waiting = Task {
            var changes = laterChanges.makeAsyncIterator()
            return try await changes.next()
        }
        _ = try self.test.sql("UPDATE original SET path = 'originals/elsewhere'", Int.self)
        #expect(try await waiting.value?.kind == .moved)
        #expect(try await changes.next()?.kind == .moved)
    }

    @Test func aCancelledIterationEnds() async throws {
        let watch = try self.test.library.watch()
        let waiting = Task {
            var changes = watch.changes().makeAsyncIterator()
            return try await changes.next()
        }
        waiting.cancel()
        #expect(try await waiting.value == nil)
    }

    @Test func whatTheJournalNoLongerHasIsAChangeOfEverything() async throws {
        let asset = try self.test.add([1])
        let update = "UPDATE asset SET generation = generation + 1;"
        try self.test.execute("BEGIN;" + String(repeating: update, count: 11_500) + "COMMIT")
        let rows = try #require(try self.test.sql("SELECT count(*) FROM change_seq", Int.self))
        #expect(rows >= AssetChanges.maximumJournalEntryCount && rows < AssetChanges.maximumJournalEntryCount + 1000)
        let watch = try self.test.open(.reading).watch()
        for number: Int64 in [0, 500, 1_000_000] {
            var changes = watch.changes(since: number).makeAsyncIterator()
            let change = try await changes.next()
            #expect(change == AssetChange(everythingUpTo: 11_501), "\(number)")
        }
        var changes = watch.changes(since: 11_000).makeAsyncIterator()
        #expect(try await changes.next()?.assetID == asset.id)
        _ = try self.test.sql("DELETE FROM change_seq", Int.self)
        var afterAll = watch.changes(since: 11_500).makeAsyncIterator()
        #expect(try await afterAll.next()?.kind == .everything)
    }

    @Test func aReplacedCatalogueIsAChangeOfEverything() async throws {
        try self.test.add([1])
        let watch = try self.test.open(.reading).watch()
        var changes = watch.changes(since: 0).makeAsyncIterator()
        #expect(try await changes.next()?.kind == .inserted)
        try self.test.replaceCatalogue()
        #expect(try await changes.next()?.kind == .everything)
        #expect(watch.state.value.resetCount == 1)
    }

    @Test(arguments: [
        "UPDATE change_seq SET asset_uuid = 'x'", "UPDATE change_seq SET generation = -1",
        "PRAGMA ignore_check_constraints = 1; UPDATE change_seq SET kind = 'everything'",
        "PRAGMA ignore_check_constraints = 1; UPDATE change_seq SET kind = ''",
    ])
    func aDamagedJournalIsAnErrorAndNoCrash(sql: String) async throws {
        try self.test.add([1])
        let watch = try self.test.open(.reading).watch()
        try self.test.execute(sql)
        var changes = watch.changes(since: 0).makeAsyncIterator()
        do {
            let change = try await changes.next()
            #expect(sql.contains("generation") && change?.generation == -1)
        } catch {
            #expect(error.code == .corrupted)
        }
    }

    @Test func aWatchThatNobodyHasIsNoDescriptorAndNoConnection() throws {
        let library = try self.test.open(.reading)
        weak var ended: AssetLibraryWatch?
        do {
            let watch = try library.watch()
            #expect(try library.watch() === watch)
            ended = watch
        }
        #expect(ended == nil)
        let source = library.source(for: try self.test.add([1]).id)
        let reader = try source.open(context: BlobContext(eventSink: { _ in }))
        let watch = try library.watch()
        ended = watch
        reader.close()
        withExtendedLifetime(watch) {}
    }

    @Test func looksFollowAnEventUntilItsCommitMustBeVisible() {
        var schedule = WatchSchedule()
        #expect(schedule.nextDelay() == WatchSchedule.longDelay)
        schedule.record()
        var attentive = Duration.zero
        while case let delay = schedule.nextDelay(), delay == WatchSchedule.shortDelay { attentive += delay }
        #expect(attentive == WatchSchedule.shortDelayPeriod)
        #expect(schedule.nextDelay() == WatchSchedule.longDelay)
    }
}
#endif
