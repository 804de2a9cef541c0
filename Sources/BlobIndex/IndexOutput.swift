internal import BlobCore
import BlobDeflate

/// A buffered output to an index file, which counts its bytes and computes checksums.
struct IndexOutput: ~Copyable {
    private let file: AtomicFile
    private let maximumByteCount: Int64
    private var buffer: [UInt8] = []
    private(set) var byteOffset: Int64 = 0
    private var sum = CRC32()

    /// The size of the buffer, in bytes.
    private static let bufferByteCount = 64 * 1024

    init(_ file: AtomicFile, maximumByteCount: Int64) {
        self.file = file
        self.maximumByteCount = maximumByteCount
        self.buffer.reserveCapacity(Self.bufferByteCount)
    }

    /// Returns true when `byteCount` more bytes stay within the limit.
    func hasRoom(for byteCount: Int64) -> Bool { byteCount <= self.maximumByteCount - self.byteOffset }

    /// Appends bytes.
    ///
    /// - Throws: ``BlobError/Code/limitExceeded``, and errors of writing.
    mutating func append(_ bytes: UnsafeRawBufferPointer) throws(BlobError) {
        guard self.hasRoom(for: Int64(bytes.count)) else {
            throw BlobError(
                .limitExceeded, "The index is larger than the limit of \(self.maximumByteCount) bytes.",
                operation: "write")
        }
        self.byteOffset += Int64(bytes.count)
        self.sum.update(bytes)
        if self.buffer.count + bytes.count > Self.bufferByteCount { try self.flush() }
        if bytes.count > Self.bufferByteCount {
            try self.file.write(bytes)
        } else {
            self.buffer.append(contentsOf: bytes)
        }
    }

    mutating func append(_ bytes: [UInt8]) throws(BlobError) {
        try bytes.withBytes { bytes throws(BlobError) in try self.append(bytes) }
    }

    /// Appends the bytes that `body` appends; returns their offset, their number and their CRC-32.
    mutating func section(
        _ body: (inout IndexOutput) throws(BlobError) -> Void
    ) throws(BlobError) -> (byteOffset: Int64, byteCount: Int64, checksum: UInt32) {
        let start = self.byteOffset
        self.sum = CRC32()
        try body(&self)
        return (start, self.byteOffset - start, self.sum.value)
    }

    mutating func flush() throws(BlobError) {
        try self.buffer.withBytes { bytes throws(BlobError) in try self.file.write(bytes) }
        self.buffer.removeAll(keepingCapacity: true)
    }
}
