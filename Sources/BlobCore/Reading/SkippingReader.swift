/// Reads and drops the bytes before an offset: what sources without random access open at one.
///
/// An offset past the end throws ``BlobError/Code/invalidArgument`` from the read that meets the end.
final class SkippingReader: ForwardingReader {
    let base: any BlobReader
    private let byteOffset: Int64
    private var skipped: BytesToSkip
    private var failure: (any Error)?

    /// Creates a reader that drops the first bytes of `inner`.
    ///
    /// - Parameters:
    ///   - inner: A reader at the start of the blob; this one owns it now.
    ///   - bytesToSkip: How many bytes to drop, from 0.
    ///   - innerByteOffset: Where in the blob the inner reader begins; for messages.
    init(_ inner: any BlobReader, bytesToSkip: Int64, from innerByteOffset: Int64 = 0) {
        self.base = inner
        self.byteOffset = innerByteOffset + bytesToSkip
        self.skipped = BytesToSkip(bytesToSkip)
    }

    /// Drops what is to be dropped, then reads.
    func read(into output: inout OutputRawSpan) throws -> BlobReadResult {
        if let failure { throw failure }
        do {
            let skipping = try self.skipped.drop(using: &output, before: self.byteOffset) {
                try self.base.read(into: &$0)
            }
            if let skipping { return skipping }
        } catch {
            self.failure = error
            throw error
        }
        return try self.base.read(into: &output)
    }
}

extension BlobReader {
    /// Returns a reader that drops the first bytes of this one, which it owns: sources without random access open at an
    /// offset with it.
    ///
    /// An offset past the end throws ``BlobError/Code/invalidArgument`` from the read that meets the end.
    ///
    /// - Parameters:
    ///   - byteCount: The number of bytes to drop, from 0.
    ///   - byteOffset: The offset of this reader's first byte from the start of the blob, for messages.
    public func skipping(_ byteCount: Int64, from byteOffset: Int64 = 0) -> any BlobReader {
        byteCount == 0 ? self : self.skipping(byteCount, from: byteOffset)
    }
}
