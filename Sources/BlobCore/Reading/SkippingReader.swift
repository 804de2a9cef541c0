/// Reads and drops the bytes before an offset: what sources without random access open at one.
///
/// An offset past the end throws ``BlobError/Code/invalidArgument`` from the read that meets the end.
public final class SkippingReader: ForwardingReader {
    package let base: any BlobReader
    private let byteOffset: Int64
    private var skipped: BytesToSkip
    private var failure: (any Error)?

    /// Creates a reader that drops the first bytes of `inner`.
    ///
    /// - Parameters:
    ///   - inner: A reader at the start of the blob; this one owns it now.
    ///   - bytesToSkip: How many bytes to drop, from 0.
    ///   - innerByteOffset: Where in the blob the inner reader begins; for messages.
    public init(_ inner: any BlobReader, bytesToSkip: Int64, from innerByteOffset: Int64 = 0) {
        self.base = inner
        self.byteOffset = innerByteOffset + bytesToSkip
        self.skipped = BytesToSkip(bytesToSkip)
    }

    /// Drops what is to be dropped, then reads.
    public func read(into output: inout OutputRawSpan) throws -> BlobReadResult {
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
