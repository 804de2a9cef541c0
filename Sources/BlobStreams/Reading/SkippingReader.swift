/// Reads and drops the bytes before an offset: what sources without random access open at one.
///
/// An offset past the end throws ``BlobError/Code/invalidArgument`` from the read that meets the end.
public final class SkippingReader: BlobReader {
    private let inner: any BlobReader
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
        self.inner = inner
        self.byteOffset = innerByteOffset + bytesToSkip
        self.skipped = BytesToSkip(bytesToSkip)
    }

    /// That of the inner reader.
    public var info: BlobInfo { self.inner.info }

    /// That of the inner reader.
    public var isOpen: Bool { self.inner.isOpen }

    /// That of the inner reader.
    public var neverBlocks: Bool { self.inner.neverBlocks }

    /// Drops what is to be dropped, then reads.
    public func read(into output: inout OutputRawSpan) throws -> BlobReadResult {
        if let failure { throw failure }
        do {
            let skipping = try self.skipped.drop(using: &output, before: self.byteOffset) {
                try self.inner.read(into: &$0)
            }
            if let skipping { return skipping }
        } catch {
            self.failure = error
            throw error
        }
        return try self.inner.read(into: &output)
    }

    /// Passed on to the inner reader.
    public func whenReadable(_ waker: BlobWaker) { self.inner.whenReadable(waker) }

    /// Closes the inner reader.
    public func close() { self.inner.close() }
}
