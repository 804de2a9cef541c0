/// Reads and drops the bytes before an offset: what sources without random access open at one.
///
/// An offset past the end throws ``BlobError/Code/invalidArgument`` from the read that meets the end.
public final class SkippingReader: BlobReader {
    private let inner: any BlobReader
    private let byteOffset: Int64
    private let derived: DerivedReadiness?
    private var bytesToSkip: Int64
    private var failure: BlobError?

    /// Creates a reader that drops the first bytes of `inner`.
    ///
    /// - Parameters:
    ///   - inner: A reader at the start of the blob; this one owns it now.
    ///   - bytesToSkip: How many bytes to drop, from 0.
    public init(_ inner: any BlobReader, bytesToSkip: Int64) {
        self.inner = inner
        self.byteOffset = bytesToSkip
        self.bytesToSkip = bytesToSkip
        // With nothing to skip the inner reader has the last word on the end.
        self.derived = bytesToSkip > 0 ? DerivedReadiness(following: inner) : nil
    }

    /// That of the inner reader.
    public var info: BlobInfo { self.inner.info }
    /// That of the inner reader, whose end shows only once enough bytes were dropped.
    public var readiness: BlobObservable<BlobReaderState>? { self.derived?.state ?? self.inner.readiness }

    /// Drops what is to be dropped, then reads.
    public func read(into output: inout OutputRawSpan) throws {
        if let failure { throw failure }
        while self.bytesToSkip > 0 {
            // The caller's own memory takes the bytes that are dropped.
            let skipped = try output.append(atMost: Int(clamping: self.bytesToSkip)) { try self.inner.read(into: &$0) }
            output.removeLast(skipped)
            self.bytesToSkip -= Int64(skipped)
            guard skipped == 0 else { continue }
            self.derived?.refresh()
            if let state = self.inner.readiness?.value, !state.isAtEnd { return }
            let end = self.byteOffset - self.bytesToSkip
            let failure = BlobError(
                .invalidArgument, "The offset \(self.byteOffset) is past the end of \(end) bytes.")
            self.failure = failure
            self.derived?.fail(failure)
            throw failure
        }
        let count = try output.append(atMost: .max) { try self.inner.read(into: &$0) }
        self.derived?.refresh()
        if count == 0, self.inner.readiness?.value.isAtEnd ?? true { self.derived?.end() }
    }

    /// Closes the inner reader.
    public func close() {
        self.derived?.stop()
        self.inner.close()
    }
}
