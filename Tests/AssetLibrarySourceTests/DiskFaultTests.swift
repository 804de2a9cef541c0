#if Photos
#if os(Linux)
import BlobStreams
import BlobTestSupport
import CSystemCallLog
import Foundation
import Testing

@testable import AssetLibrarySource

/// Full disks, and file systems that fail or lack calls, in a process of each test's own.
@Suite(.serialized) struct DiskFaultTests {
    private static func bytes(_ name: String, of test: TestLibrary) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: URL(fileURLWithPath: test.path(name))))
    }

    /// Sets the length in bytes that no file may exceed.
    private static func limitFiles(to byteCount: rlim_t) throws {
        let resource = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
        var limit = rlimit()
        try #require(getrlimit(resource, &limit) == 0)
        limit.rlim_cur = min(byteCount, limit.rlim_max)
        try #require(setrlimit(resource, &limit) == 0)
    }

    private static func fail(_ faults: Int, _ error: CInt) { system_call_fail(CInt(faults), error) }

    private static func codeOfWriting(_ body: () throws -> Void) throws -> BlobError.Code? {
        do {
            try body()
            return nil
        } catch let error as BlobError {
            try #require(error.operation == "write")
            return error.code
        }
    }

    /// The journal is longer than any other file, and reaches the limit alone.
    @Test func aJournalThatCannotBeAppendedToEndsAnImportWithoutATrace() async {
        await #expect(processExitsWith: .success) {
            let test = try TestLibrary()
            try test.add([1])
            _ = try test.library.journal.append((0..<6000).map { _ in .removed(UUID()) })
            let library = try test.open()
            try test.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            let (journal, files) = (try Self.bytes("journal.jsonl", of: test), test.files)
            _ = signal(SIGXFSZ, SIG_IGN)
            // The length of some lines, and of a part of one.
            for room in [0, 1, 100, 1500] {
                try Self.limitFiles(to: rlim_t(journal.count + room))
                let photos = try library.makeImport { _ in Issue.record("Nothing is promised.") }
                for number in 0..<10 { try photos.add(MemorySource(Data([2, UInt8(number)])), name: "a") }
                try #require(try Self.codeOfWriting { try photos.finish() } == .io)
                try Self.limitFiles(to: .max)
                try #require(try Self.bytes("journal.jsonl", of: test) == journal && test.files == files)
                try #require(try test.assets.count == 1)
            }
            let asset = try library.importAsset(from: MemorySource(Data([2]))).asset
            try #require(try readAll(test.open().source(for: asset.id).open()) == [2])
            var findings: [LibraryFinding] = []
            _ = try LibraryCheck(of: test.folder, isDeep: true, repairsProblems: false) { findings.append($0) }.run()
            try #require(findings.isEmpty, "\(findings)")
        }
    }

    @Test func anImportWhoseFileCannotBeClosedFails() async {
        await #expect(processExitsWith: .success) {
            let test = try TestLibrary()
            for error in [EIO, ENOSPC] {
                Self.fail(SYSTEM_CALL_FAULT_CLOSE, error)
                try #require(try Self.codeOfWriting { try test.add([1]) } == .io)
                Self.fail(0, 0)
                try #require(try test.files.isEmpty && test.assets.isEmpty)
            }
            // The descriptor is closed, and the bytes were synchronised before.
            Self.fail(SYSTEM_CALL_FAULT_CLOSE, EINTR)
            let asset = try test.add([1])
            Self.fail(0, 0)
            try #require(try readAll(test.library.source(for: asset.id).open()) == [1])
        }
    }

    @Test(arguments: [
        SYSTEM_CALL_FAULT_EXCLUSIVE_RENAME, SYSTEM_CALL_FAULT_EXCLUSIVE_RENAME | SYSTEM_CALL_FAULT_LINK,
    ])
    func aFileSystemWithoutExclusiveRenamesReplacesNothing(faults: Int) async {
        await #expect(processExitsWith: .success) { [faults] in
            let test = try TestLibrary()
            Self.fail(faults, EINVAL)
            let asset = try test.add([1, 2, 3])
            try #require(try readAll(test.library.source(for: asset.id).open()) == [1, 2, 3])
            let name = "\(asset.id.uuidString).bin"
            try #require(try test.originalPath(of: asset).hasSuffix(name))
            // Twice damaged and repaired: each file that is set aside has a name of its own.
            let folders = try OriginalsFolder(test.library.folder)
            for number in 0..<2 {
                try write([UInt8(number)], to: test.path("originals/\(name.prefix(2))/\(name)"))
                try #require(try folders.moveToQuarantine("originals/\(name.prefix(2))/\(name)"))
            }
            let quarantine = test.path("originals/.quarantine")
            let found = try FileManager.default.contentsOfDirectory(atPath: quarantine).sorted()
            try #require(found == [name, "\(name).2"])
            for (number, name) in found.enumerated() {
                try #require(try Self.bytes("originals/.quarantine/\(name)", of: test) == [UInt8(number)])
            }
            let path = test.path("backup")
            try test.library.backUp(to: path)
            try #require(codeThrown { try test.library.backUp(to: path) } == .invalidArgument)
        }
    }
}
#endif
#endif
