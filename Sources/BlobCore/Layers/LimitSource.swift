import BlobPlatform

/// A layer that throws for a blob of more than a number of bytes.
package struct LimitSource: ForwardingSource {
    package let base: any BlobInputStreamDataSource
    private let maximumByteCount: Int64

    package init(_ base: any BlobInputStreamDataSource, maximumByteCount: Int64) {
        precondition(maximumByteCount >= 0, "A number of bytes is not negative.")
        self.base = base
        self.maximumByteCount = maximumByteCount
    }

    package func reader(
        at byteOffset: Int64, matching validator: BlobValidator?, _ context: BlobContext
    ) throws -> any BlobPluginReader {
        let reader = try self.base.open(at: byteOffset, matching: validator, context: context)
        return LimitReader(reader, at: byteOffset, self.maximumByteCount)
    }
}

private final class LimitReader: ForwardingReader {
    let base: any BlobPluginReader
    private let maximumByteCount: Int64
    private var byteOffset: Int64
    private var failure: BlobError?

    init(_ base: any BlobPluginReader, at byteOffset: Int64, _ maximumByteCount: Int64) {
        (self.base, self.byteOffset, self.maximumByteCount) = (base, byteOffset, maximumByteCount)
    }

    func read(into output: inout OutputRawSpan) throws -> BlobReadResult {
        if let failure { throw failure }
        if self.base.isOpen, let byteCount = self.base.info.byteCount, byteCount > self.maximumByteCount {
            throw self.fail("The blob has \(byteCount) bytes")
        }
        // One byte more than the limit is asked for: without it, the end is not known.
        let room = Int(clamping: max(self.maximumByteCount - self.byteOffset, 0)).addingReportingOverflow(1)
        let start = output.byteCount
        let result = try self.base.read(into: &output, atMost: room.overflow ? .max : room.partialValue)
        let count = output.byteCount - start
        self.byteOffset += Int64(count)
        guard result != .notYet, self.byteOffset > self.maximumByteCount else { return result }
        // One byte, unless the first was behind the limit already, or there is none, at the end.
        output.removeLast(min(count, Int(clamping: self.byteOffset - self.maximumByteCount)))
        let error = self.fail("The blob has more bytes")
        if output.byteCount == start { throw error }
        return .bytes
    }

    private func fail(_ fact: String) -> BlobError {
        let error = BlobError(
            .limitExceeded, "\(fact); the limit is \(self.maximumByteCount).", byteOffset: self.maximumByteCount)
        self.failure = error
        return error
    }
}
