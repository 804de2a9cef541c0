package import BlobCore
import BlobDeflate

/// An index of gzip data made by another tool. Its points are only hints until the data proves them.
///
/// These files contain no checksums and no identity of the data, except that some contain its length.
package struct ToolIndex: Sendable {
    /// The format of the file, named after the tool.
    package enum Format: String, Sendable {
        /// `.gzi` of `bgzip` (htslib): the starts of the blocks of blocked gzip.
        case bgzip
        /// `GZIDX` of `indexed_gzip`, versions 0 and 1, also written by `rapidgzip`.
        case indexedGzip = "indexed_gzip"
        /// `gzipindx` and `gzipindX` of `gztool`, also written by `rapidgzip`.
        case gztool

        /// The first bytes of a file of `indexed_gzip`. A file of `bgzip` begins with a number.
        private static let gzidxBeginning = Array("GZIDX".utf8)
        private static let gztoolBeginning = [UInt8](repeating: 0, count: 8) + Array("gzipind".utf8)

        /// Returns the format of a file by its first bytes and its length; nil for an unknown format.
        fileprivate init?(_ file: IndexDescriptor) throws(BlobError) {
            let beginning = try file.read(at: 0, count: Int(min(file.byteCount, 16)))
            if beginning.starts(with: Self.gzidxBeginning) {
                self = .indexedGzip
            } else if beginning.starts(with: Self.gztoolBeginning) {
                self = .gztool
            } else if beginning.count >= 8, file.byteCount % 16 == 8,
                UInt64(file.byteCount / 16) == beginning.prefix(8).littleEndian
            {
                self = .bgzip
            } else {
                return nil
            }
        }
    }

    /// A position at which decoding can begin.
    package struct Point: Equatable, Sendable {
        package let restartPoint: RestartPoint
        /// The range of the window in the file: zlib data (RFC 1950) in `gztool`, otherwise the bytes themselves; nil
        /// if the file has no window for the point.
        let window: Range<Int64>?
    }

    /// The maximum number of points held in memory, of 48 bytes each; beyond that number, only every second point, then
    /// every fourth point, and so on.
    fileprivate static let maximumPointCount = 65_536

    package let format: Format
    /// The length of the index file in bytes.
    package let fileByteCount: Int64
    /// The length of the compressed data in bytes; nil if the file does not contain it.
    package let compressedByteCount: Int64?
    /// The length of the decoded bytes; nil if the file does not contain it.
    package let byteCount: Int64?
    /// The points held in memory, in ascending order.
    package let points: [Point]
    private let file: IndexDescriptor

    /// Parses an index file; returns nil for an unknown format.
    ///
    /// - Throws: ``BlobError/Code/corrupted`` for a truncated or inconsistent file; ``BlobError/Code/unsupported`` for
    ///   a newer version; errors of reading the file.
    init?(_ file: IndexDescriptor) throws(BlobError) {
        guard let format = try Format(file) else { return nil }
        var parser = ToolIndexParser(file, format)
        switch format {
        case .bgzip: try parser.parseBgzip()
        case .indexedGzip: try parser.parseIndexedGzip()
        case .gztool: try parser.parseGztool()
        }
        (self.format, self.file, self.fileByteCount) = (format, file, file.byteCount)
        (self.compressedByteCount, self.byteCount) = (parser.compressedByteCount, parser.byteCount)
        self.points = parser.points
    }

    /// Returns the window of a point: at most 32 KiB, in which unreferenced bytes may be zero; nil if the file has no
    /// window for the point.
    ///
    /// - Throws: ``BlobError/Code/corrupted`` for a damaged window; errors of reading the file.
    package func window(of point: Point) throws(BlobError) -> [UInt8]? {
        guard let place = point.window else { return nil }
        let bytes = try self.file.read(at: place.lowerBound, count: place.count)
        // The zlib header has two bytes.
        return self.format == .gztool
            ? try Inflater.window(packed: bytes.dropFirst(2)) : bytes.suffix(Inflater.windowByteCount)
    }
}

/// A parser of the index files of other tools, which reads from front to back and stores a bounded number of points.
private struct ToolIndexParser {
    private let format: ToolIndex.Format
    private let file: IndexDescriptor
    /// The bytes read, and the offset of the first of them in the file.
    private var buffer: [UInt8] = []
    private var bufferStart: Int64 = 0
    private var byteOffset: Int64 = 0

    private(set) var compressedByteCount: Int64?
    private(set) var byteCount: Int64?
    private var pointCount: Int64 = 0
    private(set) var points: [ToolIndex.Point] = []
    /// The distance between stored points, as a number of points in the file, and the number of points read so far.
    private var (stride, number) = (1, 0)
    private var lastPoint: RestartPoint?

    /// The number of bytes in one read.
    private static let bufferByteCount: Int64 = 64 * 1024

    /// The maximum length of the compressed data and of the decoded bytes; it keeps sums and bit offsets from
    /// overflowing.
    private static let maximumByteCount: Int64 = .max / 64

    init(_ file: IndexDescriptor, _ format: ToolIndex.Format) { (self.file, self.format) = (file, format) }

    /// Parses a count and that many pairs of offsets, for all blocks except the first.
    mutating func parseBgzip() throws(BlobError) {
        self.pointCount = try self.readSize()
        for _ in 0..<self.pointCount {
            let (compressed, decoded) = (try self.readSize(), try self.readSize())
            try self.append(bitOffset: compressed * 8, decoded, nil)
        }
    }

    /// Parses a head, the points, and then the windows of the points that have one.
    mutating func parseIndexedGzip() throws(BlobError) {
        self.byteOffset = 5
        let version = try self.number(UInt8.self)
        guard version <= 1 else {
            throw BlobError(.unsupported, "The index has version \(version) of indexed_gzip, which is not supported.")
        }
        _ = try self.number(UInt8.self)
        self.compressedByteCount = try self.readSize()
        let byteCount = try self.readSize()
        // Zero means that the index does not cover everything.
        self.byteCount = byteCount > 0 ? byteCount : nil
        _ = try self.number(UInt32.self)
        let windowByteCount = Int64(try self.number(UInt32.self))
        self.pointCount = Int64(try self.number(UInt32.self))
        let pointByteCount: Int64 = version == 0 ? 17 : 18
        guard (32 * 1024...1 << 20).contains(windowByteCount) else {
            throw self.failure("has windows of an invalid size")
        }
        var window = self.byteOffset + self.pointCount * pointByteCount
        for index in 0..<self.pointCount {
            let (compressed, decoded, bits) = (try self.readSize(), try self.readSize(), try self.number(UInt8.self))
            let hasWindow = version == 0 ? index > 0 : try self.number(UInt8.self) != 0
            guard bits < 8, !hasWindow || window + windowByteCount <= self.file.byteCount else {
                throw self.failure("has an invalid point")
            }
            // Decoding needs the last 32 KiB.
            let end = window + windowByteCount
            let place = end - Int64(Inflater.windowByteCount)..<end
            try self.append(bitOffset: compressed * 8 - Int64(bits), decoded, hasWindow ? place : nil)
            if hasWindow { window = end }
        }
    }

    /// Parses a head, the points, each followed by its window, and the length of the decoded bytes; some files also
    /// contain line numbers.
    mutating func parseGztool() throws(BlobError) {
        self.byteOffset = 15
        let hasLines = try self.number(UInt8.self) == UInt8(ascii: "X")
        if hasLines { _ = try self.number(UInt32.self) }
        self.pointCount = try self.readSize()
        let isComplete = try self.readSize() == self.pointCount
        for _ in 0..<self.pointCount {
            let (decoded, compressed) = (try self.readSize(), try self.readSize())
            let (bits, count) = (try self.number(UInt32.self), Int64(try self.number(UInt32.self)))
            guard bits < 8, count <= 64 * 1024, count <= self.file.byteCount - self.byteOffset else {
                throw self.failure("has an invalid point")
            }
            let place = self.byteOffset..<(self.byteOffset + count)
            try self.append(bitOffset: compressed * 8 - Int64(bits), decoded, count > 0 ? place : nil)
            self.byteOffset += count
            if hasLines { _ = try self.readSize() }
        }
        guard isComplete else { return }
        self.byteCount = try self.readSize()
        if hasLines { _ = try self.readSize() }
    }

    private mutating func append(
        bitOffset: Int64, _ byteOffset: Int64, _ window: Range<Int64>?
    ) throws(BlobError) {
        // Two points may have the same decoded offset, if nothing is between them.
        guard bitOffset >= 0, bitOffset > self.lastPoint?.bitOffset ?? -1,
            byteOffset >= self.lastPoint?.byteOffset ?? 0,
            bitOffset <= 8 * (self.compressedByteCount ?? .max / 8)
        else { throw self.failure("has a point out of order") }
        let place = RestartPoint(bitOffset: bitOffset, byteOffset: byteOffset)
        self.lastPoint = place
        if self.number % self.stride == 0 { self.points.append(ToolIndex.Point(restartPoint: place, window: window)) }
        self.number += 1
        guard self.points.count > ToolIndex.maximumPointCount else { return }
        self.stride *= 2
        self.points = Swift.stride(from: 0, to: self.points.count, by: 2).map { self.points[$0] }
    }

    /// Reads a length or an offset.
    private mutating func readSize() throws(BlobError) -> Int64 {
        guard let size = Int64(exactly: try self.number(UInt64.self)), size <= Self.maximumByteCount else {
            throw self.failure("contains a number above its limit")
        }
        return size
    }

    /// Reads a number in the byte order of the format.
    private mutating func number<Number: FixedWidthInteger>(_ type: Number.Type) throws(BlobError) -> Number {
        let count = MemoryLayout<Number>.size
        guard Int64(count) <= self.file.byteCount - self.byteOffset else { throw self.failure("ends too early") }
        if self.byteOffset < self.bufferStart
            || self.byteOffset + Int64(count) > self.bufferStart + Int64(self.buffer.count)
        {
            let byteCount = min(Self.bufferByteCount, self.file.byteCount - self.byteOffset)
            self.buffer = try self.file.read(at: self.byteOffset, count: Int(byteCount))
            self.bufferStart = self.byteOffset
        }
        let start = Int(self.byteOffset - self.bufferStart)
        self.byteOffset += Int64(count)
        let number = self.buffer.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: start, as: Number.self) }
        return self.format == .gztool ? Number(bigEndian: number) : Number(littleEndian: number)
    }

    private func failure(_ predicate: String) -> BlobError {
        BlobError(.corrupted, "The \(self.format.rawValue) index \(predicate).", byteOffset: self.byteOffset)
    }
}

/// A source or container that can create an index with the help of another tool's index.
package protocol ToolIndexImporting: Sendable {
    /// Decodes all data once, compares each point of `index` with the result, and creates an index of the source.
    ///
    /// - Returns: True if the source has an index now; false if no index can be stored.
    /// - Throws: ``BlobError/Code/inconsistent`` if a point is wrong, in which case nothing is written; errors of the
    ///   content, of reading `index` and of writing.
    func importIndex(_ index: ToolIndex, _ context: BlobContext) throws -> Bool
}
