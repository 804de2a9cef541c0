/// The sizes by which an index is made and used; tests make them small.
struct GzipTuning: Sendable {
    /// The distance of points in decoded bytes, where blocks are not longer.
    var pointSpacing: Int64
    /// The distance of points in front of members, which take a few bytes only.
    var memberSpacing: Int64
    /// The most that one thread of several decodes at a time: a slice or some short ones.
    var batchByteCount: Int64

    /// 1 MiB, half a millisecond of decoding; 128 KiB; 2 MiB.
    static let standard = GzipTuning(pointSpacing: 1 << 20, memberSpacing: 128 * 1024, batchByteCount: 2 << 20)
}
