import BlobPlatform

extension BlobInputStreamDataSource {
    /// Returns a source of a range of the bytes of this source.
    ///
    /// If this source ends before the range does, reading throws an error: the slice never ends early. The checks that
    /// this source makes at its end are made only if the slice has the same end.
    ///
    /// ```swift
    /// let header = source.slice(0..<512)
    /// let rest = source.slice(512...)
    /// ```
    ///
    /// - Parameter range: The offsets of the bytes; without an upper bound, all bytes from the lower bound on.
    public func slice(_ range: some RangeExpression<Int64>) -> some BlobInputStreamDataSource {
        SliceSource(base: self, range: range.relative(to: 0..<Int64.max))
    }
}

/// A source of a range of the bytes of another source.
private struct SliceSource: ForwardingSource {
    let base: any BlobInputStreamDataSource
    let range: Range<Int64>

    // A locator cannot name a range.
    var locator: BlobLocator? { nil }

    private var endOffset: Int64? { self.range.upperBound == .max ? nil : self.range.upperBound }

    func info(over base: BlobInfo) throws -> BlobInfo {
        let start = self.range.lowerBound
        for bound in [start, self.endOffset ?? start] { try base.check(byteOffset: bound, matching: nil) }
        let recipe = "slice-\(start)-\(self.endOffset.map(String.init) ?? "end")"
        return BlobInfo(
            byteCount: (self.endOffset ?? base.byteCount).map { $0 - start }, name: base.name,
            validator: base.validator.map { .combined(recipe, [$0]) }, isRandomAccess: base.isRandomAccess)
    }

    func prepare(_ ranges: [Range<Int64>], _ context: BlobContext) {
        let all = 0..<Int64(self.range.count)
        let inside = ranges.map { range in
            let range = range.clamped(to: all)
            return range.lowerBound + self.range.lowerBound..<range.upperBound + self.range.lowerBound
        }
        self.base.prepare(inside, context)
    }

    func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        // With a range, the length is known before the base is opened.
        try self.info(over: BlobInfo()).check(byteOffset: opening.byteOffset, matching: nil)
        let (start, overflows) = self.range.lowerBound.addingReportingOverflow(opening.byteOffset)
        guard !overflows else {
            throw BlobError(.invalidArgument, "The offset \(opening.byteOffset) is past the end.")
        }
        // Ranges of remote bytes are announced by those who know that they will be read completely.
        if let end = self.endOffset, start < end, !self.base.traits.contains(.preparable) {
            self.base.prepare([start..<end], opening.context)
        }
        let base = try self.base.open(at: start, context: opening.context)
        return .deferred(base) { info, _ in
            // A slice that extends to the base's end reads through to it, so that the base checks its end.
            let end = self.endOffset == info.byteCount ? nil : self.endOffset
            let slice = Slice(info: try self.info(over: info), byteOffset: start, endOffset: end)
            return .inspected(base, slice, startingAt: opening.byteOffset)
        }
    }
}

private struct Slice: BlobInspector {
    let info: BlobInfo
    var byteOffset: Int64
    /// The end in the base; nil for the end of the base itself.
    let endOffset: Int64?

    func info(of base: BlobInfo) -> BlobInfo { self.info }

    func readLimit() -> BlobReadLimit {
        guard let end = self.endOffset else { return .bytes(.max) }
        return self.byteOffset < end ? .bytes(end - self.byteOffset) : .end
    }

    mutating func pass(_ bytes: RawSpan, at byteOffset: Int64, isLast: Bool) throws -> Range<Int> {
        self.byteOffset = byteOffset + Int64(bytes.byteCount)
        guard isLast, let end = self.endOffset else { return 0..<bytes.byteCount }
        throw BlobError(.truncated, "The base ended at byte \(self.byteOffset), before the end of the slice at \(end).")
    }
}

/// A source of the lines of another source that begin in a range of its bytes. Each line is complete, even if its end
/// lies after the range.
///
/// A line begins at the start and after each LF; CRLF also ends a line, and the last line may lack a line end. If
/// ranges follow each other without a gap, each line is in exactly one of them, regardless of the ranges. Distributed
/// engines split text by the same rule. A line longer than the ranges leaves some of them without a line.
///
/// A reader begins one byte before the range, to see whether that byte ends a line, and reads on to the end of the last
/// line. Memory does not grow with the lines.
package struct LineRangeSource: ForwardingSource {
    package let base: any BlobInputStreamDataSource
    private let range: Range<Int64>

    /// Creates a source of the lines that begin in a range.
    ///
    /// - Parameter range: The offsets at which the lines begin, at least 0; the upper bound `Int64.max` stands for the
    ///   end of the base.
    package init(_ base: any BlobInputStreamDataSource, beginningIn range: Range<Int64>) {
        (self.base, self.range) = (base, range)
    }

    // A locator cannot name a range.
    package var locator: BlobLocator? { nil }

    package func info(over base: BlobInfo) throws -> BlobInfo {
        BlobInfo(
            name: base.name,
            validator: base.validator.map {
                .combined("lines-\(self.range.lowerBound)-\(self.range.upperBound)", [$0])
            })
    }

    package func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        let base = try self.base.open(at: max(self.range.lowerBound - 1, 0), context: opening.context)
        return .inspected(base, Lines(source: self, range: self.range), startingAt: 0)
    }
}

private struct Lines: BlobInspector {
    private enum Phase {
        /// Before the first line that begins in the range.
        case searching
        case inLines
        case ended
    }

    private static let newline = UInt8(ascii: "\n")

    private let source: LineRangeSource
    private let range: Range<Int64>
    private var phase: Phase
    private var byteOffset: Int64

    init(source: LineRangeSource, range: Range<Int64>) {
        (self.source, self.range) = (source, range)
        self.phase = range.isEmpty ? .ended : range.lowerBound == 0 ? .inLines : .searching
        self.byteOffset = max(range.lowerBound - 1, 0)
    }

    func info(of base: BlobInfo) throws -> BlobInfo { try self.source.info(over: base) }

    func readLimit() -> BlobReadLimit {
        switch self.phase {
        case .ended: return .end
        case .inLines: return .bytes(.max)
        case .searching:
            // The last byte of the range may be the end of a line, after which the next line begins outside the range.
            let room = self.range.upperBound - 1 - self.byteOffset
            return room > 0 ? .bytes(room) : .end
        }
    }

    mutating func pass(_ bytes: RawSpan, at byteOffset: Int64, isLast: Bool) -> Range<Int> {
        self.byteOffset = byteOffset + Int64(bytes.byteCount)
        return bytes.withUnsafeBytes { bytes in
            var start = 0
            if self.phase == .searching {
                guard let newline = bytes.firstIndex(of: Self.newline) else { return 0..<0 }
                (start, self.phase) = (newline + 1, .inLines)
            }
            let first = max(start, Int(clamping: self.range.upperBound - 1 - byteOffset))
            guard first < bytes.count, let newline = bytes[first...].firstIndex(of: Self.newline) else {
                return start..<bytes.count
            }
            self.phase = .ended
            return start..<(newline + 1)
        }
    }
}
