#if os(Linux)
import BlobStreams
import BlobTestSupport
import Foundation
import Testing

@testable import FileSource

extension ReadNowTests {
    @Test func whatIsNotInThePageCacheWouldWait() throws {
        try self.folder.write(self.content, to: "x")
        let file = try self.descriptor(of: self.folder.path("x"))
        let writer = try File(self.folder.path("x"), O_WRONLY)
        defer { writer.close() }
        var result = FileDescriptor.CachedRead.bytes(0)
        // To let go of pages is advice, which the system may leave for later.
        for _ in 0..<1000 where result != .wouldWait && result != .unsupported {
            try #require(fsync(writer.descriptor) == 0)
            try #require(posix_fadvise(writer.descriptor, 0, 0, POSIX_FADV_DONTNEED) == 0)
            result = try self.readNow(file, 100, at: 0).result
        }
        #expect(result == .wouldWait || result == .unsupported)
        // Once they were waited for, they are there.
        var bytes = [UInt8](repeating: 0, count: 100)
        #expect(try bytes.withUnsafeMutableBytes { try file.read(into: $0, at: 0) } == 100)
        #expect(bytes == Array(self.content.prefix(100)))
    }

    /// The file system in memory may not know the flag (it does not in Linux 6.18), and never waits.
    @Test func aFileSystemInMemoryIsUnsupportedOrReads() throws {
        let path = "/dev/shm/BlobStreams-\(UUID())"
        guard let writer = try? File(path, O_WRONLY | O_CREAT | O_EXCL) else { return }
        defer {
            writer.close()
            unlink(path)
        }
        try writer.write(self.content)
        let file = try self.descriptor(of: path)
        let (result, bytes) = try self.readNow(file, 100, at: 5000)
        #expect(result == .unsupported || bytes == Array(self.content[5000..<5100]))
        // It stays so, and the file reads as any other.
        #expect(try self.readNow(file, 100, at: 0).result == result)
    }

    @Test func aPipeHasNoOffsets() throws {
        try self.folder.makeFIFO("fifo")
        let file = try self.descriptor(of: self.folder.path("fifo"))
        let error = try #require(throws: BlobError.self) { try self.readNow(file, 10, at: 0) }
        #expect(error.systemErrorNumber == ESPIPE)
    }
}
#endif
