internal import BlobStreams
import Foundation

/// An index file that is open for reading. Reads have offsets, so that threads can share it; nothing is mapped, because a
/// map of a file that somebody cuts ends the process.
final class IndexDescriptor: Sendable {
    private let descriptor: CInt
    let status: stat

    /// - Throws: ``BlobError/Code/notFound`` and what else `open(2)` brings.
    init(path: String) throws(BlobError) {
        // Somebody's FIFO in the place of an index must not make this wait.
        self.descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard self.descriptor >= 0 else { throw BlobError(systemError: errno, doing: "Could not open \(path)") }
        var status = stat()
        guard fstat(self.descriptor, &status) == 0 else {
            let error = BlobError(systemError: errno, doing: "Could not look at \(path)")
            close(self.descriptor)
            throw error
        }
        self.status = status
    }

    deinit { close(self.descriptor) }

    var isRegular: Bool { self.status.st_mode & S_IFMT == S_IFREG }
    var byteCount: Int64 { Int64(self.status.st_size) }

    /// Fills `buffer`.
    ///
    /// - Throws: ``BlobError/Code/corrupted`` when the file ends before.
    func read(at byteOffset: Int64, into buffer: UnsafeMutableRawBufferPointer) throws(BlobError) {
        var filled = 0
        while filled < buffer.count {
            let count = pread(
                self.descriptor, buffer.baseAddress?.advanced(by: filled), buffer.count - filled,
                off_t(byteOffset) + off_t(filled))
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw BlobError(systemError: errno, doing: "Could not read the index") }
            guard count > 0 else {
                throw BlobError(.corrupted, "The index ends too early.", byteOffset: byteOffset + Int64(filled))
            }
            filled += count
        }
    }

    func read(at byteOffset: Int64, count: Int) throws(BlobError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        try bytes.withMutableBytes { buffer throws(BlobError) in try self.read(at: byteOffset, into: buffer) }
        return bytes
    }

    /// Notes that the file was used, for the choice of those that go. Many file systems do not do so by themselves, and
    /// once an hour is enough.
    func markUsed() {
        guard time(nil) - self.status.lastUse.tv_sec > Self.useInterval else { return }
        _ = futimens(self.descriptor, nil)
    }

    /// In seconds.
    private static let useInterval = 3600
}
