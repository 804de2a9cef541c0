/// The sizes for making and using an index; tests use small ones.
package struct GzipTuning: Sendable {
    /// The distance of restart points in decoded bytes; greater where blocks are longer.
    package var pointSpacing: Int64
    /// The smallest distance of points before members in decoded bytes; such points take only a few bytes.
    package var memberSpacing: Int64
    /// The largest number of bytes that one of several threads decodes at a time: one slice or several short ones.
    package var batchByteCount: Int64

    /// The smallest distance of any two points in decoded bytes.
    var minimumSpacing: Int64 { min(self.memberSpacing, self.pointSpacing) }

    package init(pointSpacing: Int64, memberSpacing: Int64, batchByteCount: Int64) {
        self.pointSpacing = pointSpacing
        self.memberSpacing = memberSpacing
        self.batchByteCount = batchByteCount
    }

    /// The default sizes: 1 MiB, which is half a millisecond of decoding; 128 KiB; 2 MiB.
    package static let standard = GzipTuning(pointSpacing: 1 << 20, memberSpacing: 128 * 1024, batchByteCount: 2 << 20)
}
