internal import BlobCore
import BlobDeflate
import BlobPlatform

/// An index file that is open for reading.
///
/// Reads take an offset, so that threads can share the descriptor. The file is not mapped, because accessing the
/// mapping of a truncated file ends the process.
final class IndexDescriptor: Sendable {
    private let descriptor: CInt
    let status: stat

    /// Opens a file that the user named, following links.
    ///
    /// - Throws: ``BlobError/Code/notFound``, and other errors of `open(2)`.
    convenience init(path: String) throws(BlobError) {
        // O_NONBLOCK, because opening a FIFO at this path must not block.
        try self.init(opened: uninterrupted { open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) }, path)
    }

    /// Opens a file in a folder, without following links.
    convenience init(named name: String, in folder: CInt) throws(BlobError) {
        try self.init(
            opened: uninterrupted { openat(folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW) }, name)
    }

    private init(opened descriptor: CInt, _ path: String) throws(BlobError) {
        guard descriptor >= 0 else { throw BlobError(systemError: errno, doing: "Could not open the index \(path)") }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            let error = BlobError(systemError: errno, doing: "Could not look at the index")
            close(descriptor)
            throw error
        }
        (self.descriptor, self.status) = (descriptor, status)
    }

    deinit { close(self.descriptor) }

    var isRegular: Bool { self.status.st_mode & S_IFMT == S_IFREG }
    var byteCount: Int64 { Int64(self.status.st_size) }

    /// True when the file belongs to the effective user of this process.
    var isOwn: Bool { self.status.st_uid == geteuid() }

    /// Returns the bytes at `byteOffset`.
    ///
    /// - Throws: ``BlobError/Code/corrupted`` when the file ends before, and errors of `pread(2)`.
    func read(at byteOffset: Int64, count: Int) throws(BlobError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        let filled = try bytes.withMutableBytes { buffer throws(BlobError) in
            try RegularFile.fill(buffer, from: self.descriptor, at: byteOffset, named: "the index")
        }
        guard filled == count else {
            throw BlobError(.corrupted, "The index ends too early.", byteOffset: byteOffset + Int64(filled))
        }
        return bytes
    }

    /// Calls `body` with the bytes of `range` in order, at most ``chunkByteCount`` at a time.
    func forEachChunk(in range: Range<Int64>, _ body: ([UInt8]) throws(BlobError) -> Void) throws(BlobError) {
        var byteOffset = range.lowerBound
        while byteOffset < range.upperBound {
            let count = min(range.upperBound - byteOffset, Self.chunkByteCount)
            try body(try self.read(at: byteOffset, count: Int(count)))
            byteOffset += count
        }
    }

    private static let chunkByteCount: Int64 = 256 * 1024

    /// Returns the CRC-32 of the bytes of `range`.
    func checksum(of range: Range<Int64>) throws(BlobError) -> UInt32 {
        var sum = CRC32()
        try self.forEachChunk(in: range) { chunk throws(BlobError) in chunk.withUnsafeBytes { sum.update($0) } }
        return sum.value
    }

    /// Sets the times of the file to now, at most once an hour.
    ///
    /// Surplus files are removed in the order of their last use, which many file systems do not record.
    func markUsed() {
        guard Int64(time(nil)) - self.status.lastUse / 1_000_000_000 > Self.useInterval else { return }
        _ = futimens(self.descriptor, nil)
    }

    /// The shortest time between two updates, in seconds.
    private static let useInterval: Int64 = 3600
}
