import BlobCore
import BlobDeflate
internal import BlobIndex

/// Creates an index while a stream is decoded from its start, and writes the index at the end.
///
/// The recorder receives all bytes that a ``FrameDecoder`` consumes and appends. Recording costs about a third of the
/// processor time of decoding (Benchmarks/gzip_files.py), most of it on another thread, and four bytes of memory for
/// each 64 KiB of decoded bytes.
final class PointRecorder {
    /// The number of points after which the distance between points grows with the offset, so that every index stays
    /// below 1 GiB.
    static let maximumDenseCount: Int64 = 65_536

    /// The maximum number of compressed bytes to collect for 32 KiB of decoded bytes. Only a degenerate stream needs
    /// more.
    private static let maximumProbeByteCount = 256 * 1024

    private let tuning: GzipTuning
    private let destination: IndexDestination?
    private let comparison: ToolIndexComparison?
    private let pruner = WindowPruner()
    private var points = [RestartPoint.start]
    private var checksums: [UInt32] = []

    /// The number of bytes decoded and delivered so far.
    private(set) var byteOffset: Int64 = 0
    private var nextPoint: Int64
    private var sum = CRC32()
    private var sumStart: Int64 = 0
    /// The decoded offset of a point that the delivered bytes have not yet reached.
    private var upcomingPoint: Int64?
    private var probe: WindowPruner.Job?

    private var memberCount = 0
    private var memberStart: Int64 = 0
    private var hasShortMembers = false
    private var isSearchStopped = false

    /// True if the index was explicitly requested. It is then created regardless of its cost, and errors are thrown.
    var isRequired: Bool { self.destination?.isRequired ?? true }

    /// - Parameters:
    ///   - place: The location for the index; nil to write none.
    ///   - comparison: A comparison of another tool's index with the same data; nil for no comparison.
    init(_ place: IndexDestination?, _ tuning: GzipTuning, _ comparison: ToolIndexComparison? = nil) {
        self.destination = place
        self.tuning = tuning
        self.comparison = comparison
        self.nextPoint = tuning.pointSpacing
    }

    /// True if decoding should stop at the next block end.
    var wantsBlockEnd: Bool {
        self.wantsPoint || !self.isSearchStopped && self.comparison?.wantsBlockEnd(from: self.byteOffset) ?? false
    }

    /// True if the next block end should become a point. If members are short, their starts are better points.
    private var wantsPoint: Bool {
        !self.isSearchStopped && self.probe == nil && self.upcomingPoint == nil
            && self.byteOffset >= self.nextPoint + (self.hasShortMembers ? self.tuning.pointSpacing : 0)
    }

    /// Stops the search for block ends. Call this method at the end of the input, where a point would be useless.
    func stopSearching() { self.isSearchStopped = true }

    /// Records that a member begins at this byte of the compressed data.
    func memberBegins(at inputByteOffset: Int64) {
        self.comparison?.compare(bitOffset: inputByteOffset * 8, byteOffset: self.byteOffset)
        self.memberStart = self.byteOffset
        let distance = self.byteOffset - (self.points.last?.byteOffset ?? 0)
        guard distance >= self.tuning.minimumSpacing, distance >= self.byteOffset / Self.maximumDenseCount else {
            return
        }
        self.addPoint(RestartPoint(bitOffset: inputByteOffset * 8, byteOffset: self.byteOffset))
    }

    /// Records that a member's deflate data begins at this byte of the compressed data.
    func dataBegin(at inputByteOffset: Int64) {
        self.comparison?.compare(bitOffset: inputByteOffset * 8, byteOffset: self.byteOffset)
    }

    /// Records that a member has ended and passed all checks.
    func memberEnds() {
        self.memberCount += 1
        self.hasShortMembers = self.byteOffset - self.memberStart < self.tuning.pointSpacing
    }

    /// Records that a member's deflate data has ended. No later reference crosses this end.
    func dataEnd() { self.endProbe() }

    /// Records compressed bytes that were consumed.
    func appendInput(_ input: UnsafeRawBufferPointer) {
        guard let count = self.probe?.input.count else { return }
        guard count + input.count <= Self.maximumProbeByteCount else { return self.abandonProbe() }
        self.probe?.input.append(contentsOf: input)
    }

    /// Records decoded bytes that were delivered.
    func append(_ bytes: UnsafeRawBufferPointer) {
        var rest = bytes
        while !rest.isEmpty {
            let end = min(self.sumStart + GzipIndexLayout.segmentByteCount, self.upcomingPoint ?? .max)
            let part = UnsafeRawBufferPointer(rebasing: rest.prefix(Int(end - self.byteOffset)))
            rest = UnsafeRawBufferPointer(rebasing: rest[part.count...])
            self.sum.update(part)
            self.byteOffset += Int64(part.count)
            if self.upcomingPoint == nil { self.follow(part) }
            if self.byteOffset == end { self.closeSum() }
        }
    }

    /// Records the end of a block other than the last, after the decoder has consumed the input up to
    /// `inputByteOffset`.
    func blockEnds(_ end: Inflater.BlockEnd, at inputByteOffset: Int64, window: UnsafeRawBufferPointer) {
        let bitOffset = inputByteOffset * 8 - Int64(end.unreadBitCount)
        let byteOffset = self.byteOffset + Int64(end.pendingByteCount)
        self.comparison?.compare(bitOffset: bitOffset, byteOffset: byteOffset, window: window)
        guard self.wantsPoint else { return }
        self.probe = WindowPruner.Job(window: Array(window), blockEnd: end)
        self.addPoint(RestartPoint(bitOffset: bitOffset, byteOffset: byteOffset, isInData: true))
    }

    /// Writes the index, unless the other tool's index is wrong. Call this method once, at the end.
    ///
    /// - Throws: The errors of creating and writing the index, if the index is required.
    func finish(compressedByteCount: Int64) throws(BlobError) {
        self.comparison?.finish(compressedByteCount: compressedByteCount, byteCount: self.byteOffset)
        // The index is found by the identity of the whole content, so it must cover the whole content.
        guard let destination, compressedByteCount == destination.content.byteCount,
            self.comparison?.faults.isEmpty ?? true
        else {
            return
        }
        try destination.write { () throws(BlobError) in
            let (layout, windows) = try self.index(compressedByteCount: compressedByteCount)
            let points = layout.encoded
            let sections = [
                NewIndexSection(.points(destination.layer), bytes: points),
                // Each window has its own checksum, so that it can be read without the other windows.
                NewIndexSection(.windows(destination.layer), flags: .hasOwnChecks) { sink throws(BlobError) in
                    try windows.forEachChunk(sink)
                },
            ]
            return (sections, Int64(points.count) + windows.byteCount)
        }
    }

    private func index(compressedByteCount: Int64) throws(BlobError) -> (GzipIndexLayout, SpillBuffer) {
        self.endProbe()
        if self.byteOffset > self.sumStart { self.closeSum() }
        let (places, packed) = try self.pruner.finish()
        var remaining = places[...]
        var windows = self.points.map { $0.isInData ? remaining.popFirst() : nil }
        // A point at the end is useless and would have no checksum.
        while self.points.count > 1, self.points.last?.byteOffset == self.byteOffset {
            self.points.removeLast()
            windows.removeLast()
        }
        let points = RestartPoints(
            self.points, compressedByteCount: compressedByteCount, byteCount: self.byteOffset)
        return (
            GzipIndexLayout(points, windows: windows, memberCount: self.memberCount, checksums: self.checksums), packed
        )
    }

    private func addPoint(_ point: RestartPoint) {
        self.points.append(point)
        self.nextPoint = point.byteOffset + max(self.tuning.pointSpacing, point.byteOffset / Self.maximumDenseCount)
        if point.byteOffset == self.byteOffset {
            if self.byteOffset > self.sumStart { self.closeSum() }
        } else {
            self.upcomingPoint = point.byteOffset
        }
    }

    private func closeSum() {
        self.checksums.append(self.sum.value)
        self.sum = CRC32()
        self.sumStart = self.byteOffset
        if self.upcomingPoint == self.byteOffset { self.upcomingPoint = nil }
    }

    private func follow(_ bytes: UnsafeRawBufferPointer) {
        guard let count = self.probe?.following.count else { return }
        self.probe?.following.append(contentsOf: bytes.prefix(Inflater.windowByteCount - count))
        if self.probe?.following.count == Inflater.windowByteCount { self.endProbe() }
    }

    private func endProbe() {
        guard let probe = self.probe.take() else { return }
        self.pruner.add(probe)
    }

    /// Ends the probe without its input, so that the whole window is stored.
    private func abandonProbe() {
        self.probe?.input = []
        self.endProbe()
    }
}

/// The sizes for creating and using an index. Tests use small sizes.
package struct GzipTuning: Sendable {
    /// The distance between restart points in decoded bytes, which is greater if blocks are longer.
    package var pointSpacing: Int64
    /// The minimum distance, in decoded bytes, between restart points at the beginnings of members. Such a point needs
    /// only a few bytes.
    package var memberSpacing: Int64
    /// The maximum number of bytes that one of several threads decodes at a time, from one slice or several short
    /// slices.
    package var batchByteCount: Int64

    /// The minimum distance between any two points in decoded bytes.
    var minimumSpacing: Int64 { min(self.memberSpacing, self.pointSpacing) }

    package init(pointSpacing: Int64, memberSpacing: Int64, batchByteCount: Int64) {
        self.pointSpacing = pointSpacing
        self.memberSpacing = memberSpacing
        self.batchByteCount = batchByteCount
    }

    /// The default sizes: 1 MiB between points (half a millisecond of decoding), 128 KiB between points at members, and
    /// batches of 2 MiB.
    package static let standard = GzipTuning(pointSpacing: 1 << 20, memberSpacing: 128 * 1024, batchByteCount: 2 << 20)
}
