import BlobCore
import BlobDeflate
internal import BlobIndex

/// The location of a restart point's window in the section, where it is packed as raw deflate data.
struct PackedWindow: Equatable, Sendable {
    var byteOffset: Int64
    var byteCount: Int
    /// The CRC-32 of the packed bytes.
    var checksum: UInt32
}

/// The layout of an index of compressed data: restart points, and checksums of the decoded bytes between them.
///
/// The points divide the decoded bytes into slices. A slice consists of segments of 64 KiB, the last of which may be
/// shorter. Each segment has a CRC-32.
struct GzipIndexLayout: Sendable {
    /// The restart points, of which there is at least one.
    let points: RestartPoints
    /// The window of each point; nil for a point before a header.
    let windows: [PackedWindow?]
    /// The number of members; 1 for a format without members.
    let memberCount: Int
    /// The CRC-32 of each segment, in order.
    let checksums: [UInt32]
    /// The length of the longest slice in decoded bytes.
    let maximumSliceByteCount: Int64
    /// The index of the first segment of each slice, followed by the number of segments.
    private let firstSegments: [Int]

    /// The maximum number of decoded bytes covered by one checksum: 64 KiB.
    static let segmentByteCount: Int64 = 64 * 1024

    init(_ points: RestartPoints, windows: [PackedWindow?], memberCount: Int, checksums: [UInt32]) {
        (self.points, self.windows, self.memberCount, self.checksums) = (points, windows, memberCount, checksums)
        self.maximumSliceByteCount = points.maximumSliceByteCount
        self.firstSegments = Self.firstSegments(of: points)
    }

    private static func firstSegments(of points: RestartPoints) -> [Int] {
        var starts = [0]
        for slice in points.places.indices {
            let byteCount = Int64(points.slice(slice).count)
            starts.append(starts[slice] + Int((byteCount + Self.segmentByteCount - 1) / Self.segmentByteCount))
        }
        return starts
    }

    /// The number of decoded bytes.
    var byteCount: Int64 { self.points.byteCount }

    /// Returns the ranges of decoded bytes in a slice that have a checksum each.
    func segments(of slice: Int) -> [Range<Int64>] {
        let range = self.points.slice(slice)
        return stride(from: range.lowerBound, to: range.upperBound, by: Int(Self.segmentByteCount)).map {
            $0..<min($0 + Self.segmentByteCount, range.upperBound)
        }
    }

    /// Returns the CRC-32 of the segment of `slice` that begins at `byteOffset`.
    func sum(of slice: Int, at byteOffset: Int64) -> UInt32 {
        self.checksums[
            self.firstSegments[slice] + Int((byteOffset - self.points[slice].byteOffset) / Self.segmentByteCount)]
    }

    /// Returns the slices from `first` on that fit into `byteCount`, until they fill at least half of it; empty if the
    /// first slice is longer or missing.
    func slices(from first: Int, fitting byteCount: Int64) -> Range<Int> {
        var end = first
        while end < self.points.count {
            let soFar = self.points[end].byteOffset - self.points[first].byteOffset
            guard soFar + Int64(self.points.slice(end).count) <= byteCount, soFar < byteCount / 2 else { break }
            end += 1
        }
        return first..<end
    }

    // MARK: The section

    /// The version of the section's format. Other versions are not read.
    private static let version: UInt64 = 1

    /// The maximum number of decoded bytes per compressed byte: two bits, the shortest codes for a length and a
    /// distance, produce at most 258 bytes (RFC 1951, section 3.2.5).
    private static let maximumRatio: Int64 = 1032

    /// The maximum encoded length of a point in bytes: three varints and a checksum.
    private static let maximumPointByteCount: Int64 = 3 * 10 + 4

    /// The maximum encoded length of the fields before the points in bytes: five varints.
    private static let maximumHeadByteCount: Int64 = 5 * 10

    /// Returns the maximum number of points that a recorder creates for a number of decoded bytes.
    ///
    /// Beyond ``PointRecorder/maximumDenseCount`` points, the distance to the previous point is at least 1/65,536 of
    /// the offset. Each time the offset grows by the factor e, at most as many points are added again, and after 19
    /// such steps the offset is past 2^60.
    private static func maximumPointCount(byteCount: Int64, spacing: Int64) -> Int64 {
        min(byteCount / max(spacing, 1), PointRecorder.maximumDenseCount * 20) + 1
    }

    /// Returns the maximum length in bytes of the restart point section for compressed data of a given length.
    ///
    /// - Parameter spacing: The minimum distance between points in decoded bytes.
    static func maximumEncodedByteCount(compressedByteCount: Int64, spacing: Int64) -> Int64 {
        let (byteCount, overflows) = compressedByteCount.multipliedReportingOverflow(by: Self.maximumRatio)
        guard !overflows, byteCount >= 0 else { return .max }
        let pointCount = Self.maximumPointCount(byteCount: byteCount, spacing: spacing)
        let sumCount = byteCount / Self.segmentByteCount + pointCount
        return Self.maximumHeadByteCount + pointCount * Self.maximumPointByteCount + sumCount * 4
    }

    /// The encoded section of restart points. Each offset is relative to the previous point.
    var encoded: [UInt8] {
        var writer = IndexWriter()
        writer.append(varint: Self.version)
        let (points, memberCount) = (self.points, Int64(self.memberCount))
        for number in [points.compressedByteCount, points.byteCount, memberCount, Int64(points.count)] {
            writer.append(varint: UInt64(number))
        }
        var previous = RestartPoint.start
        for (point, window) in zip(points.places, self.windows) {
            writer.append(varint: UInt64(point.bitOffset - previous.bitOffset))
            writer.append(varint: UInt64(point.byteOffset - previous.byteOffset))
            // 0: no window.
            writer.append(varint: UInt64(window?.byteCount ?? 0))
            if let window { writer.append(fixed: window.checksum) }
            previous = point
        }
        for sum in self.checksums { writer.append(fixed: sum) }
        return writer.bytes
    }

    /// Decodes a section of restart points.
    ///
    /// - Parameter spacing: The minimum distance between points in decoded bytes, which limits their number.
    /// - Throws: ``BlobError/Code/corrupted`` for bytes that no recorder writes. The error is thrown before memory is
    ///   allocated for more points than the compressed data can contain.
    init(decoding bytes: [UInt8], spacing: Int64) throws(BlobError) {
        var reader = IndexReader(bytes)
        guard try reader.readVarint() == Self.version else { throw reader.failure("has an unsupported version") }
        let compressedByteCount = Int64(try reader.count())
        let byteCount = Int64(try reader.count())
        let memberCount = try reader.count()
        let pointCount = try reader.count()
        // These limits prevent sums and products of offsets from overflowing.
        guard pointCount > 0, max(compressedByteCount, byteCount) <= .max / 8 else {
            throw reader.failure("has no restart points, or contains impossible sizes")
        }
        guard byteCount / Self.maximumRatio <= compressedByteCount,
            Int64(pointCount) <= Self.maximumPointCount(byteCount: byteCount, spacing: spacing)
        else { throw reader.failure("has more decoded bytes or restart points than the compressed data can have") }
        let (places, windows) = try Self.points(
            pointCount, from: &reader, compressedByteCount: compressedByteCount, byteCount: byteCount)
        let points = RestartPoints(places, compressedByteCount: compressedByteCount, byteCount: byteCount)
        let sumCount = reader.remaining / 4
        guard reader.remaining % 4 == 0, sumCount == Self.firstSegments(of: points).last else {
            throw reader.failure("has the wrong number of checksums")
        }
        let checksums = try (0..<sumCount).map { _ throws(BlobError) in try reader.readFixed(UInt32.self) }
        self.init(points, windows: windows, memberCount: memberCount, checksums: checksums)
    }

    private static func points(
        _ count: Int, from reader: inout IndexReader, compressedByteCount: Int64, byteCount: Int64
    ) throws(BlobError) -> ([RestartPoint], [PackedWindow?]) {
        var (points, windows) = ([RestartPoint](), [PackedWindow?]())
        var (previous, windowOffset) = (RestartPoint.start, Int64(0))
        for index in 0..<count {
            let (bits, bytes) = (Int64(try reader.count()), Int64(try reader.count()))
            let windowCount = try reader.count(atMost: Inflater.windowByteCount * 2)
            let (bitOffset, overflows) = previous.bitOffset.addingReportingOverflow(bits)
            let (byteOffset, overflowsToo) = previous.byteOffset.addingReportingOverflow(bytes)
            guard !overflows, !overflowsToo, bitOffset <= compressedByteCount * 8, byteOffset <= byteCount,
                index == 0 ? bits == 0 && bytes == 0 && windowCount == 0 : bits > 0 && bytes > 0,
                windowCount > 0 || bitOffset % 8 == 0
            else { throw reader.failure("has a restart point that is out of order or out of range") }
            previous = RestartPoint(bitOffset: bitOffset, byteOffset: byteOffset, isInData: windowCount > 0)
            points.append(previous)
            windows.append(
                windowCount == 0
                    ? nil
                    : PackedWindow(byteOffset: windowOffset, byteCount: windowCount, checksum: try reader.readFixed()))
            windowOffset += Int64(windowCount)
        }
        return (points, windows)
    }
}
