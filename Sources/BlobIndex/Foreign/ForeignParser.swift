import BlobCore

/// A parser of the index files of other tools, which reads them from front to back and keeps a bounded number of
/// points.
struct ForeignParser {
    private let format: ForeignIndex.Format
    private let file: IndexDescriptor
    /// Bytes that were read, and the offset of the first of them in the file.
    private var buffer: [UInt8] = []
    private var bufferStart: Int64 = 0
    private var byteOffset: Int64 = 0

    private(set) var compressedByteCount: Int64?
    private(set) var byteCount: Int64?
    private(set) var pointCount: Int64 = 0
    private(set) var points: [ForeignIndex.Point] = []
    /// The distance of the points that are kept, and the number of points so far.
    private var (stride, number) = (1, 0)
    private var last: (bitOffset: Int64, byteOffset: Int64)?

    /// The number of bytes that are read at once.
    private static let bufferByteCount: Int64 = 64 * 1024

    /// The largest length of compressed data and of decoded bytes; it keeps sums and bits from overflowing.
    private static let maximumByteCount: Int64 = .max / 64

    init(_ file: IndexDescriptor, _ format: ForeignIndex.Format) { (self.file, self.format) = (file, format) }

    /// Parses a count and that many pairs of offsets: of all blocks but the first.
    mutating func parseBgzip() throws(BlobError) {
        self.pointCount = try self.size()
        for _ in 0..<self.pointCount {
            let (compressed, decoded) = (try self.size(), try self.size())
            try self.append(bitOffset: compressed * 8, decoded, nil)
        }
    }

    /// Parses a head, the points, and then the windows of those that have one.
    mutating func parseIndexedGzip() throws(BlobError) {
        self.byteOffset = 5
        let version = try self.number(UInt8.self)
        guard version <= 1 else {
            throw BlobError(.unsupported, "The index has version \(version) of indexed_gzip, which is not known.")
        }
        _ = try self.number(UInt8.self)
        self.compressedByteCount = try self.size()
        let byteCount = try self.size()
        // Zero is the length of an index that does not cover everything.
        self.byteCount = byteCount > 0 ? byteCount : nil
        _ = try self.number(UInt32.self)
        let windowByteCount = Int64(try self.number(UInt32.self))
        self.pointCount = Int64(try self.number(UInt32.self))
        let pointByteCount: Int64 = version == 0 ? 17 : 18
        guard (32 * 1024...1 << 20).contains(windowByteCount) else { throw self.failure("has windows of another size") }
        var window = self.byteOffset + self.pointCount * pointByteCount
        for index in 0..<self.pointCount {
            let (compressed, decoded, bits) = (try self.size(), try self.size(), try self.number(UInt8.self))
            let hasWindow = version == 0 ? index > 0 : try self.number(UInt8.self) != 0
            guard bits < 8, !hasWindow || window + windowByteCount <= self.file.byteCount else {
                throw self.failure("has a point that cannot be")
            }
            // Decoding needs the last 32 KiB.
            let place = ForeignIndex.Window(
                byteOffset: window + windowByteCount - 32 * 1024, byteCount: 32 * 1024, isPacked: false)
            try self.append(bitOffset: compressed * 8 - Int64(bits), decoded, hasWindow ? place : nil)
            if hasWindow { window += windowByteCount }
        }
    }

    /// Parses a head, the points, each with its window behind it, and the length of the decoded bytes; some with
    /// numbers of lines.
    mutating func parseGztool() throws(BlobError) {
        self.byteOffset = 15
        let hasLines = try self.number(UInt8.self) == UInt8(ascii: "X")
        if hasLines { _ = try self.number(UInt32.self) }
        self.pointCount = try self.size()
        let isComplete = try self.size() == self.pointCount
        for _ in 0..<self.pointCount {
            let (decoded, compressed) = (try self.size(), try self.size())
            let (bits, count) = (try self.number(UInt32.self), Int(try self.number(UInt32.self)))
            guard bits < 8, count <= 64 * 1024, Int64(count) <= self.file.byteCount - self.byteOffset else {
                throw self.failure("has a point that cannot be")
            }
            let place = ForeignIndex.Window(byteOffset: self.byteOffset, byteCount: count, isPacked: true)
            try self.append(bitOffset: compressed * 8 - Int64(bits), decoded, count > 0 ? place : nil)
            self.byteOffset += Int64(count)
            if hasLines { _ = try self.size() }
        }
        guard isComplete else { return }
        self.byteCount = try self.size()
        if hasLines { _ = try self.size() }
    }

    private mutating func append(
        bitOffset: Int64, _ byteOffset: Int64, _ window: ForeignIndex.Window?
    ) throws(BlobError) {
        // Two points may be at one decoded byte, when there is nothing between them.
        guard bitOffset >= 0, bitOffset > self.last?.bitOffset ?? -1, byteOffset >= self.last?.byteOffset ?? 0,
            bitOffset <= 8 * (self.compressedByteCount ?? .max / 8)
        else { throw self.failure("has a point out of order") }
        self.last = (bitOffset, byteOffset)
        if self.number % self.stride == 0 {
            self.points.append(
                ForeignIndex.Point(bitOffset: bitOffset, byteOffset: byteOffset, window: window))
        }
        self.number += 1
        guard self.points.count > ForeignIndex.maximumPointCount else { return }
        self.stride *= 2
        self.points = Swift.stride(from: 0, to: self.points.count, by: 2).map { self.points[$0] }
    }

    /// Reads a length or an offset.
    private mutating func size() throws(BlobError) -> Int64 {
        guard let size = Int64(exactly: try self.number(UInt64.self)), size <= Self.maximumByteCount else {
            throw self.failure("has a number past its limit")
        }
        return size
    }

    /// Reads a number, in the order of bytes of the format.
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
        BlobError(.corrupted, "The index of \(self.format.rawValue) \(predicate).", byteOffset: self.byteOffset)
    }
}
