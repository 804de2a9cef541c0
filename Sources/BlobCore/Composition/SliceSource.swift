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

    package func reader(
        at byteOffset: Int64, matching validator: BlobValidator?, _ context: BlobContext
    ) throws -> any BlobReader {
        // With a range, the length is known before the base is opened; the sum cannot overflow once the offset is
        // checked.
        try self.sliced(BlobInfo()).check(byteOffset: byteOffset, matching: nil)
        let (start, overflows) = self.lowerBound.addingReportingOverflow(byteOffset)
        guard !overflows else { throw BlobError(.invalidArgument, "The offset \(byteOffset) is past the end.") }
        let reader = try self.base.open(at: start, context: context)
        // The reader of a base that is still opening has no final info yet.
        let baseInfo = try reader.isOpen ? reader.info : self.base.info(context)
        let info = try self.sliced(baseInfo)
        try info.check(byteOffset: byteOffset, matching: validator)
        // A slice that reaches to the base's end reads through to it, so that the base checks its end.
        return SliceReader(reader, info: info, end: self.upperBound == baseInfo.byteCount ? nil : self.upperBound)
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

private final class SliceReader: ForwardingReader {
    let info: BlobInfo
    var base: any BlobReader { self.guarded }
    private let guarded: BlobGuardedReader
    private let end: Int64?

    init(_ guarded: BlobGuardedReader, info: BlobInfo, end: Int64?) {
        self.guarded = guarded
        self.info = info
        self.end = end
    }

    // An empty slice ends before its base is open.
    var isOpen: Bool { self.guarded.isOpen || self.room == 0 }

    private var room: Int { self.end.map { Int(clamping: $0 - self.guarded.byteOffset) } ?? .max }

    func read(into output: inout OutputRawSpan) throws -> BlobReadResult {
        let room = self.room
        var result = BlobReadResult.end
        // Also without room, because a closed reader must throw.
        try output.append(atMost: room) { result = try self.guarded.read(into: &$0) }
        guard room > 0 else { return .end }
        guard result == .end, let end else { return result }
        throw BlobError(
            .truncated, "The base ended at byte \(self.guarded.byteOffset), before the slice's end at \(end).")
    }
}
