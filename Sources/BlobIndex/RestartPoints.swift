package import BlobCore

/// A position in compressed data at which decoding can begin.
package struct RestartPoint: Equatable, Sendable {
    /// The offset in the compressed data, in bits.
    package var bitOffset: Int64
    /// The offset of the first byte in the decoded bytes.
    package var byteOffset: Int64
    /// A number that the format needs for decoding from here; 0 unless the format defines it.
    package var detail: UInt64

    package init(bitOffset: Int64, byteOffset: Int64, detail: UInt64 = 0) {
        (self.bitOffset, self.byteOffset, self.detail) = (bitOffset, byteOffset, detail)
    }

    /// The position before the first byte.
    package static let start = RestartPoint(bitOffset: 0, byteOffset: 0)

    /// The offset of the compressed byte that contains the position.
    package var compressedByteOffset: Int64 { self.bitOffset / 8 }
}

/// The positions at which the decoding of compressed data can begin. They divide the decoded bytes into slices.
package struct RestartPoints: Sendable {
    /// The positions in ascending order; the array is empty, or its first element is at the start.
    package private(set) var places: [RestartPoint]
    /// The length of the compressed data in bytes.
    package private(set) var compressedByteCount: Int64
    /// The number of decoded bytes.
    package private(set) var byteCount: Int64

    package init(_ places: [RestartPoint] = [], compressedByteCount: Int64 = 0, byteCount: Int64 = 0) {
        (self.places, self.compressedByteCount, self.byteCount) = (places, compressedByteCount, byteCount)
    }

    /// Appends a slice, which begins at the current end of the decoded bytes.
    ///
    /// - Returns: False if the decoded bytes would exceed the maximum length of a blob.
    package mutating func append(_ byteCount: Int64, compressed: Range<Int64>, detail: UInt64) -> Bool {
        let (end, overflows) = self.byteCount.addingReportingOverflow(byteCount)
        guard byteCount >= 0, !overflows else { return false }
        self.places.append(
            RestartPoint(bitOffset: compressed.lowerBound * 8, byteOffset: self.byteCount, detail: detail))
        (self.compressedByteCount, self.byteCount) = (compressed.upperBound, end)
        return true
    }

    package var count: Int { self.places.count }

    /// The length of the longest slice in decoded bytes.
    package var maximumSliceByteCount: Int64 {
        self.places.indices.reduce(0) { max($0, Int64(self.slice($1).count)) }
    }

    package subscript(index: Int) -> RestartPoint { self.places[index] }

    /// Returns the range of the decoded bytes of a slice.
    package func slice(_ index: Int) -> Range<Int64> {
        let end = index + 1 < self.places.count ? self.places[index + 1].byteOffset : self.byteCount
        return self.places[index].byteOffset..<end
    }

    /// Returns the range of the compressed bytes of a slice, to the byte.
    package func compressedRange(of index: Int) -> Range<Int64> {
        let next = index + 1
        let end = next < self.places.count ? (self.places[next].bitOffset + 7) / 8 : self.compressedByteCount
        return self.places[index].compressedByteOffset..<end
    }

    /// Returns the range of the compressed bytes that are read to decode a range; nil if the range contains no decoded
    /// bytes.
    package func compressedRange(of decoded: Range<Int64>) -> Range<Int64>? {
        let inside = decoded.clamped(to: 0..<self.byteCount)
        guard !inside.isEmpty else { return nil }
        let (first, last) = (self.index(of: inside.lowerBound), self.index(of: inside.upperBound - 1))
        return self.compressedRange(of: first).lowerBound..<self.compressedRange(of: last).upperBound
    }

    /// Returns the index of the last slice that begins at or before a decoded byte; 0 without slices.
    package func index(of byteOffset: Int64) -> Int { max(self.places.count(upTo: byteOffset) - 1, 0) }

    /// Returns the positions nearest to the cuts that would divide the data into `count` parts of the same cost; the
    /// first is at the start.
    ///
    /// Returns fewer positions if several cuts are nearest to the same position.
    package func cuts(count: Int) -> [RestartPoint] {
        var cuts = Array(self.places.prefix(1))
        guard self.places.count > 1 else { return cuts }
        let end = Self.cost(self.compressedByteCount, self.byteCount)
        var next = 1
        for number in stride(from: 1, to: max(count, 1), by: 1) {
            let target = cuts[0].cost + (end - cuts[0].cost) * Double(number) / Double(count)
            while next < self.places.count, self.places[next].cost < target { next += 1 }
            let candidates = self.places[max(next - 1, 1)..<min(next + 1, self.places.count)]
            let nearest = candidates.min { abs($0.cost - target) < abs($1.cost - target) }
            // An empty block at the end has no bytes to decode.
            guard let nearest, let last = cuts.last, nearest.byteOffset > last.byteOffset else { continue }
            if nearest.byteOffset < self.byteCount { cuts.append(nearest) }
        }
        return cuts
    }

    /// Returns the cost of decoding all data before a position, in units of the time for one decoded byte.
    ///
    /// Measured with ISA-L on zeros and on text that compresses to half: a compressed byte takes about as long as nine
    /// decoded bytes.
    fileprivate static func cost(_ compressedByteCount: Int64, _ byteCount: Int64) -> Double {
        Double(byteCount) + 9 * Double(compressedByteCount)
    }

    /// Returns the positions in a range of the decoded bytes, with offsets relative to the start of the range.
    package func places(in range: Range<Int64>) -> RestartPoints {
        let first = self.places.last { $0.byteOffset <= range.lowerBound }
        let inside = self.places.filter { $0.byteOffset > range.lowerBound && $0.byteOffset < range.upperBound }
        let next = self.places.first { $0.byteOffset >= range.upperBound }
        let moved = [RestartPoint(bitOffset: first?.bitOffset ?? 0, byteOffset: range.lowerBound)] + inside
        return RestartPoints(
            moved.map { RestartPoint(bitOffset: $0.bitOffset, byteOffset: $0.byteOffset - range.lowerBound) },
            compressedByteCount: next?.compressedByteOffset ?? self.compressedByteCount, byteCount: Int64(range.count))
    }
}

extension RestartPoint {
    fileprivate var cost: Double { RestartPoints.cost(self.compressedByteOffset, self.byteOffset) }
}

/// The restart points that decoding from the start has reached, where later readers of the same content can begin.
///
/// The points are found by decoding, never from lengths in headers alone. They exist as long as their source, and take
/// 24 bytes each. At most 65,536 points are stored; beyond that number, only every second point, then every fourth
/// point, and so on.
package final class ReachedPoints: Sendable {
    private struct State {
        /// The positions in ascending order.
        var places: [RestartPoint] = []
        /// The minimum distance between two positions in decoded bytes; initially half a block of `bgzip`.
        var spacing: Int64 = 32 * 1024
    }

    private let maximumCount: Int
    private let state = Locked(State())

    package init(maximumCount: Int = 65_536) { self.maximumCount = maximumCount }

    /// The number of stored positions.
    package var count: Int { self.state.withLock { $0.places.count } }

    /// Adds a position, unless it is before the last position or too near to it.
    package func append(_ place: RestartPoint) {
        self.state.withLock { state in
            guard place.byteOffset >= (state.places.last?.byteOffset ?? 0) + state.spacing else { return }
            state.places.append(place)
            guard state.places.count > self.maximumCount else { return }
            state.spacing *= 2
            var next = state.spacing
            let spacing = state.spacing
            state.places.removeAll { place in
                guard place.byteOffset >= next else { return true }
                next = place.byteOffset + spacing
                return false
            }
        }
    }

    /// Returns the last known position at or before a decoded byte; the start if no position is known.
    package func last(before byteOffset: Int64) -> RestartPoint {
        self.state.withLock { $0.places.prefix($0.places.count(upTo: byteOffset)).last ?? .start }
    }
}

extension [RestartPoint] {
    /// Returns the number of positions at or before a decoded byte; the array must be in ascending order.
    fileprivate func count(upTo byteOffset: Int64) -> Int {
        self.partitioningIndex { $0.byteOffset > byteOffset }
    }
}

/// A source whose decoding can begin at listed positions.
package protocol RestartPointListing: BlobInputStreamDataSource {
    /// Returns the positions; nil if the source has no list of them.
    ///
    /// - Throws: Errors of the base and of reading an index.
    func restartPoints(_ context: BlobContext) throws -> RestartPoints?
}

/// A source or container whose index can be compared with all data that it describes.
package protocol IndexVerifying: Sendable {
    /// Decodes all data, and compares the index with it: each restart point and each window.
    ///
    /// Does not change the index.
    ///
    /// - Parameter report: A closure that is called with a sentence about each wrong point, in ascending order of the
    ///   points.
    /// - Returns: The number of points; nil if this content has no index.
    /// - Throws: Errors of the content and of reading the index file.
    func verifyIndex(_ context: BlobContext, report: (String) throws -> Void) throws -> Int?
}
