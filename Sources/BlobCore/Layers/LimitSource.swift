/// A layer that throws for a blob of more than a number of bytes.
package struct LimitSource: ForwardingSource {
    package let base: any BlobInputStreamDataSource
    private let maximumByteCount: Int64

    package init(_ base: any BlobInputStreamDataSource, maximumByteCount: Int64) {
        precondition(maximumByteCount >= 0, "A number of bytes is not negative.")
        self.base = base
        self.maximumByteCount = maximumByteCount
    }

    package func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        let limit = Limit(maximumByteCount: self.maximumByteCount, byteOffset: opening.byteOffset)
        return .inspected(try self.base.open(opening), limit, startingAt: opening.byteOffset)
    }
}

private struct Limit: BlobInspector {
    let maximumByteCount: Int64
    var byteOffset: Int64
    var byteCount: Int64?

    mutating func info(of base: BlobInfo) -> BlobInfo {
        self.byteCount = base.byteCount
        return base
    }

    func room() throws -> BlobRoom {
        if let byteCount, byteCount > self.maximumByteCount { throw self.exceeded("The blob has \(byteCount) bytes") }
        // At the limit, one byte more is asked for: without it, the end is not known.
        return .bytes(max(self.maximumByteCount - self.byteOffset, 1))
    }

    mutating func pass(_ bytes: RawSpan, at byteOffset: Int64, isLast: Bool) throws -> Range<Int> {
        self.byteOffset = byteOffset + Int64(bytes.byteCount)
        guard self.byteOffset <= self.maximumByteCount else { throw self.exceeded("The blob has more bytes") }
        return 0..<bytes.byteCount
    }

    private func exceeded(_ fact: String) -> BlobError {
        BlobError(
            .limitExceeded, "\(fact); the limit is \(self.maximumByteCount).", byteOffset: self.maximumByteCount)
    }
}
