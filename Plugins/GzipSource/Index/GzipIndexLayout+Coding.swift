import BlobCore
import BlobDeflate
internal import BlobIndex

extension GzipIndexLayout {
    /// The version of the format of the section; other versions are not read.
    private static let version: UInt64 = 1

    /// The largest number of decoded bytes from one compressed byte: two bits, the shortest codes of a length and a
    /// distance, give at most 258 bytes (RFC 1951, section 3.2.5).
    private static let maximumRatio: Int64 = 1032

    /// The largest encoded length of a point in bytes: three varints and a checksum.
    private static let maximumPointByteCount: Int64 = 3 * 10 + 4

    /// The largest encoded length of the fields before the points, in bytes: five varints.
    private static let maximumHeadByteCount: Int64 = 5 * 10

    /// Returns the largest number of points that a recorder makes for a number of decoded bytes.
    ///
    /// Beyond ``PointRecorder/maximumDenseCount`` points, each lies at least the 65,536th part of its offset after the
    /// one before: as many again until the offset has grown by the factor e. After 19 such steps it is past 2^60.
    private static func maximumPointCount(byteCount: Int64, spacing: Int64) -> Int64 {
        min(byteCount / max(spacing, 1), PointRecorder.maximumDenseCount * 20) + 1
    }

    /// Returns the largest length of the section of restart points for compressed data of a length, in bytes.
    ///
    /// - Parameter spacing: The smallest distance of points in decoded bytes.
    static func maximumEncodedByteCount(compressedByteCount: Int64, spacing: Int64) -> Int64 {
        let (byteCount, overflows) = compressedByteCount.multipliedReportingOverflow(by: Self.maximumRatio)
        guard !overflows, byteCount >= 0 else { return .max }
        let pointCount = Self.maximumPointCount(byteCount: byteCount, spacing: spacing)
        let sumCount = byteCount / PointRecorder.sumByteCount + pointCount
        return Self.maximumHeadByteCount + pointCount * Self.maximumPointByteCount + sumCount * 4
    }

    /// The encoded section of restart points. Offsets are relative to those of the previous point.
    var encoded: [UInt8] {
        var writer = IndexWriter()
        writer.append(varint: Self.version)
        for number in [self.compressedByteCount, self.byteCount, Int64(self.memberCount), Int64(self.points.count)] {
            writer.append(varint: UInt64(number))
        }
        var previous = RestartPoint.start
        for point in self.points {
            writer.append(varint: UInt64(point.bitOffset - previous.bitOffset))
            writer.append(varint: UInt64(point.byteOffset - previous.byteOffset))
            // 0: no window.
            writer.append(varint: UInt64(point.window?.byteCount ?? 0))
            if let window = point.window { writer.append(fixed: window.checksum) }
            previous = point
        }
        for sum in self.sums { writer.append(fixed: sum) }
        return writer.bytes
    }

    /// Decodes a section of restart points.
    ///
    /// - Parameter spacing: The smallest distance of points in decoded bytes, which bounds their number.
    /// - Throws: ``BlobError/Code/corrupted`` for bytes that no recorder writes, before memory is taken for more points
    ///   than the compressed data can hold.
    init(decoding bytes: [UInt8], spacing: Int64) throws(BlobError) {
        var reader = IndexReader(bytes)
        guard try reader.varint() == Self.version else { throw reader.failure("has another version") }
        let compressedByteCount = Int64(try reader.count())
        let byteCount = Int64(try reader.count())
        let memberCount = try reader.count()
        let pointCount = try reader.count()
        // The bounds keep sums and products of offsets from overflowing.
        guard pointCount > 0, max(compressedByteCount, byteCount) <= .max / 8 else {
            throw reader.failure("has no restart points, or sizes that no content has")
        }
        guard byteCount / Self.maximumRatio <= compressedByteCount,
            Int64(pointCount) <= Self.maximumPointCount(byteCount: byteCount, spacing: spacing)
        else { throw reader.failure("has more bytes or restart points than its content can have") }
        let points = try Self.points(
            pointCount, from: &reader, compressedByteCount: compressedByteCount, byteCount: byteCount)
        let sumCount = reader.remaining / 4
        guard reader.remaining % 4 == 0, sumCount == Self.segmentCount(of: points, byteCount: byteCount) else {
            throw reader.failure("has another number of checksums")
        }
        let sums = try (0..<sumCount).map { _ throws(BlobError) in try reader.fixed(UInt32.self) }
        self.init(
            compressedByteCount: compressedByteCount, byteCount: byteCount, memberCount: memberCount, points: points,
            sums: sums)
    }

    private static func points(
        _ count: Int, from reader: inout IndexReader, compressedByteCount: Int64, byteCount: Int64
    ) throws(BlobError) -> [RestartPoint] {
        var points: [RestartPoint] = []
        // A point takes at least three bytes.
        points.reserveCapacity(min(count, reader.remaining / 3))
        var (previous, windowOffset) = (RestartPoint.start, Int64(0))
        for index in 0..<count {
            let (bits, bytes) = (Int64(try reader.count()), Int64(try reader.count()))
            let windowCount = try reader.count(atMost: Inflater.windowByteCount * 2)
            let (bitOffset, overflows) = previous.bitOffset.addingReportingOverflow(bits)
            let (byteOffset, overflowsToo) = previous.byteOffset.addingReportingOverflow(bytes)
            guard !overflows, !overflowsToo, bitOffset <= compressedByteCount * 8, byteOffset <= byteCount,
                index == 0 ? bits == 0 && bytes == 0 && windowCount == 0 : bits > 0 && bytes > 0,
                windowCount > 0 || bitOffset % 8 == 0
            else { throw reader.failure("has a restart point out of order") }
            var point = RestartPoint(bitOffset: bitOffset, byteOffset: byteOffset, window: nil)
            if windowCount > 0 {
                point.window = RestartPoint.PackedWindow(
                    byteOffset: windowOffset, byteCount: windowCount, checksum: try reader.fixed())
                windowOffset += Int64(windowCount)
            }
            points.append(point)
            previous = point
        }
        return points
    }
}
