import Foundation

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
    ///   - innerByteOffset: Where in the blob the inner reader begins; for messages.
    public init(_ inner: any BlobReader, bytesToSkip: Int64, from innerByteOffset: Int64 = 0) {
        self.inner = inner
        self.byteOffset = innerByteOffset + bytesToSkip
        self.bytesToSkip = bytesToSkip
        // With nothing to skip the inner reader has the last word on the end.
        self.derived = bytesToSkip > 0 ? DerivedReadiness(following: inner) : nil
    }

    /// That of the inner reader.
    public var info: BlobInfo { self.inner.info }
    /// That of the inner reader, whose end shows only once enough bytes were dropped.
    public var readiness: BlobObservable<BlobReaderState>? { self.derived?.state ?? self.inner.readiness }

    /// Passed on from the inner reader.
    public func property(forKey key: Stream.PropertyKey) -> Any? { self.inner.property(forKey: key) }

    /// Passed on to the inner reader.
    public func setProperty(_ value: Any?, forKey key: Stream.PropertyKey) -> Bool {
        self.inner.setProperty(value, forKey: key)
    }

    /// Drops what is to be dropped, then reads.
    public func read(into output: inout OutputRawSpan) throws {
        if let failure { throw failure }
        while self.bytesToSkip > 0 {
            let skipped = try self.skip(using: &output)
            self.bytesToSkip -= Int64(skipped)
            guard skipped == 0 else { continue }
            self.derived?.refresh(afterReading: 0)
            if let state = self.inner.readiness?.value, !state.isAtEnd { return }
            let end = self.byteOffset - self.bytesToSkip
            let failure = BlobError(
                .invalidArgument, "The offset \(self.byteOffset) is past the end of \(end) bytes.")
            self.failure = failure
            self.derived?.fail(failure)
            throw failure
        }
        let count = try output.append(atMost: .max) { try self.inner.read(into: &$0) }
        self.derived?.refresh(afterReading: count)
        if count == 0, self.inner.readiness?.value.isAtEnd ?? true { self.derived?.end() }
    }

    /// One read of bytes that are dropped: into the caller's own memory, unless there is little of it.
    private func skip(using output: inout OutputRawSpan) throws -> Int {
        let wanted = Int(clamping: self.bytesToSkip)
        guard output.freeCapacity < min(wanted, Self.sufficientByteCount) else {
            let skipped = try output.append(atMost: wanted) { try self.inner.read(into: &$0) }
            output.removeLast(skipped)
            return skipped
        }
        return try withUnsafeTemporaryAllocation(
            byteCount: min(wanted, BlobPipe.defaultCapacity), alignment: 16
        ) { try self.inner.read(into: $0) }
    }

    /// From here on a call is cheap beside the bytes that it moves.
    private static let sufficientByteCount = 4096

    /// Closes the inner reader.
    public func close() {
        self.derived?.stop()
        self.inner.close()
    }
}
