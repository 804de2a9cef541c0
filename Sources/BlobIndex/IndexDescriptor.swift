internal import BlobCore
import BlobDeflate
import BlobPlatform

/// An index file that is open for reading.
///
/// Reads take an offset, so that threads can share the descriptor. The file is not mapped, because accessing the
/// mapping of a truncated file ends the process.
final class IndexDescriptor: Sendable {
    private let file: Descriptor
    let status: FileStatus

    /// Opens a file in a folder without following links; without a folder, opens a file that the user named and follows
    /// links.
    ///
    /// - Throws: ``BlobError/Code/notFound``, and other errors of `open(2)`.
    init(_ path: String, in folder: Descriptor? = nil) throws(BlobError) {
        // O_NONBLOCK, because opening a FIFO at this path must not block.
        let flags = O_RDONLY | O_NONBLOCK | (folder == nil ? 0 : O_NOFOLLOW)
        self.file = try Descriptor(
            path, flags, in: folder?.rawValue ?? AT_FDCWD, doing: "Could not open the index \(path)")
        self.status = try self.file.status(named: "the index")
    }

    var byteCount: Int64 { self.status.byteCount }

    /// Returns the bytes at `byteOffset`.
    ///
    /// - Throws: ``BlobError/Code/corrupted`` if the file is too short; errors of `pread(2)`.
    func read(at byteOffset: Int64, count: Int) throws(BlobError) -> [UInt8] {
        let bytes = try self.file.bytes(at: byteOffset, count: count, named: "the index")
        guard bytes.count == count else {
            throw BlobError(.corrupted, "The index ends too early.", byteOffset: byteOffset + Int64(bytes.count))
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

    /// Sets the times of the file to the current time, at most once an hour.
    ///
    /// Surplus files are removed in the order of their last use, which many file systems do not record.
    func markUsed() {
        guard Int64(time(nil)) - self.status.lastUse / 1_000_000_000 > Self.useInterval else { return }
        _ = futimens(self.file.rawValue, nil)
    }

    /// The shortest time between two updates, in seconds.
    private static let useInterval: Int64 = 3600
}
