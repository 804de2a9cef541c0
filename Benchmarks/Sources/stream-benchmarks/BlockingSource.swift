import BlobStreams
import Foundation

/// Sources whose reads block the thread that they run on.
enum BlockingSource {
    /// Returns a source that reads the benchmark file with `pread(2)`.
    static func file() throws -> any BlobInputStreamDataSource {
        let file = try FileHandle(forReadingFrom: URL(filePath: FileToRead.path()))
        return self.source(byteCount: Int64(FileToRead.byteCount)) { offset, buffer in
            pread(file.fileDescriptor, buffer.baseAddress, buffer.count, off_t(offset))
        }
    }

    /// Returns an empty source that ends when `gate` opens.
    static func stalled(by gate: Gate) -> any BlobInputStreamDataSource {
        self.source(byteCount: nil) { _, _ in
            gate.pass()
            return 0
        }
    }

    /// - Parameter read: Reads at an offset and returns the number of bytes read, 0 at the end.
    private static func source(
        byteCount: Int64?, _ read: @escaping @Sendable (Int64, UnsafeMutableRawBufferPointer) -> Int
    ) -> any BlobInputStreamDataSource {
        ClosureSource(info: BlobInfo(byteCount: byteCount)) { offset, output, _ in
            output.withUnsafeMutableBytes { buffer, initializedCount in
                initializedCount += read(offset, UnsafeMutableRawBufferPointer(rebasing: buffer[initializedCount...]))
            }
        }
    }
}

/// A gate that blocks threads until it is opened.
final class Gate: Sendable {
    private let condition = NSCondition()
    private nonisolated(unsafe) var state = (isOpen: false, waiterCount: 0)  // Protected by the condition's lock.

    /// The number of threads that are currently blocked.
    var waiterCount: Int { self.condition.withLock { self.state.waiterCount } }

    func pass() {
        self.condition.withLock {
            self.state.waiterCount += 1
            while !self.state.isOpen { self.condition.wait() }
            self.state.waiterCount -= 1
        }
    }

    func open() {
        self.condition.withLock {
            self.state.isOpen = true
            self.condition.broadcast()
        }
    }
}
