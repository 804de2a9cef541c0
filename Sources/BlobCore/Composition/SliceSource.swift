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
    fileprivate let lowerBound: Int64
    fileprivate let upperBound: Int64?

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
    ) throws -> any BlobPluginReader {
        // With a range, the length is known before the base is opened; the sum cannot overflow once the offset is
        // checked.
        try self.sliced(BlobInfo()).check(byteOffset: byteOffset, matching: nil)
        let (start, overflows) = self.lowerBound.addingReportingOverflow(byteOffset)
        guard !overflows else { throw BlobError(.invalidArgument, "The offset \(byteOffset) is past the end.") }
        let reader = try SliceReader(of: self, self.base.open(at: start, context: context), matching: validator)
        do {
            try reader.checkBase()
        } catch {
            reader.close()
            throw error
        }
        return reader
    }

    fileprivate func sliced(_ base: BlobInfo) throws(BlobError) -> BlobInfo {
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
    var base: any BlobPluginReader { self.guarded }
    private let slice: SliceSource
    private let guarded: BlobReader
    private let startOffset: Int64
    private let validator: BlobValidator?
    /// The end in the base; nil for that of the base itself.
    private var end: Int64?
    /// The facts once the base is open, as it never blocks for them.
    private var facts: BlobInfo?

    init(of slice: SliceSource, _ guarded: BlobReader, matching validator: BlobValidator?) {
        (self.slice, self.guarded, self.validator) = (slice, guarded, validator)
        self.startOffset = guarded.byteOffset
        self.end = slice.upperBound
    }

    var info: BlobInfo {
        let known = self.guarded.isOpen ? self.guarded.info : BlobInfo()
        return self.facts ?? (try? self.slice.sliced(known)) ?? BlobInfo()
    }

    /// Checks the range, the offset and the identity once the facts of the base are known.
    func checkBase() throws {
        guard self.facts == nil, self.guarded.isOpen else { return }
        let base = self.guarded.info
        let info = try self.slice.sliced(base)
        try info.check(byteOffset: self.startOffset - self.slice.lowerBound, matching: self.validator)
        // A slice that reaches to the base's end reads through to it, so that the base checks its end.
        if self.end == base.byteCount { self.end = nil }
        self.facts = info
    }

    private var room: Int { self.end.map { Int(clamping: max($0 - self.guarded.byteOffset, 0)) } ?? .max }

    func read(into output: inout OutputRawSpan) throws -> BlobReadResult {
        if self.room == 0, !self.guarded.isOpen, try self.readAhead() == .notYet { return .notYet }
        try self.checkBase()
        let room = self.room
        var result = BlobReadResult.end
        // Also without room, because a closed reader must throw.
        try output.append(atMost: room) { result = try self.guarded.read(into: &$0) }
        try self.checkBase()
        guard room > 0 else { return .end }
        guard result == .end, let end = self.end else { return result }
        throw BlobError(
            .truncated, "The base ended at byte \(self.guarded.byteOffset), before the slice's end at \(end).")
    }

    /// Reads a byte behind an empty slice: a base that is still opening has its facts with the first byte.
    private func readAhead() throws -> BlobReadResult {
        try withUnsafeTemporaryAllocation(byteCount: 1, alignment: 1) { buffer in
            var output = OutputRawSpan(buffer: buffer, initializedCount: 0)
            return try self.guarded.read(into: &output)
        }
    }
}
