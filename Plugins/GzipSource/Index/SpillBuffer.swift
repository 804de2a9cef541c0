import BlobCore
internal import BlobIndex

/// A buffer of bytes that moves them from memory to an unlinked temporary file when they are many.
struct SpillBuffer {
    /// The number of bytes above which they are moved to the file.
    private static let memoryLimit = 4 << 20

    private var memory: [UInt8] = []
    private var file: UnlinkedFile?

    /// The number of bytes.
    var byteCount: Int64 { (self.file?.byteCount ?? 0) + Int64(self.memory.count) }

    mutating func append(_ bytes: [UInt8]) throws(BlobError) {
        self.memory += bytes
        guard self.memory.count > Self.memoryLimit else { return }
        let file: UnlinkedFile
        if let already = self.file { file = already } else { file = try UnlinkedFile() }
        self.file = file
        try self.memory.withBytes { bytes throws(BlobError) in try file.append(bytes) }
        self.memory.removeAll(keepingCapacity: true)
    }

    /// Calls `sink` with all bytes in order.
    func forEachChunk(_ sink: (UnsafeRawBufferPointer) throws(BlobError) -> Void) throws(BlobError) {
        try self.file?.forEachChunk(sink)
        try self.memory.withBytes { bytes throws(BlobError) in try sink(bytes) }
    }
}
