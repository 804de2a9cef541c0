import BlobStreams
import BlobTestSupport
import Foundation
import Testing

@Suite(.timeLimit(.minutes(10))) struct DataSourceWriteTests {
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

    @Test func aNewFileHasAllBytes() throws {
        let folder = try TemporaryFolder()
        #expect(try self.write(MemorySource(bytes), to: folder.url("a")) == 300_000)
        #expect(try Data(contentsOf: folder.url("a")) == bytes)
        #expect(folder.names == ["a"])
    }

    @Test func anEmptySourceMakesAnEmptyFile() throws {
        let folder = try TemporaryFolder()
        #expect(try self.write(MemorySource([]), to: folder.url("a")) == 0)
        #expect(try Data(contentsOf: folder.url("a")).isEmpty)
    }

    @Test func theAsynchronousFormWritesTheSame() async throws {
        let folder = try TemporaryFolder()
        #expect(try await MemorySource(bytes).write(to: folder.url("a")) == 300_000)
        #expect(try Data(contentsOf: folder.url("a")) == bytes)
    }

    @Test func aFileIsReplacedAndKeepsItsMode() throws {
        let folder = try TemporaryFolder()
        try old.write(to: folder.url("a"))
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: folder.path("a"))
        _ = try self.write(MemorySource(bytes), to: folder.url("a"))
        #expect(try Data(contentsOf: folder.url("a")) == bytes)
        #expect(try folder.mode("a") == 0o640)
        #expect(folder.names == ["a"])
    }

    /// As `cat > link` does: the link stays, and the file that it names appears.
    @Test(arguments: ["target", "sub/../target", "second"]) func aDanglingLinkIsWrittenThrough(target: String) throws {
        let folder = try TemporaryFolder()
        try FileManager.default.createDirectory(at: folder.url("sub"), withIntermediateDirectories: false)
        try #require(symlink("target", folder.path("second")) == 0)
        try #require(symlink(target, folder.path("link")) == 0)
        #expect(try self.write(MemorySource(bytes), to: folder.url("link")) == 300_000)
        #expect(try Data(contentsOf: folder.url("target")) == bytes)
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: folder.path("link")) == target)
        #expect(folder.names == ["link", "second", "sub", "target"])
    }

    @Test func aLinkToItselfIsAnError() throws {
        let folder = try TemporaryFolder()
        try #require(symlink("link", folder.path("link")) == 0)
        #expect(codeThrown { try self.write(MemorySource(bytes), to: folder.url("link")) } == .io)
        #expect(folder.names == ["link"])
    }

    @Test func anErrorLeavesTheOldFileAndNothingBesideIt() throws {
        let folder = try TemporaryFolder()
        try old.write(to: folder.url("a"))
        #expect(codeThrown { try self.write(failing, to: folder.url("a")) } == .refused)
        #expect(try Data(contentsOf: folder.url("a")) == old)
        #expect(codeThrown { try self.write(failing, to: folder.url("b")) } == .refused)
        #expect(folder.names == ["a"])
    }

    @Test func cancellingLeavesTheOldFileAndNothingBesideIt() async throws {
        let folder = try TemporaryFolder()
        try old.write(to: folder.url("a"))
        let reader = PlayedStream()
        reader.push([1, 2, 3])
        let target = folder.url("a")
        let task = Task { await asyncCodeThrown { try await reader.write(to: target) } }
        await reader.reads.values(count: 2)
        task.cancel()
        #expect(await task.value == .cancelled)
        #expect(try Data(contentsOf: folder.url("a")) == old)
        #expect(folder.names == ["a"])
    }

    @Test func aLongNameIsNoProblem() throws {
        let folder = try TemporaryFolder()
        let name = String(repeating: "ü", count: 127)
        _ = try self.write(MemorySource(bytes), to: folder.url(name))
        #expect(folder.names == [name])
    }

    @Test func theTargetOfASymbolicLinkIsWritten() throws {
        let folder = try TemporaryFolder()
        try old.write(to: folder.url("target"))
        try FileManager.default.createSymbolicLink(
            atPath: folder.path("link"), withDestinationPath: "target")
        _ = try self.write(MemorySource(bytes), to: folder.url("link"))
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: folder.path("link")) == "target")
        #expect(try Data(contentsOf: folder.url("target")) == bytes)
        #expect(folder.names == ["link", "target"])
    }

    @Test func aMissingFolderIsNotFound() throws {
        let folder = try TemporaryFolder()
        let error = #expect(throws: BlobError.self) {
            try self.write(MemorySource(bytes), to: folder.url("missing/a"))
        }
        #expect(error?.code == .notFound)
        #expect(error?.operation == "write")
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
        let folder = try TemporaryFolder()
        try FileManager.default.createDirectory(at: folder.url("a"), withIntermediateDirectories: false)
        let error = #expect(throws: BlobError.self) { try self.write(MemorySource(bytes), to: folder.url("a")) }
        #expect(error?.systemErrorNumber == EISDIR)
        #expect(folder.names == ["a"])
    }

    @Test func aNamedPipeIsWrittenToAndStays() async throws {
        let folder = try TemporaryFolder()
        let pipe = URL(fileURLWithPath: try folder.makeFIFO("pipe"))
        async let reading = onThread { try FileHandle(forReadingFrom: pipe).readToEnd() }
        let count = try await MemorySource(bytes).write(to: pipe)
        #expect(count == 300_000)
        #expect(try await reading == bytes)
        #expect(folder.names == ["pipe"])
    }

    /// Before somebody reads it, and when nobody reads on.
    @Test(.timeLimit(.minutes(5)), arguments: [false, true])
    func writingToANamedPipeEndsWithTheJob(hasReader: Bool) async throws {
        let folder = try TemporaryFolder()
        let pipe = URL(fileURLWithPath: try folder.makeFIFO("pipe"))
        let reader = hasReader ? open(pipe.path, O_RDONLY | O_NONBLOCK) : -1
        defer { if hasReader { close(reader) } }
        let context = BlobContext()
        let begun = Latch()
        let source = MemorySource(bytes).counting { _, _, _ in begun.open() }
        let writing = Task { try await source.write(to: pipe, context: context) }
        if hasReader { await begun.opened() }
        context.cancellation.cancel()
        let error = await #expect(throws: BlobError.self) { try await writing.value }
        #expect(error?.code == .cancelled)
        let limited = BlobContext(deadline: .now + .milliseconds(100))
        let late = await #expect(throws: BlobError.self) {
            try await source.write(to: pipe, context: limited)
        }
        #expect(late?.code == .timedOut)
    }

    /// It has the error of a pipe that nobody reads, and is not waited for.
    @Test func aSocketCannotBeWrittenTo() throws {
        let folder = try TemporaryFolder()
        let socket = try FileHandle(fileDescriptor: boundSocket(folder.path("socket")), closeOnDealloc: true)
        let error = #expect(throws: BlobError.self) { try self.write(MemorySource(bytes), to: folder.url("socket")) }
        #expect(error?.systemErrorNumber == ENXIO)
        withExtendedLifetime(socket) {}
    }

    @Test func aSourceThatDoesNotOpenMakesNoFile() throws {
        let folder = try TemporaryFolder()
        let source = InputStreamSource(info: BlobInfo(byteCount: 5), isRepeatable: false) { nil }
        _ = try? source.open()  // Throws when it is already known that there is no stream.
        #expect(codeThrown { try self.write(source, to: folder.url("a")) } == .unsupported)
        #expect(folder.names.isEmpty)
    }
}

/// Returns a local socket with a name.
private func boundSocket(_ path: String) throws -> CInt {
    let descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let status = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
        }
    }
    guard status == 0 else { throw BlobError(systemError: errno, doing: "Could not name a socket") }
    return descriptor
}
