import BlobStreams
import BlobTestSupport
import Foundation
import Testing

@testable import FileSource

@Suite struct ReadNowTests {
    let folder: TemporaryFolder
    let content = (0..<10_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }

    init() throws { self.folder = try TemporaryFolder() }

    func descriptor(of path: String) throws -> FileDescriptor {
        try FileDescriptor(opening: FilePath(Array(path.utf8)))
    }

    /// The bytes read, or nothing and the result.
    func readNow(
        _ descriptor: FileDescriptor, _ byteCount: Int, at byteOffset: Int64
    ) throws -> (result: FileDescriptor.CachedRead, bytes: [UInt8]) {
        var bytes = [UInt8](repeating: 0, count: byteCount)
        let result = try bytes.withUnsafeMutableBytes { try descriptor.readNow(into: $0, at: byteOffset) }
        guard case .bytes(let count) = result else { return (result, []) }
        return (result, Array(bytes.prefix(count)))
    }

    @Test func whatWasWrittenJustNowIsReadAtOnceWhereTheFileSystemCan() throws {
        try self.folder.write(self.content, to: "x")
        let file = try self.descriptor(of: self.folder.path("x"))
        guard try self.readNow(file, 10, at: 0).result != .unsupported else { return }
        for byteOffset in [0, 1, 4095, 4096, 9999] {
            let expected = self.content.dropFirst(byteOffset).prefix(100)
            #expect(try self.readNow(file, 100, at: Int64(byteOffset)).bytes == Array(expected))
        }
        #expect(try self.readNow(file, 20_000, at: 0).bytes == self.content)
        for byteOffset in [10_000, 10_001, 1 << 40] {
            #expect(try self.readNow(file, 100, at: Int64(byteOffset)).result == .bytes(0))
        }
        #expect(try self.readNow(file, 0, at: 0).result == .bytes(0))
    }

    @Test func anOffsetBeforeTheFirstByteIsAnErrorOrUnsupported() throws {
        try self.folder.write(self.content, to: "x")
        let file = try self.descriptor(of: self.folder.path("x"))
        guard try self.readNow(file, 10, at: 0).result != .unsupported else { return }
        // -1 would be the position of the file, as a system call takes it.
        for byteOffset in [-1, -2, Int64.min] {
            let error = try #require(throws: BlobError.self) { try self.readNow(file, 10, at: byteOffset) }
            #expect(error.systemErrorNumber == EINVAL)
        }
    }

    /// As after a read on the pool that brought more bytes than the next output had room for.
    @Test func bytesThatAreReadAgainAreComparedOnce() throws {
        try self.folder.write(self.content, to: "x")
        let file = FileSnapshot(try self.descriptor(of: self.folder.path("x")), growth: .snapshot, BlobContext())
        func read(_ byteCount: Int, at byteOffset: Int64) throws -> [UInt8] {
            var bytes = [UInt8](repeating: 0, count: byteCount)
            try bytes.withUnsafeMutableBytes { buffer in
                var output = OutputRawSpan(buffer: buffer, initializedCount: 0)
                try file.read(at: byteOffset, into: &output)
                #expect(output.finalize(for: buffer) == byteCount)
            }
            return bytes
        }
        _ = try read(1000, at: 0)
        #expect(try read(10, at: 100) == Array(self.content[100..<110]))
        let writer = try File(self.folder.path("x"), O_WRONLY)
        defer { writer.close() }
        try writer.write([1], at: Int64(self.content.count))
        #expect(try read(10, at: 110) == Array(self.content[110..<120]))
    }
}
