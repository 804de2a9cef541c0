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

    package func reader(
        at byteOffset: Int64, matching validator: BlobValidator?, _ context: BlobContext
    ) throws -> any BlobPluginReader {
        try BlobInfo().check(byteOffset: byteOffset, matching: nil)
        let start = max(self.range.lowerBound - 1, 0)
        let reader = try LineRangeReader(
            self, self.base.open(at: start, context: context), self.range, matching: validator)
        do {
            try reader.checkBase()
        } catch {
            reader.close()
            throw error
        }
        return reader.skipping(byteOffset)
    }
}

private final class LineRangeReader: ForwardingReader {
    private enum Phase {
        /// Before the first line that begins in the range.
        case searching
        case inLines
        case ended
    }

    private static let newline = UInt8(ascii: "\n")

    /// The number of bytes that a search for the first line reads at a time.
    private static let searchByteCount = 64 * 1024

    var base: any BlobPluginReader { self.guarded }
    private let source: LineRangeSource
    private let guarded: BlobReader
    private let range: Range<Int64>
    /// The content that is wanted, until it was compared; nil for any.
    private var validator: BlobValidator?
    private var phase: Phase
    /// The bytes of the first lines that the search read.
    private var found: ArraySlice<UInt8> = []

    init(
        _ source: LineRangeSource, _ guarded: BlobReader, _ range: Range<Int64>,
        matching validator: BlobValidator?
    ) {
        (self.source, self.guarded, self.range, self.validator) = (source, guarded, range, validator)
        self.phase = range.isEmpty ? .ended : range.lowerBound == 0 ? .inLines : .searching
    }

    /// Checks the identity once the facts of the base are known.
    func checkBase() throws {
        guard self.validator != nil, self.guarded.isOpen else { return }
        try self.info.check(byteOffset: 0, matching: self.validator)
        self.validator = nil
    }

    var info: BlobInfo { (try? self.source.info(over: self.guarded.info)) ?? BlobInfo() }

    func read(into output: inout OutputRawSpan) throws -> BlobReadResult {
        while self.phase == .searching {
            if try self.search() == .notYet { return .notYet }
        }
        let start = output.byteCount
        var result = BlobReadResult.end
        // Also at the end, because a closed reader must throw.
        let count = try output.append(atMost: self.phase == .ended ? 0 : .max) { part in
            result = self.found.isEmpty ? try self.guarded.read(into: &part) : .moving(&self.found, to: &part)
            try self.checkBase()
        }
        guard self.phase == .inLines else { return .end }
        let end = self.guarded.byteOffset - Int64(self.found.count)
        let kept = output.bytes.withUnsafeBytes { bytes in
            self.lineEnd(UnsafeRawBufferPointer(rebasing: bytes[start...]), from: end - Int64(count))
        }
        if let kept {
            output.removeLast(count - kept)
            self.phase = .ended
        }
        return result
    }

    func close() {
        (self.phase, self.found) = (.ended, [])
        self.guarded.close()
    }

    /// Reads on towards the first line that begins in the range.
    private func search() throws -> BlobReadResult {
        try withUnsafeTemporaryAllocation(byteCount: Self.searchByteCount, alignment: 16) { buffer in
            let start = self.guarded.byteOffset
            // The last byte of the range may be the end of a line that begins behind it.
            let room = min(Int64(buffer.count), self.range.upperBound - 1 - start)
            let part = UnsafeMutableRawBufferPointer(rebasing: buffer[..<Int(max(room, 0))])
            var output = OutputRawSpan(buffer: part, initializedCount: 0)
            let result = room > 0 ? try self.guarded.read(into: &output) : .end
            try self.checkBase()
            let bytes = UnsafeRawBufferPointer(rebasing: part[..<output.finalize(for: part)])
            if let newline = bytes.firstIndex(of: Self.newline) {
                self.found = Array(bytes[(newline + 1)...])[...]
                self.phase = .inLines
            } else if result == .end {
                self.phase = .ended
            }
            return result
        }
    }

    /// Returns the number of bytes up to the end of the last line; nil when that is not among them.
    private func lineEnd(_ bytes: UnsafeRawBufferPointer, from byteOffset: Int64) -> Int? {
        let first = Int(clamping: max(self.range.upperBound - 1 - byteOffset, 0))
        guard first < bytes.count else { return nil }
        return bytes[first...].firstIndex(of: Self.newline).map { $0 + 1 }
    }
}
