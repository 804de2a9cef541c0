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
        let range = range.relative(to: 0..<Int64.max)
        return range.upperBound == .max
            ? SliceSource(self, from: range.lowerBound) : SliceSource(self, range: range)
    }
}

/// A source of a range of the bytes of another source.
package struct SliceSource: ForwardingSource {
    package let base: any BlobInputStreamDataSource
    private let lowerBound: Int64
    private let upperBound: Int64?

    package init(_ base: any BlobInputStreamDataSource, range: Range<Int64>) {
        self.base = base
        self.lowerBound = range.lowerBound
        self.upperBound = range.upperBound
    }

    package init(_ base: any BlobInputStreamDataSource, from lowerBound: Int64) {
        self.base = base
        self.lowerBound = lowerBound
        self.upperBound = nil
    }

    // No locator names a range.
    package var locator: BlobLocator? { nil }

    package func info(over base: BlobInfo) throws -> BlobInfo { try self.sliced(base) }

    package func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        // With a range, the length is known before the base is opened; the sum cannot overflow once the offset is
        // checked.
        try self.sliced(BlobInfo()).check(byteOffset: opening.byteOffset, matching: nil)
        let (start, overflows) = self.lowerBound.addingReportingOverflow(opening.byteOffset)
        guard !overflows else {
            throw BlobError(.invalidArgument, "The offset \(opening.byteOffset) is past the end.")
        }
        let base = try self.base.open(at: start, context: opening.context)
        return .deferred(base) { info, _ in
            // A slice that reaches to the base's end reads through to it, so that the base checks its end.
            let end = self.upperBound == info.byteCount ? nil : self.upperBound
            let slice = Slice(info: try self.sliced(info), byteOffset: start, end: end)
            return .inspected(base, slice, startingAt: opening.byteOffset)
        }
    }

    private func sliced(_ base: BlobInfo) throws(BlobError) -> BlobInfo {
        guard self.lowerBound >= 0 else {
            throw BlobError(.invalidArgument, "The offset \(self.lowerBound) is negative.")
        }
        let end = self.upperBound ?? base.byteCount
        if let byteCount = base.byteCount, max(self.lowerBound, self.upperBound ?? 0) > byteCount {
            let range = "\(self.lowerBound)..<\(self.upperBound.map(String.init) ?? "")"
            throw BlobError(.invalidArgument, "The range \(range) is not within the \(byteCount) bytes there are.")
        }
        let recipe = "slice-\(self.lowerBound)-\(self.upperBound.map(String.init) ?? "end")"
        return BlobInfo(
            byteCount: end.map { $0 - self.lowerBound }, mediaType: nil, name: base.name,
            validator: base.validator.map { .combined(recipe, [$0]) }, isRandomAccess: base.isRandomAccess)
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
        if isLast, let end {
            throw BlobError(
                .truncated, "The base ended at byte \(self.byteOffset), before the slice's end at \(end).")
        }
        return 0..<bytes.byteCount
    }
}
