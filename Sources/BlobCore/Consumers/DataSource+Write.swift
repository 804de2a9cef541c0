public import BlobPlatform

extension BlobInputStreamDataSource {
    /// Writes all bytes to a file, or none of them.
    ///
    /// The bytes are written to a new file beside `url`, which is synchronised to the disk and renamed at the end; on
    /// any error it is removed and an existing file stays unchanged. If `url` names something other than a regular file
    /// (a pipe, a device), the bytes are written to it directly. Peak memory is one buffer of 128 KiB.
    ///
    /// - Parameters:
    ///   - url: A file URL (`isFileURL`); its folder must exist.
    ///   - context: The context of the job.
    /// - Returns: The number of bytes written.
    /// - Throws: ``BlobError``: the errors of reading, or ``BlobError/Code/io`` with the `errno` of the disk.
    @discardableResult
    public func write(to url: URL, context: BlobContext = BlobContext()) throws(BlobError) -> Int64 {
        precondition(url.isFileURL, "Bytes are written to files.")
        let reader = try self.open(context: context.blocking)
        defer { reader.close() }
        let file = try AtomicFile(path: url.path, context)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 128 * 1024, alignment: 4096)
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
