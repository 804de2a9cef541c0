import BlobCore
import BlobDeflate
import BlobIndex

/// The layout of an index of compressed data: restart points, and checksums of the decoded bytes between them.
///
/// The points divide the decoded bytes into slices, and a slice consists of segments of 64 KiB, the last of which may
/// be shorter; each segment has a CRC-32.
struct GzipIndexLayout: Sendable {
    /// The length of the compressed data in bytes.
    let compressedByteCount: Int64
    /// The number of decoded bytes.
    let byteCount: Int64
    /// The number of members; 1 for a format without members.
    let memberCount: Int
    /// The restart points in ascending order; at least one, and the first at the start.
    let points: [RestartPoint]
    /// The CRC-32 of each segment, in order.
    let sums: [UInt32]
    /// The index of the first segment of each slice.
    private let firstSegments: [Int]
    /// The number of segments of all slices.
    private let segmentCount: Int
    /// The length of the longest slice in decoded bytes.
    let maximumSliceByteCount: Int64

    init(compressedByteCount: Int64, byteCount: Int64, memberCount: Int, points: [RestartPoint], sums: [UInt32]) {
        self.compressedByteCount = compressedByteCount
        self.byteCount = byteCount
        self.memberCount = memberCount
        self.points = points
        self.sums = sums
        var (firstSegments, segmentCount, maximum) = ([Int](), 0, Int64(0))
        for index in points.indices {
            let end = index + 1 < points.count ? points[index + 1].byteOffset : byteCount
            let count = end - points[index].byteOffset
            firstSegments.append(segmentCount)
            segmentCount += Int((count + PointRecorder.sumByteCount - 1) / PointRecorder.sumByteCount)
            maximum = max(maximum, count)
        }
        self.firstSegments = firstSegments
        self.segmentCount = segmentCount
        self.maximumSliceByteCount = maximum
    }

    /// Returns the range of the decoded bytes of a slice.
    func slice(_ index: Int) -> Range<Int64> {
        let end = index + 1 < self.points.count ? self.points[index + 1].byteOffset : self.byteCount
        return self.points[index].byteOffset..<end
    }

    /// Returns slices from `first` on that have at least half of `byteCount` bytes together, as far as they fit into
    /// `byteCount`; none when the first slice is longer, or there is none.
    func slices(from first: Int, fitting byteCount: Int64) -> Range<Int> {
        var end = first
        while end < self.points.count {
            let soFar = self.points[end].byteOffset - self.points[first].byteOffset
            guard soFar + Int64(self.slice(end).count) <= byteCount, soFar < byteCount / 2 else { break }
            end += 1
        }
        return first..<end
    }

    /// Returns the slice that contains a byte, 0...byteCount; the last slice for the end.
    func sliceIndex(of byteOffset: Int64) -> Int {
        var (low, high) = (0, self.points.count)
        while high - low > 1 {
            let middle = (low + high) / 2
            if self.points[middle].byteOffset <= byteOffset { low = middle } else { high = middle }
        }
        return low
    }

    /// Returns the CRC-32 of the segment of `slice` that begins at `byteOffset`.
    func sum(of slice: Int, at byteOffset: Int64) -> UInt32 {
        self.sums[
            self.firstSegments[slice]
                + Int((byteOffset - self.points[slice].byteOffset) / PointRecorder.sumByteCount)]
    }
}

extension GzipIndexLayout {
    /// The version of the format of the section; other versions are not read.
    private static let version: UInt64 = 1

    /// The largest number of points: those of 2^48 decoded bytes in slices of 1 MiB. More would hardly fit in memory.
    private static let maximumCount = 1 << 28

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
    /// - Throws: ``BlobError/Code/corrupted`` for bytes that no recorder writes.
    init(decoding bytes: [UInt8]) throws(BlobError) {
        var reader = IndexReader(bytes)
        guard try reader.varint() == Self.version else { throw reader.failure("has another version") }
        let compressedByteCount = Int64(try reader.count())
        let byteCount = Int64(try reader.count())
        let memberCount = try reader.count()
        let pointCount = try reader.count(atMost: min(Self.maximumCount, reader.remaining))
        // The bounds keep sums and products of offsets from overflowing.
        guard pointCount > 0, max(compressedByteCount, byteCount) <= .max / 8 else {
            throw reader.failure("has no restart points, or sizes that no content has")
        }
        var points: [RestartPoint] = []
        points.reserveCapacity(pointCount)
        var (previous, windowOffset) = (RestartPoint.start, Int64(0))
        for index in 0..<pointCount {
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
        let sums = try (0..<(reader.remaining / 4)).map { _ throws(BlobError) in try reader.fixed(UInt32.self) }
        self.init(
            compressedByteCount: compressedByteCount, byteCount: byteCount, memberCount: memberCount, points: points,
            sums: sums)
        guard reader.isAtEnd, self.sums.count == self.segmentCount else {
            throw reader.failure("has another number of checksums")
        }
    }
}
