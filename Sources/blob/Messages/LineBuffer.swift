import BlobPlatform
import BlobStreamsStandard

/// A buffer of lines for standard output.
final class LineBuffer {
    private static let byteCount = 64 * 1024
    private var buffer: [UInt8] = []

    func print(_ line: String) throws {
        self.buffer.append(contentsOf: line.utf8)
        self.buffer.append(UInt8(ascii: "\n"))
        if self.buffer.count >= Self.byteCount { try self.flush() }
    }

    func flush() throws {
        try self.buffer.withUnsafeBytes { try writeAll($0, to: STDOUT_FILENO, named: "standard output") }
        self.buffer.removeAll(keepingCapacity: true)
    }
}
