public import BlobPlatform

extension BlobInputStreamDataSource {
    /// Writes all bytes to a file: all of them or none.
    ///
    /// The bytes go to a new file beside `url`, which is synchronised to the disk and takes the name in the end; on any
    /// error it is removed and what had the name stays. A name that stands for something else than a regular file (a
    /// pipe, a device) is written to directly. Peak memory is one buffer of ``BlobChunks/defaultByteCount``.
    ///
    /// - Parameters:
    ///   - url: A file URL (`isFileURL`); its folder must exist.
    ///   - context: The terms.
    /// - Returns: How many bytes were written.
    /// - Throws: ``BlobError``: what reading throws, or ``BlobError/Code/io`` with the `errno` of the disk.
    @discardableResult
    public func write(to url: URL, context: BlobContext = BlobContext()) throws(BlobError) -> Int64 {
        precondition(url.isFileURL, "Bytes are written to files.")
        let reader = try self.open(context: context.blocking)
        defer { reader.close() }
        let file = try AtomicFile(path: url.path)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: BlobChunks.defaultByteCount, alignment: 4096)
        defer { buffer.deallocate() }
        do {
            while case let count = try reader.readWaiting(into: buffer), count > 0 {
                try file.write(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            }
        } catch {
            throw BlobError(wrapping: error)
        }
        try file.commit()
        return reader.byteOffset
    }

    /// Writes all bytes to a file without blocking the task's thread; otherwise as the blocking form.
    @discardableResult
    public func write(to url: URL, context: BlobContext = BlobContext()) async throws -> Int64 {
        try await offCooperativePool(context) { context throws(BlobError) -> Int64 in
            try self.write(to: url, context: context)
        }
    }
}
