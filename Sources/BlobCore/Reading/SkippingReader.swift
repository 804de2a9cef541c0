/// A reader that drops the bytes before an offset, for sources without random access.
///
/// With an offset past the end, the read that reaches the end throws ``BlobError/Code/invalidArgument``.
final class SkippingReader: ForwardingReader {
    let base: any BlobPluginReader
    private let byteOffset: Int64
    private var skipped: BytesToSkip
    private var failure: (any Error)?

    /// Creates a reader that drops the first bytes of `inner`.
    ///
    /// - Parameters:
    ///   - inner: The reader to read from, which this one owns from now on.
    ///   - bytesToSkip: The number of bytes to drop, from 0.
    ///   - innerByteOffset: The offset in the blob at which `inner` begins, for messages.
    init(_ inner: any BlobPluginReader, bytesToSkip: Int64, from innerByteOffset: Int64 = 0) {
        self.base = inner
        self.byteOffset = innerByteOffset + bytesToSkip
        self.skipped = BytesToSkip(bytesToSkip)
    }

    /// Drops the bytes that are left to skip, then reads.
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

extension BlobPluginReader {
    /// Returns a reader that drops the first bytes of this one, which it owns; for sources without random access.
    ///
    /// With an offset past the end, the read that reaches the end throws ``BlobError/Code/invalidArgument``.
    ///
    /// - Parameters:
    ///   - byteCount: The number of bytes to drop, from 0.
    ///   - byteOffset: The offset of this reader's first byte from the start of the blob, for messages.
    public func skipping(_ byteCount: Int64, from byteOffset: Int64 = 0) -> any BlobPluginReader {
        byteCount == 0 ? self : SkippingReader(self, bytesToSkip: byteCount, from: byteOffset)
    }
}
