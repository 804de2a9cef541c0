import BlobPlatform

/// A temporary file without a name, which is removed when its last owner releases it.
///
/// One owner appends to it; afterwards any number of owners may read it.
package final class UnlinkedFile: @unchecked Sendable {  // Safe: `byteCount` changes only while there is one owner.
    private let file: Descriptor

    /// The number of bytes appended.
    package private(set) var byteCount: Int64 = 0

    private static let chunkByteCount = 256 * 1024

    /// Creates an empty file in the folder for temporary files.
    package init() throws(BlobError) {
        let folder = FileManager.default.temporaryDirectory.path
        // Not `mkstemp(3)`: a child process started meanwhile would inherit its descriptor.
        let path = "\(folder)/blob-spool-\(String(UInt64.random(in: 0 ... .max), radix: 36))"
        self.file = try Descriptor(
            path, O_RDWR | O_CREAT | O_EXCL, permissions: 0o600, doing: "Could not create a temporary file in \(folder)"
        )
        unlink(path)
    }

    package func append(_ bytes: UnsafeRawBufferPointer) throws(BlobError) {
        try writeAll(bytes, to: self.file.rawValue, named: "the temporary file")
        self.byteCount += Int64(bytes.count)
    }

    /// Reads at least one byte at an offset before the end.
    ///
    /// - Throws: ``BlobError/Code/truncated`` at the end, and errors of reading.
    package func read(into output: inout OutputRawSpan, at byteOffset: Int64) throws(BlobError) {
        try output.withUnsafeMutableBytes { buffer, initializedCount throws(BlobError) in
            let free = UnsafeMutableRawBufferPointer(rebasing: buffer[initializedCount...])
            let count = try self.file.read(into: free, at: byteOffset, named: "the temporary file")
            guard count > 0 else { throw BlobError(.truncated, "The temporary file ends too early.") }
            initializedCount += count
        }
    }

    /// Passes all bytes to `sink`, in order.
    package func forEachChunk(_ sink: (UnsafeRawBufferPointer) throws(BlobError) -> Void) throws(BlobError) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.chunkByteCount, alignment: 4096)
        defer { buffer.deallocate() }
        var byteOffset: Int64 = 0
        while byteOffset < self.byteCount {
            var output = OutputRawSpan(buffer: buffer, initializedCount: 0)
            try self.read(into: &output, at: byteOffset)
            let count = output.finalize(for: buffer)
            try sink(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            byteOffset += Int64(count)
        }
    }
}
