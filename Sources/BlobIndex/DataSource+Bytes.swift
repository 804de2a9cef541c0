package import BlobCore

extension BlobInputStreamDataSource {
    /// Returns bytes from an offset on; fewer only at the end.
    package func bytes(
        at byteOffset: Int64, count: Int, matching validator: BlobValidator?, _ context: BlobContext
    ) throws(BlobError) -> [UInt8] {
        let reader = try self.open(at: byteOffset, matching: validator, context: context)
        defer { reader.close() }
        return try reader.bytes(atMost: count)
    }
}

extension BlobError {
    /// True if the bytes themselves caused the error, rather than the access to them.
    package var isAboutContent: Bool {
        [.corrupted, .truncated, .checksumMismatch, .sizeMismatch, .trailingData, .unsupported, .limitExceeded]
            .contains(self.code)
    }
}
