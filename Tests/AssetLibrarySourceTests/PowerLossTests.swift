#if Photos
#if os(Linux)
import AssetLibrarySource
import BlobStreams
import BlobTestSupport
import CSystemCallLog
import Foundation
import Testing

/// A loss of power in imports and removals: the calls of a process are logged, and what was synchronised before
/// each of many moments is opened as the library that the disk would have had then.
@Suite struct PowerLossTests {
    /// `BLOBSTREAMS_ROUNDS` makes it more: a thousand take minutes.
    private static let cutCount = environmentNumber("BLOBSTREAMS_ROUNDS") ?? 36

    /// More than one group of commits.
    private static let fileCount = AssetImport.maximumGroupCount + (Self.cutCount < 100 ? 20 : 130)

    @Test func everyURLThatWasGivenOutSurvivesALossOfPower() async throws {
        // In memory where there is such a file system: there, to synchronise takes no time.
        let memory = URL(fileURLWithPath: "/dev/shm", isDirectory: true)
        let isWritable = FileManager.default.isWritableFile(atPath: memory.path)
        let scratch = (isWritable ? memory : FileManager.default.temporaryDirectory)
            .appendingPathComponent("power-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: scratch) }
        let folder = scratch.appendingPathComponent("disk")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        var status = stat()
        try #require(stat(folder.path, &status) == 0)
        let log = scratch.appendingPathComponent("log").path
        let outcome = try await onThreads(1) { _ in
            try runKilledImport(
                [folder.appendingPathComponent("library").path, "\(Self.fileCount)", "record"],
                environment: ["SYSTEM_CALL_LOG": log, "SYSTEM_CALL_LOG_FOLDER": folder.path])
        }
        try #require(outcome == [0])
        let calls = try SystemCall.all(inLog: log)
        let marks = calls.filter { $0.kind == SYSTEM_CALL_MARK }
        try #require(marks.count == 1 + Self.fileCount + 2 * (Self.fileCount / 10))

        let disk = Disk(root: UInt64(status.st_ino))
        var generator = SplitMix64(seed: 10)
        let cuts = Set((1...Self.cutCount).map { $0 * calls.count / Self.cutCount })
        var cutNumber = 0
        var promised = Promised()
        for (number, call) in calls.enumerated() {
            disk.apply(call)
            promised.hear(call)
            guard cuts.contains(number + 1) else { continue }
            // In turns, and all of them behind the last call.
            let isLast = number + 1 == calls.count
            cutNumber += 1
            for (turn, loss) in Disk.Loss.allCases.enumerated() where isLast || cutNumber % 3 == turn {
                let path = scratch.appendingPathComponent("after").path
                try disk.write(to: path, after: loss, using: &generator)
                try self.check("\(path)/library", promised, "after call \(number + 1), losing \(loss)")
                try FileManager.default.removeItem(atPath: path)
            }
        }
        #expect(cutNumber == min(Self.cutCount, calls.count))
        // The last cut is behind the last call, when all was promised.
        #expect(promised.assets.count == Self.fileCount - Self.fileCount / 10)
    }

    /// What the process has said so far.
    private struct Promised {
        private(set) var isCreated = false
        /// The number of the file of each asset that was given out and not removed since.
        private(set) var assets: [UUID: Int] = [:]

        mutating func hear(_ call: SystemCall) {
            guard call.kind == SYSTEM_CALL_MARK else { return }
            let words = String(decoding: call.data, as: UTF8.self).split(separator: " ")
            let id = words.dropFirst().first.flatMap { UUID(uuidString: String($0)) }
            switch (words[0], id) {
            case ("created", _): self.isCreated = true
            case ("imported", let id?): self.assets[id] = words.last.flatMap { Int($0) }
            case ("removing", let id?): self.assets[id] = nil
            default: break
            }
        }
    }

    private func check(_ path: String, _ promised: Promised, _ moment: String) throws {
        guard promised.isCreated else { return }
        let library = try AssetLibrary(at: URL(fileURLWithPath: path), for: .writing)
        for (id, number) in promised.assets {
            let bytes = try? readAll(library.source(for: id).open())
            #expect(bytes == recordedBytes(number), "asset of file \(number) \(moment)")
        }
        // Recovery has looked, where there was something to find.
        let report = try library.recover()
        #expect(report.quarantinedCount == 0, "\(moment)")
        #expect(report.missingCount == 0, "\(moment)")
    }

    /// As the process makes them.
    private func recordedBytes(_ number: Int) -> [UInt8] {
        Array(String(repeating: "photo \(number)\n", count: 1 + number % 100 * 10).utf8)
    }
}
#endif
#endif
