import BlobIndex
import BlobStreams

/// Bytes that are gathered in memory while they are few, and in a temporary file without a name once they are not.
struct SpillBuffer {
    /// From here on in the file, in bytes.
    private static let memoryLimit = 4 << 20

    private var memory: [UInt8] = []
    private var file: UnlinkedFile?

    /// How many bytes there are.
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

    /// Gives all bytes to `sink`, from the first.
    func forEachChunk(_ sink: (UnsafeRawBufferPointer) throws(BlobError) -> Void) throws(BlobError) {
        try self.file?.forEachChunk(sink)
        try self.memory.withBytes { bytes throws(BlobError) in try sink(bytes) }
    }
}
