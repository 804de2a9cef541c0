import BlobInflate
import BlobStreams

/// Decodes one verified segment after the other, from a restart point on.
final class SegmentDecoder {
    private let layout: GzipIndexLayout
    private let pass: DecodingPass
    private var slice: Int

    /// Of the next segment, in the decoded bytes.
    private(set) var byteOffset: Int64

    /// Opens the base at the beginning of a slice, or of an earlier one when the index is damaged.
    init(_ index: GzipIndex, slice: Int, _ opening: IndexedOpening) throws {
        let (slice, window) = index.start(at: slice)
        let point = index.layout.points[slice]
        let reader = try opening.base.reader(
            at: point.bitOffset / 8, matching: opening.baseValidator, context: opening.context)
        self.layout = index.layout
        self.slice = slice
        self.byteOffset = point.byteOffset
        self.pass = DecodingPass(
            reader, try FrameDecoder(opening.format, library: opening.library), locator: opening.base.locator)
        do {
            try self.pass.resume(at: point, window: window)
        } catch {
            reader.close()
            throw error
        }
    }

    /// Whether the next segment is the first of a slice.
    var isAtSliceStart: Bool { self.byteOffset == self.layout.slice(self.slice).lowerBound }

    /// The slice of the next segment.
    var sliceIndex: Int { self.slice }

    /// Whether all segments were decoded.
    var isAtEnd: Bool { self.byteOffset == self.layout.byteCount }

    /// How many bytes the next segments have that begin within `room` bytes: the first one in any case, and none of
    /// another slice.
    func segmentsByteCount(beginningWithin room: Int64) -> Int {
        let segments = max((room + PointRecorder.sumByteCount - 1) / PointRecorder.sumByteCount, 1)
        return Int(
            min(self.layout.slice(self.slice).upperBound - self.byteOffset, segments * PointRecorder.sumByteCount))
    }

    /// Appends the next segments.
    ///
    /// - Parameters:
    ///   - byteCount: What ``segmentsByteCount(beginningWithin:)`` said.
    ///   - output: Has room for it.
    /// - Throws: ``BlobError/Code/checksumMismatch`` when these are not the bytes that the index was made of. Then nothing
    ///   of what was appended counts.
    func decode(_ byteCount: Int, into output: inout OutputRawSpan) throws {
        let start = output.byteCount
        try output.append(atMost: byteCount) { output in
            while output.freeCapacity > 0 {
                let before = output.byteCount
                try self.pass.decode(into: &output)
                guard output.byteCount > before else {
                    throw BlobError(
                        .truncated,
                        "The compressed data end after \(self.byteOffset + Int64(before)) decoded bytes, their index "
                            + "says \(self.layout.byteCount).", byteOffset: self.pass.compressedByteOffset)
                }
            }
        }
        try output.bytes.withUnsafeBytes { try self.check(UnsafeRawBufferPointer(rebasing: $0[start...])) }
        self.byteOffset += Int64(byteCount)
        if self.byteOffset == self.layout.slice(self.slice).upperBound, self.slice + 1 < self.layout.points.count {
            self.slice += 1
        }
    }

    /// Compares whole segments with their checksums.
    private func check(_ bytes: UnsafeRawBufferPointer) throws(BlobError) {
        let size = Int(PointRecorder.sumByteCount)
        for start in stride(from: 0, to: bytes.count, by: size) {
            var sum = CRC32()
            sum.update(UnsafeRawBufferPointer(rebasing: bytes[start..<min(start + size, bytes.count)]))
            let place = self.byteOffset + Int64(start)
            let expected = self.layout.sum(of: self.slice, at: place)
            guard sum.value == expected else {
                throw BlobError(
                    .checksumMismatch,
                    "The CRC-32 of the decoded bytes from \(place) on is \(hexadecimal(sum.value, digits: 8)), "
                        + "the index says \(hexadecimal(expected, digits: 8)).",
                    byteOffset: self.pass.compressedByteOffset)
            }
        }
    }

    /// Behind the last segment: checks that the compressed data end there, as they should.
    func finish() throws {
        try withUnsafeTemporaryAllocation(byteCount: 1, alignment: 1) { buffer in
            var output = OutputRawSpan(buffer: buffer, initializedCount: 0)
            try self.pass.decode(into: &output)
            guard output.finalize(for: buffer) == 0 else {
                throw BlobError(
                    .sizeMismatch, "There are more decoded bytes than the \(self.layout.byteCount) of the index.",
                    byteOffset: self.pass.compressedByteOffset)
            }
        }
    }

    func close() { self.pass.close() }
}

/// What readers with an index open the compressed bytes by.
struct IndexedOpening: Sendable {
    let base: any BlobInputStreamDataSource
    let baseValidator: BlobValidator?
    let format: GzipSource.Format
    let library: InflateLibrary
    var context: BlobContext
}
