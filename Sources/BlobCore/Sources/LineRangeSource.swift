/// A source of the lines of another source that begin in a range of its bytes, each to its end, which may lie behind
/// the range.
///
/// A line begins at the start, and behind each LF; CRLF ends a line too, and the last one may have no end. Of ranges
/// that follow each other without a gap, each line is in exactly one, whatever the ranges are: the rule by which
/// engines split text. A line that is longer than the ranges leaves some of them without a line.
///
/// A reader begins one byte before the range, to see whether that is the end of a line, and reads on to the end of the
/// last line. Memory does not grow with the lines.
package struct LineRangeSource: ForwardingSource {
    package let base: any BlobInputStreamDataSource
    private let range: Range<Int64>

    /// - Parameter range: The offsets at which the lines begin, from 0; `Int64.max` is the end.
    package init(_ base: any BlobInputStreamDataSource, beginningIn range: Range<Int64>) {
        (self.base, self.range) = (base, range)
    }

    // No locator names a range.
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

    func room() -> BlobRoom {
        switch self.phase {
        case .ended: return .end
        case .inLines: return .bytes(.max)
        case .searching:
            // The last byte of the range may be the end of a line that begins behind it.
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
