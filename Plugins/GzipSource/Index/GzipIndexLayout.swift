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
            segmentCount += Self.segmentCount(of: count)
            maximum = max(maximum, count)
        }
        self.firstSegments = firstSegments
        self.maximumSliceByteCount = maximum
    }

    /// Returns the number of segments of a slice.
    private static func segmentCount(of byteCount: Int64) -> Int {
        Int((byteCount + PointRecorder.sumByteCount - 1) / PointRecorder.sumByteCount)
    }

    /// Returns the number of segments of all slices.
    static func segmentCount(of points: [RestartPoint], byteCount: Int64) -> Int {
        points.indices.reduce(0) { count, index in
            let end = index + 1 < points.count ? points[index + 1].byteOffset : byteCount
            return count + Self.segmentCount(of: end - points[index].byteOffset)
        }
    }

    /// Returns the range of the decoded bytes of a slice.
    func slice(_ index: Int) -> Range<Int64> {
        let end = index + 1 < self.points.count ? self.points[index + 1].byteOffset : self.byteCount
        return self.points[index].byteOffset..<end
    }

    /// Returns the range of the compressed bytes of a slice, to the byte.
    func compressedRange(of index: Int) -> Range<Int64> {
        let next = index + 1 < self.points.count ? (self.points[index + 1].bitOffset + 7) / 8 : self.compressedByteCount
        return self.points[index].bitOffset / 8..<next
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
