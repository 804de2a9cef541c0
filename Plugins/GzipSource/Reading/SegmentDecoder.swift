import BlobCore
import BlobDeflate
internal import BlobIndex

/// Decodes consecutive segments from a restart point on, and compares each segment with the index.
final class SegmentDecoder {
    private let index: GzipIndex
    private let layout: GzipIndexLayout
    private let pass: DecodingPass
    /// The slice of the next segment.
    private(set) var slice: Int
    /// The last decoded bytes before `tailEnd`, at most a window, which are kept only if windows of the index are
    /// damaged.
    private var tail: [UInt8]
    private var tailEnd: Int64
    /// The bytes that were decoded ahead of the next segment.
    private var lookAheadBytes: [UInt8] = []

    /// The offset of the next segment in the decoded bytes.
    private(set) var byteOffset: Int64

    /// Opens the base at the beginning of a slice.
    ///
    /// - Parameters:
    ///   - window: The window of the slice's restart point.
    ///   - beginning: The sum of the bytes before the point in its frame; nil if unknown.
    init(
        _ index: GzipIndex, slice: Int, window: [UInt8], beginning: FrameSum? = nil, _ opening: IndexedOpening
    ) throws {
        let point = index.layout.points[slice]
        let reader = try opening.openBase(at: point.compressedByteOffset)
        self.index = index
        self.layout = index.layout
        self.slice = slice
        (self.tail, self.tailEnd) = (window, point.byteOffset)
        self.byteOffset = point.byteOffset
        self.pass = DecodingPass(reader, isBlocking: true, try opening.source.makeDecoder())
        do {
            try self.pass.resume(at: point, window: window, beginning: beginning)
        } catch {
            reader.close()
            throw error
        }
    }

    /// True if the next segment is the first of a slice and no part of it has been decoded.
    var isAtSliceStart: Bool {
        self.lookAheadBytes.isEmpty && self.byteOffset == self.layout.points.slice(self.slice).lowerBound
    }

    /// True if all segments have been decoded.
    var isAtEnd: Bool { self.byteOffset == self.layout.byteCount }

    /// Returns the number of bytes in the next segments that begin within `room` bytes: at least one segment, all in
    /// one slice.
    func segmentsByteCount(beginningWithin room: Int64) -> Int {
        let segments = max((room + GzipIndexLayout.segmentByteCount - 1) / GzipIndexLayout.segmentByteCount, 1)
        return Int(
            min(
                self.layout.points.slice(self.slice).upperBound - self.byteOffset,
                segments * GzipIndexLayout.segmentByteCount))
    }

    /// Appends the next segments.
    ///
    /// - Parameters:
    ///   - byteCount: A result of ``segmentsByteCount(beginningWithin:)``.
    ///   - output: A span with room for `byteCount` bytes.
    /// - Throws: ``IndexMismatch`` if the bytes differ from those from which the index was created. The appended bytes
    ///   are then invalid. Also throws the errors of reading the base.
    func decode(_ byteCount: Int, into output: inout OutputRawSpan) throws {
        let start = output.byteCount
        try self.appendBytes(byteCount, to: &output)
        try output.bytes.withUnsafeBytes {
            let bytes = UnsafeRawBufferPointer(rebasing: $0[start...])
            try self.check(bytes, of: self.slice, at: self.byteOffset)
            if self.index.isDamaged { self.keepTail(of: bytes) }
        }
        let previous = self.slice
        self.advance(by: byteCount)
        if self.slice > previous, self.tailEnd == self.byteOffset, self.tail.count == Inflater.windowByteCount {
            try self.index.keepRecovered(self.tail, of: self.slice)
        }
    }

    /// Replaces the bytes of `buffer` with the bytes of `slices`, the first of which is the next slice.
    ///
    /// - Parameter buffer: A buffer with room for the slices and one more byte.
    func decodeBatch(_ slices: Range<Int>, into buffer: Window) throws -> DecodedBatch {
        let byteCount = Int(self.layout.points.slice(slices.upperBound - 1).upperBound - self.byteOffset)
        let next = slices.upperBound < self.layout.points.count ? self.layout.points[slices.upperBound] : nil
        var reachesNextPoint = false
        try buffer.fill { output in
            if let next {
                // Leaves room for one more byte, because a trailer before the point is parsed only while there is room.
                try output.append(atMost: byteCount + 1) { output in
                    reachesNextPoint = try self.pass.decode(upTo: next, into: &output) && output.byteCount == byteCount
                }
            }
            if output.byteCount < byteCount { try self.appendBytes(byteCount - output.byteCount, to: &output) }
            output.bytes.withUnsafeBytes { self.lookAheadBytes += $0[byteCount...] }
            output.removeLast(output.byteCount - byteCount)
        }
        var rest = buffer.bytes
        for slice in slices {
            let range = self.layout.points.slice(slice)
            try self.check(UnsafeRawBufferPointer(rebasing: rest.prefix(range.count)), of: slice, at: range.lowerBound)
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(range.count))
        }
        self.slice = slices.upperBound - 1
        self.advance(by: byteCount)
        if next == nil { try self.finish() }
        guard next == nil || reachesNextPoint else { return DecodedBatch(slices: slices, buffer: buffer, end: nil) }
        let (sum, isPartial) = (self.pass.decoder.sum, self.pass.decoder.isPartial)
        let remainder = self.pass.decoder.remainder
        guard next?.isInData != true || self.lookAhead() else {
            return DecodedBatch(slices: slices, buffer: buffer, end: nil)
        }
        return DecodedBatch(
            slices: slices, buffer: buffer,
            end: DecodedBatch.End(
                sum: sum, isPartial: isPartial, remainder: remainder, lookAheadBytes: self.lookAheadBytes))
    }

    /// Returns true if the next bytes equal `bytes`, or if all remaining bytes equal its beginning. Consumes no bytes.
    func begins(with bytes: [UInt8]) -> Bool {
        self.lookAhead() && self.lookAheadBytes.starts(with: bytes.prefix(self.lookAheadBytes.count))
    }

    /// Checks that the compressed data ends after the last segment.
    func finish() throws {
        try withUnsafeTemporaryAllocation(byteCount: 1, alignment: 1) { buffer in
            var output = OutputRawSpan(buffer: buffer, initializedCount: 0)
            guard try self.pass.decode(into: &output) == .end, self.lookAheadBytes.isEmpty else {
                throw self.mismatch(
                    .sizeMismatch, "There are more decoded bytes than the \(self.layout.byteCount) stated in the index."
                )
            }
        }
    }

    func close() { self.pass.close() }

    private func advance(by byteCount: Int) {
        self.byteOffset += Int64(byteCount)
        if self.byteOffset == self.layout.points.slice(self.slice).upperBound, self.slice + 1 < self.layout.points.count
        {
            self.slice += 1
        }
    }

    private func appendBytes(_ byteCount: Int, to output: inout OutputRawSpan) throws {
        try output.append(atMost: byteCount) { output in
            if !self.lookAheadBytes.isEmpty {
                let count = self.lookAheadBytes.withUnsafeBytes { output.append(contentsOf: $0) }
                self.lookAheadBytes.removeFirst(count)
            }
            while output.freeCapacity > 0 {
                let before = output.byteCount
                guard try self.pass.decode(into: &output) == .bytes else {
                    throw self.mismatch(
                        .truncated,
                        "The compressed data ends after \(self.byteOffset + Int64(before)) decoded bytes, but its "
                            + "index says \(self.layout.byteCount).")
                }
            }
        }
    }

    private func keepTail(of bytes: UnsafeRawBufferPointer) {
        let count = Inflater.windowByteCount
        let kept = self.tailEnd == self.byteOffset ? max(0, count - bytes.count) : 0
        self.tail.removeFirst(self.tail.count - min(kept, self.tail.count))
        self.tail.append(contentsOf: UnsafeRawBufferPointer(rebasing: bytes.suffix(count)))
        self.tailEnd = self.byteOffset + Int64(bytes.count)
    }

    /// Decodes ahead all bytes that a window can influence, or all remaining bytes if there are fewer; returns false on
    /// failure.
    private func lookAhead() -> Bool {
        let missing = DecodedBatch.overlapByteCount - self.lookAheadBytes.count
        guard missing > 0, !self.pass.isAtEnd, self.pass.failure == nil else { return self.pass.failure == nil }
        withUnsafeTemporaryAllocation(byteCount: missing, alignment: 64) { buffer in
            var output = OutputRawSpan(buffer: buffer, initializedCount: 0)
            while output.freeCapacity > 0, !self.pass.isAtEnd, (try? self.pass.decode(into: &output)) != nil {}
            self.lookAheadBytes += buffer[..<output.finalize(for: buffer)]
        }
        return self.pass.failure == nil
    }

    /// Compares whole segments with their checksums.
    private func check(_ bytes: UnsafeRawBufferPointer, of slice: Int, at byteOffset: Int64) throws {
        let size = Int(GzipIndexLayout.segmentByteCount)
        for start in stride(from: 0, to: bytes.count, by: size) {
            let sum = CRC32(of: UnsafeRawBufferPointer(rebasing: bytes[start..<min(start + size, bytes.count)]))
            let place = byteOffset + Int64(start)
            let expected = self.layout.sum(of: slice, at: place)
            guard sum.value == expected else {
                throw self.mismatch(
                    .checksumMismatch,
                    "The CRC-32 of the decoded bytes from \(place) on is \(hexadecimal(sum.value, digits: 8)), "
                        + "but the index says \(hexadecimal(expected, digits: 8)).")
            }
        }
    }

    private func mismatch(_ code: BlobError.Code, _ message: String) -> IndexMismatch {
        IndexMismatch(error: BlobError(code, message, byteOffset: self.pass.compressedByteOffset))
    }
}
