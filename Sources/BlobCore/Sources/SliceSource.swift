import BlobPlatform

extension BlobInputStreamDataSource {
    /// Returns a source of a range of the bytes of this source.
    ///
    /// A source that ends before the range does is an error, never an early end. The checks that this source makes at
    /// its end are made only when the slice has the same end.
    ///
    /// ```swift
    /// let header = source.slice(0..<512)
    /// let rest = source.slice(512...)
    /// ```
    ///
    /// - Parameter range: The offsets of the bytes; without an upper bound, all bytes from the lower one on.
    public func slice(_ range: some RangeExpression<Int64>) -> some BlobInputStreamDataSource {
        SliceSource(base: self, range: range.relative(to: 0..<Int64.max))
    }
}

/// A source of a range of the bytes of another source.
private struct SliceSource: ForwardingSource {
    let base: any BlobInputStreamDataSource
    let range: Range<Int64>

    // No locator names a range.
    var locator: BlobLocator? { nil }

    private var end: Int64? { self.range.upperBound == .max ? nil : self.range.upperBound }

    func info(over base: BlobInfo) throws -> BlobInfo {
        let start = self.range.lowerBound
        for bound in [start, self.end ?? start] { try base.check(byteOffset: bound, matching: nil) }
        let recipe = "slice-\(start)-\(self.end.map(String.init) ?? "end")"
        return BlobInfo(
            byteCount: (self.end ?? base.byteCount).map { $0 - start }, name: base.name,
            validator: base.validator.map { .combined(recipe, [$0]) }, isRandomAccess: base.isRandomAccess)
    }

    func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        // With a range, the length is known before the base is opened.
        try self.info(over: BlobInfo()).check(byteOffset: opening.byteOffset, matching: nil)
        let (start, overflows) = self.range.lowerBound.addingReportingOverflow(opening.byteOffset)
        guard !overflows else {
            throw BlobError(.invalidArgument, "The offset \(opening.byteOffset) is past the end.")
        }
        let base = try self.base.open(at: start, context: opening.context)
        return .deferred(base) { info, _ in
            // A slice that reaches to the base's end reads through to it, so that the base checks its end.
            let end = self.end == info.byteCount ? nil : self.end
            let slice = Slice(info: try self.info(over: info), byteOffset: start, end: end)
            return .inspected(base, slice, startingAt: opening.byteOffset)
        }
    }
}

private struct Slice: BlobInspector {
    let info: BlobInfo
    var byteOffset: Int64
    /// The end in the base; nil for that of the base itself.
    let end: Int64?

    func info(of base: BlobInfo) -> BlobInfo { self.info }

    func room() -> BlobRoom {
        guard let end else { return .bytes(.max) }
        return self.byteOffset < end ? .bytes(end - self.byteOffset) : .end
    }

    mutating func pass(_ bytes: RawSpan, at byteOffset: Int64, isLast: Bool) throws -> Range<Int> {
        self.byteOffset = byteOffset + Int64(bytes.byteCount)
        guard isLast, let end else { return 0..<bytes.byteCount }
        throw BlobError(.truncated, "The base ended at byte \(self.byteOffset), before the slice's end at \(end).")
    }
}
