import BlobCore

extension BlobInputStreamDataSource {
    /// Returns the first bytes, fewer only when the source has fewer.
    func beginning(_ byteCount: Int, _ context: BlobContext) throws(BlobError) -> [UInt8] {
        let reader = try self.open(context: context)
        defer { reader.close() }
        return try reader.next(byteCount)
    }
}

extension BlobReader {
    /// Returns the next bytes, fewer only at the end.
    func next(_ byteCount: Int) throws(BlobError) -> [UInt8] {
        do {
            return try [UInt8](unsafeUninitializedCapacity: byteCount) { buffer, count in
                while count < byteCount {
                    let rest = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[count...])
                    let more = try self.readWaiting(into: rest)
                    if more == 0 { break }
                    count += more
                }
            }
        } catch {
            throw BlobError(wrapping: error)
        }
    }

    /// Returns the info before the first read; while an event-driven reader is still opening, the info of its source
    /// `base`.
    func info(of base: any BlobInputStreamDataSource, _ context: BlobContext) throws(BlobError) -> BlobInfo {
        self.isOpen ? self.info : try base.info(context)
    }
}
