import BlobCore

extension BlobByteStream {
    /// Returns all bytes of a small member, whose checks at the end are made too.
    ///
    /// - Parameter byteCount: The number of bytes that there are at most.
    func bytes(atMost byteCount: Int) throws(BlobError) -> [UInt8] {
        do {
            return try [UInt8](unsafeUninitializedCapacity: byteCount + 1) { buffer, count in
                let buffer = UnsafeMutableRawBufferPointer(buffer)
                var output = OutputRawSpan(buffer: buffer, initializedCount: 0)
                while try self.read(at: Int64(output.byteCount), into: &output) == .bytes {}
                count = output.finalize(for: buffer)
            }
        } catch {
            throw BlobError(wrapping: error)
        }
    }
}
