import BlobInflate
internal import BlobStreams

/// Writes an index file from its front, counts and sums.
struct IndexOutput: ~Copyable {
    private let file: AtomicFile
    private let maximumByteCount: Int64
    private var buffer: [UInt8] = []
    private(set) var byteOffset: Int64 = 0
    private var sum = CRC32()

    /// How much is gathered before it is written.
    private static let bufferByteCount = 64 * 1024

    init(_ file: AtomicFile, maximumByteCount: Int64) {
        self.file = file
        self.maximumByteCount = maximumByteCount
        self.buffer.reserveCapacity(Self.bufferByteCount)
    }

    /// Whether so many bytes more stay within the limit.
    func hasRoom(for byteCount: Int64) -> Bool { byteCount <= self.maximumByteCount - self.byteOffset }

    /// - Throws: ``BlobError/Code/limitExceeded``, and what writing brings.
    mutating func append(_ bytes: UnsafeRawBufferPointer) throws(BlobError) {
        guard self.hasRoom(for: Int64(bytes.count)) else {
            throw BlobError(
                .limitExceeded, "The index is larger than the limit of \(self.maximumByteCount) bytes.",
                operation: .write)
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

    /// Appends what `body` does; returns where, and the checksum.
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
