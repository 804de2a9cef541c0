import BlobCore
import BlobDeflate

/// A recorder of restart points and checksums while a stream is decoded from its start.
///
/// Receives all bytes that a ``FrameDecoder`` consumes and appends. Costs about a third of the processor time of
/// decoding (Benchmarks/gzip_files.py), most of it on another thread, and four bytes of memory for each 64 KiB of
/// decoded bytes.
final class PointRecorder {
    /// The largest number of decoded bytes of one checksum: 64 KiB.
    static let sumByteCount: Int64 = 64 * 1024

    /// The number of points after which their distance grows with the offset, so that every index stays below 1 GiB.
    static let maximumDenseCount: Int64 = 65_536

    /// The largest number of compressed bytes to collect for 32 KiB of decoded bytes; only a degenerate stream has
    /// more.
    private static let maximumProbeByteCount = 256 * 1024

    private let spacing: Int64
    private let memberSpacing: Int64
    private let comparison: ForeignComparison?
    private let pruner = WindowPruner()
    private var points = [RestartPoint.start]
    private var sums: [UInt32] = []

    /// The number of bytes decoded and delivered.
    private(set) var byteOffset: Int64 = 0
    private var nextPoint: Int64
    private var sum = CRC32()
    private var sumStart: Int64 = 0
    /// The decoded offset of a point that the delivered bytes have not reached yet.
    private var upcomingPoint: Int64?
    private var probe: WindowPruner.Job?

    private var memberCount = 0
    private var memberStart: Int64 = 0
    private var hasShortMembers = false
    private var isSearchStopped = false

    /// - Parameter comparison: Compares the index of another tool with the same data; nil for none.
    init(_ tuning: GzipTuning, _ comparison: ForeignComparison? = nil) {
        self.comparison = comparison
        self.spacing = tuning.pointSpacing
        self.memberSpacing = tuning.minimumSpacing
        self.nextPoint = tuning.pointSpacing
    }

    /// True when decoding should stop at the next block end.
    var wantsBlockEnd: Bool {
        self.wantsPoint || !self.isSearchStopped && self.comparison?.wantsBlockEnd(from: self.byteOffset) ?? false
    }

    /// True when the next block end should become a point. Where members are short, their starts are better points.
    private var wantsPoint: Bool {
        !self.isSearchStopped && self.probe == nil && self.upcomingPoint == nil
            && self.byteOffset >= self.nextPoint + (self.hasShortMembers ? self.spacing : 0)
    }

    /// Stops the search for block ends; called at the end of the input, where a point would be useless.
    func stopSearching() { self.isSearchStopped = true }

    /// Records that a member begins at this byte of the compressed data.
    func memberBegins(at inputByteOffset: Int64) {
        self.comparison?.meet(bitOffset: inputByteOffset * 8, byteOffset: self.byteOffset)
        self.memberStart = self.byteOffset
        let distance = self.byteOffset - (self.points.last?.byteOffset ?? 0)
        guard distance >= self.memberSpacing, distance >= self.byteOffset / Self.maximumDenseCount else { return }
        self.addPoint(RestartPoint(bitOffset: inputByteOffset * 8, byteOffset: self.byteOffset, window: nil))
    }

    /// Records that the deflate data of a member begin at this byte of the compressed data.
    func dataBegin(at inputByteOffset: Int64) {
        self.comparison?.meet(bitOffset: inputByteOffset * 8, byteOffset: self.byteOffset)
    }

    /// Records that a member ended and passed all checks.
    func memberEnds() {
        self.memberCount += 1
        self.hasShortMembers = self.byteOffset - self.memberStart < self.spacing
    }

    /// Records that the deflate data of a member ended: no later reference reaches back across this end.
    func dataEnd() { self.endProbe() }

    /// Records compressed bytes that were consumed.
    func take(_ input: UnsafeRawBufferPointer) {
        guard let count = self.probe?.input.count else { return }
        guard count + input.count <= Self.maximumProbeByteCount else { return self.abandonProbe() }
        self.probe?.input.append(contentsOf: input)
    }

    /// Records decoded bytes that were delivered.
    func append(_ bytes: UnsafeRawBufferPointer) {
        var rest = bytes
        while !rest.isEmpty {
            let end = min(self.sumStart + Self.sumByteCount, self.upcomingPoint ?? .max)
            let part = UnsafeRawBufferPointer(rebasing: rest.prefix(Int(end - self.byteOffset)))
            rest = UnsafeRawBufferPointer(rebasing: rest[part.count...])
            self.sum.update(part)
            self.byteOffset += Int64(part.count)
            if self.upcomingPoint == nil { self.follow(part) }
            if self.byteOffset == end { self.closeSum() }
        }
    }

    /// Records the end of a block that is not the last; the decoder had consumed the input up to `inputByteOffset`.
    func blockEnds(_ end: Inflater.BlockEnd, at inputByteOffset: Int64, window: UnsafeRawBufferPointer) {
        let bitOffset = inputByteOffset * 8 - Int64(end.unreadBitCount)
        let byteOffset = self.byteOffset + Int64(end.pendingByteCount)
        self.comparison?.meet(bitOffset: bitOffset, byteOffset: byteOffset, window: window)
        guard self.wantsPoint else { return }
        self.probe = WindowPruner.Job(window: Array(window), blockEnd: end)
        // The place of the window is filled in at the end.
        self.addPoint(
            RestartPoint(
                bitOffset: bitOffset, byteOffset: byteOffset,
                window: RestartPoint.PackedWindow(byteOffset: 0, byteCount: 0, checksum: 0)))
    }

    /// Returns the index; called once, when the end is reached.
    func finish(compressedByteCount: Int64) throws(BlobError) -> NewGzipIndex {
        self.endProbe()
        if self.byteOffset > self.sumStart { self.closeSum() }
        let (places, windows) = try self.pruner.finish()
        var remaining = places[...]
        for index in self.points.indices where self.points[index].window != nil {
            self.points[index].window = remaining.popFirst()
        }
        // A point at the end is useless, and would have no checksum.
        while self.points.count > 1, self.points.last?.byteOffset == self.byteOffset { self.points.removeLast() }
        return NewGzipIndex(
            layout: GzipIndexLayout(
                compressedByteCount: compressedByteCount, byteCount: self.byteOffset, memberCount: self.memberCount,
                points: self.points, sums: self.sums), windows: windows)
    }

    private func addPoint(_ point: RestartPoint) {
        self.points.append(point)
        self.nextPoint = point.byteOffset + max(self.spacing, point.byteOffset / Self.maximumDenseCount)
        if point.byteOffset == self.byteOffset {
            if self.byteOffset > self.sumStart { self.closeSum() }
        } else {
            self.upcomingPoint = point.byteOffset
        }
    }

    private func closeSum() {
        self.sums.append(self.sum.value)
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

    /// Ends the probe without its input, so that the whole window is kept.
    private func abandonProbe() {
        self.probe?.input = []
        self.endProbe()
    }
}
