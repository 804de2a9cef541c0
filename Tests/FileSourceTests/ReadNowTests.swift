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
    ) throws -> (result: FileDescriptor.NowResult, bytes: [UInt8]) {
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

    @Test func aClosedDescriptorIsClosed() throws {
        try self.folder.write(self.content, to: "x")
        let file = try self.descriptor(of: self.folder.path("x"))
        file.close()
        let error = try #require(throws: BlobError.self) { try self.readNow(file, 10, at: 0) }
        #expect(error.code == .closed)
    }
}
