import BlobStreams
import Foundation
import Testing

@Suite(.timeLimit(.minutes(10))) struct DataSourceWriteTests {
    /// A folder of its own that goes with it.
    private final class Folder {
        let url: URL

        init() throws {
            self.url = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
            try FileManager.default.createDirectory(at: self.url, withIntermediateDirectories: false)
        }

        deinit { try? FileManager.default.removeItem(at: self.url) }

        var names: [String] {
            get throws { try FileManager.default.contentsOfDirectory(atPath: self.url.path).sorted() }
        }

        func file(_ name: String) -> URL { self.url.appendingPathComponent(name) }
    }

    private let bytes = Self.pattern
    private static let pattern = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 13 >> 3) })
    private let old = Data("old".utf8)
    /// Gives some bytes, then fails.
    private let failing = ClosureSource { offset, output, _ in
        guard offset == 0 else { throw BlobError(.refused, "No.") }
        output.append(repeating: 1, count: output.freeCapacity, as: UInt8.self)
    }

    private func write(_ source: any BlobInputStreamDataSource, to url: URL) throws -> Int64 {
        try source.write(to: url)
    }

    private func mode(_ url: URL) throws -> Int {
        try #require(FileManager.default.attributesOfItem(atPath: url.path)[.posixPermissions] as? Int)
    }

    @Test func aNewFileHasAllBytes() throws {
        let folder = try Folder()
        #expect(try self.write(MemorySource(bytes), to: folder.file("a")) == 300_000)
        #expect(try Data(contentsOf: folder.file("a")) == bytes)
        #expect(try folder.names == ["a"])
    }

    @Test func anEmptySourceMakesAnEmptyFile() throws {
        let folder = try Folder()
        #expect(try self.write(MemorySource([]), to: folder.file("a")) == 0)
        #expect(try Data(contentsOf: folder.file("a")).isEmpty)
    }

    @Test func theAsynchronousFormWritesTheSame() async throws {
        let folder = try Folder()
        #expect(try await MemorySource(bytes).write(to: folder.file("a")) == 300_000)
        #expect(try Data(contentsOf: folder.file("a")) == bytes)
    }

    @Test func aFileIsReplacedAndKeepsItsMode() throws {
        let folder = try Folder()
        try old.write(to: folder.file("a"))
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: folder.file("a").path)
        _ = try self.write(MemorySource(bytes), to: folder.file("a"))
        #expect(try Data(contentsOf: folder.file("a")) == bytes)
        #expect(try self.mode(folder.file("a")) == 0o640)
        #expect(try folder.names == ["a"])
    }

    /// As `cat > link` does: the link stays, and the file that it names appears.
    @Test(arguments: ["target", "sub/../target", "second"]) func aDanglingLinkIsWrittenThrough(target: String) throws {
        let folder = try Folder()
        try FileManager.default.createDirectory(at: folder.file("sub"), withIntermediateDirectories: false)
        try #require(symlink("target", folder.file("second").path) == 0)
        try #require(symlink(target, folder.file("link").path) == 0)
        #expect(try self.write(MemorySource(bytes), to: folder.file("link")) == 300_000)
        #expect(try Data(contentsOf: folder.file("target")) == bytes)
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: folder.file("link").path) == target)
        #expect(try folder.names == ["link", "second", "sub", "target"])
    }

    @Test func aLinkToItselfIsAnError() throws {
        let folder = try Folder()
        try #require(symlink("link", folder.file("link").path) == 0)
        #expect(codeThrown { try self.write(MemorySource(bytes), to: folder.file("link")) } == .io)
        #expect(try folder.names == ["link"])
    }

    @Test func anErrorLeavesTheOldFileAndNothingBesideIt() throws {
        let folder = try Folder()
        try old.write(to: folder.file("a"))
        #expect(codeThrown { try self.write(failing, to: folder.file("a")) } == .refused)
        #expect(try Data(contentsOf: folder.file("a")) == old)
        #expect(codeThrown { try self.write(failing, to: folder.file("b")) } == .refused)
        #expect(try folder.names == ["a"])
    }

    @Test func cancellingLeavesTheOldFileAndNothingBesideIt() async throws {
        let folder = try Folder()
        try old.write(to: folder.file("a"))
        let reader = PlayedReader()
        reader.push([1, 2, 3])
        let target = folder.file("a")
        let task = Task { await asyncCodeThrown { try await reader.write(to: target) } }
        await reader.reads.values(count: 2)
        task.cancel()
        #expect(await task.value == .cancelled)
        #expect(try Data(contentsOf: folder.file("a")) == old)
        #expect(try folder.names == ["a"])
    }

    @Test func aLongNameIsNoProblem() throws {
        let folder = try Folder()
        let name = String(repeating: "ü", count: 127)
        _ = try self.write(MemorySource(bytes), to: folder.file(name))
        #expect(try folder.names == [name])
    }

    @Test func theTargetOfASymbolicLinkIsWritten() throws {
        let folder = try Folder()
        try old.write(to: folder.file("target"))
        try FileManager.default.createSymbolicLink(
            atPath: folder.file("link").path, withDestinationPath: "target")
        _ = try self.write(MemorySource(bytes), to: folder.file("link"))
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: folder.file("link").path) == "target")
        #expect(try Data(contentsOf: folder.file("target")) == bytes)
        #expect(try folder.names == ["link", "target"])
    }

    @Test func aMissingFolderIsNotFound() throws {
        let folder = try Folder()
        let error = #expect(throws: BlobError.self) {
            try self.write(MemorySource(bytes), to: folder.file("missing/a"))
        }
        #expect(error?.code == .notFound)
        #expect(error?.operation == .write)
    }

    @Test func aFullDeviceIsAnInputOutputErrorAndStaysADevice() throws {
        let full = URL(fileURLWithPath: "/dev/full")
        let error = #expect(throws: BlobError.self) { try self.write(MemorySource(bytes), to: full) }
        #expect(error?.code == .io)
        #expect(error?.systemErrorNumber == ENOSPC)
        let type = try FileManager.default.attributesOfItem(atPath: full.path)[.type]
        #expect(type as? FileAttributeType == .typeCharacterSpecial)
    }

    @Test func aFolderIsNotReplaced() throws {
        let folder = try Folder()
        try FileManager.default.createDirectory(at: folder.file("a"), withIntermediateDirectories: false)
        let error = #expect(throws: BlobError.self) { try self.write(MemorySource(bytes), to: folder.file("a")) }
        #expect(error?.systemErrorNumber == EISDIR)
        #expect(try folder.names == ["a"])
    }

    @Test func aNamedPipeIsWrittenToAndStays() async throws {
        let folder = try Folder()
        let pipe = folder.file("pipe")
        try #require(mkfifo(pipe.path, 0o600) == 0)
        async let reading = onThread { try FileHandle(forReadingFrom: pipe).readToEnd() }
        let count = try await MemorySource(bytes).write(to: pipe)
        #expect(count == 300_000)
        #expect(try await reading == bytes)
        #expect(try folder.names == ["pipe"])
    }

    @Test func aSourceThatDoesNotOpenMakesNoFile() throws {
        let folder = try Folder()
        let source = InputStreamSource(info: BlobInfo(byteCount: 5), isRepeatable: false) { nil }
        _ = try source.open()
        #expect(codeThrown { try self.write(source, to: folder.file("a")) } == .unsupported)
        #expect(try folder.names.isEmpty)
    }
}
