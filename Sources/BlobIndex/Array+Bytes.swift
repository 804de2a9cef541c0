package import BlobCore

extension [UInt8] {
    /// Calls `withUnsafeBytes(_:)` with a body that throws a ``BlobError``.
    package func withBytes<Result>(
        _ body: (UnsafeRawBufferPointer) throws(BlobError) -> Result
    ) throws(BlobError) -> Result {
        do { return try self.withUnsafeBytes(body) } catch { throw BlobError(wrapping: error) }
    }

    /// Calls `withUnsafeMutableBytes(_:)` with a body that throws a ``BlobError``.
    package mutating func withMutableBytes<Result>(
        _ body: (UnsafeMutableRawBufferPointer) throws(BlobError) -> Result
    ) throws(BlobError) -> Result {
        do { return try self.withUnsafeMutableBytes(body) } catch { throw BlobError(wrapping: error) }
    }
}
