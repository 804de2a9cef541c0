/// A layer that throws for a blob of more than a number of bytes.
struct LimitSource: ForwardingSource {
    let base: any BlobInputStreamDataSource
    let maximumByteCount: Int64

    func inspector(_ opening: BlobOpening) -> (any BlobInspector)? {
        Limit(maximumByteCount: self.maximumByteCount, byteOffset: opening.byteOffset)
    }
}

private struct Limit: BlobInspector {
    let maximumByteCount: Int64
    var byteOffset: Int64

    func info(of base: BlobInfo) throws -> BlobInfo {
        try self.check(base.byteCount ?? 0)
        return base
    }

    // At the limit, one byte more is asked for: without it, the end is not known.
    func room() -> BlobRoom { .bytes(max(self.maximumByteCount - self.byteOffset, 1)) }

    mutating func pass(_ bytes: RawSpan, at byteOffset: Int64, isLast: Bool) throws -> Range<Int> {
        self.byteOffset = byteOffset + Int64(bytes.byteCount)
        try self.check(self.byteOffset)
        return 0..<bytes.byteCount
    }

    private func check(_ byteCount: Int64) throws {
        guard byteCount > self.maximumByteCount else { return }
        throw BlobError(.limitExceeded, "The blob has more bytes than the limit of \(self.maximumByteCount).")
    }
}
