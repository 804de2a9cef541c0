package import BlobStreams

extension [UInt8] {
    /// As `withUnsafeBytes(_:)`, with the type of the error.
    package func withBytes<Result>(
        _ body: (UnsafeRawBufferPointer) throws(BlobError) -> Result
    ) throws(BlobError) -> Result {
        do { return try self.withUnsafeBytes(body) } catch { throw BlobError(wrapping: error) }
    }

    /// As `withUnsafeMutableBytes(_:)`, with the type of the error.
    package mutating func withMutableBytes<Result>(
        _ body: (UnsafeMutableRawBufferPointer) throws(BlobError) -> Result
    ) throws(BlobError) -> Result {
        do { return try self.withUnsafeMutableBytes(body) } catch { throw BlobError(wrapping: error) }
    }
}
