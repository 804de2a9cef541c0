import BlobCore
import BlobDeflate
internal import BlobIndex
import BlobPlatform

/// Decodes from the restart point before an offset, on as many threads as memory allows.
///
/// A thread begins at a restart point of the index before the point is known to be correct. The point is verified
/// before any byte is delivered: the decoder of the preceding bytes continues past the point until the window has no
/// further influence, and must reach the same position and the same bytes. Otherwise, one thread continues from the
/// last verified bytes. The sums of all parts of a frame are combined and compared with its trailer.
///
/// A pass from the start therefore delivers the same bytes, or the same error, as decoding without an index. A pass
/// from another offset depends on its first window and on the segment checksums in the index.
final class IndexedPass {
    /// The last verified batch, and the state after it.
    private struct VerifiedBatch {
        /// The first slice of the batch, and the sum of its frame there; nil if the start of the frame was not decoded.
        var slice: Int
        var beginning: FrameSum?
        /// The sum of the frame after the batch.
        var sum: FrameSum?
        var lookAheadBytes: [UInt8]
    }

    private let index: GzipIndex
    private let opening: IndexedOpening
    private let startOffset: Int64
    /// The offset up to which bytes are decoded ahead, until reading continues beyond it.
    private var expectedEnd: Int64
    private var decoder: SegmentDecoder?
    private var pipeline: OrderedPipeline<Range<Int>, DecodedBatch>?
    private var workers: BlobCancellation?
    private var lastVerified: VerifiedBatch?
    private var buffers: WindowPool
    private var buffer: Window?
    private var nextSlice = 0

    /// True while decoding may begin at further restart points; false once a point was found to be wrong.
    private(set) var mayUsePoints: Bool

    /// The number of batches that began at a restart point and were delivered.
    private(set) var batchCount = 0

    /// The offset of the next byte to deliver.
    private(set) var byteOffset: Int64

    /// True once the end has been reached and all checks have passed.
    private(set) var isAtEnd: Bool

    /// True if everything is decoded from the start, so that no byte depends on the index.
    private(set) var isFromStart = false

    /// The maximum number of batches to decode ahead, regardless of the number of threads.
    private static let maximumAheadCount = 8

    /// The number of segments in one call, because ISA-L is 5% slower if it decodes less than 256 KiB at once.
    private static let segmentsAtOnce = 4

    private static var smallBuffers: WindowPool {
        WindowPool(byteCount: Self.segmentsAtOnce * Int(GzipIndexLayout.segmentByteCount))
    }

    /// - Parameters:
    ///   - byteOffset: An offset from 0 to the byte count of the index.
    ///   - end: The offset at which reading is expected to end; nil if unknown.
    init(_ index: GzipIndex, _ opening: IndexedOpening, at byteOffset: Int64, expecting end: Int64?) {
        self.index = index
        self.opening = opening
        self.startOffset = byteOffset
        self.expectedEnd = end ?? .max
        self.byteOffset = byteOffset
        self.mayUsePoints = opening.source.base.traits.contains(.concurrentReaders)
        self.buffers = Self.smallBuffers
        self.isAtEnd = byteOffset == index.layout.byteCount && byteOffset > 0
    }

    /// Appends at least one byte, unless the end has been reached.
    func read(into output: inout OutputRawSpan) throws -> BlobReadResult {
        let start = output.byteCount
        while output.byteCount == start {
            if let buffer, !buffer.isEmpty {
                buffer.move(to: &output)
                break
            }
            guard !self.isAtEnd else { return .end }
            if let pipeline {
                try self.takeBatch(from: pipeline)
            } else {
                try self.decodeSegment(into: &output)
            }
        }
        self.byteOffset += Int64(output.byteCount - start)
        return .bytes
    }

    func close() {
        self.closePipeline()
        self.decoder?.close()
        self.decoder = nil
        self.buffer = nil
    }

    // MARK: One thread

    private func decodeSegment(into output: inout OutputRawSpan) throws {
        let decoder = try self.decoder ?? self.begin()
        self.decoder = decoder
        if try self.startPipeline(decoder) { return }
        guard !decoder.isAtEnd else {
            try decoder.finish()
            self.isAtEnd = true
            return
        }
        let skipped = self.byteOffset - decoder.byteOffset
        let room = Int64(output.freeCapacity)
        let direct = decoder.segmentsByteCount(beginningWithin: room - GzipIndexLayout.segmentByteCount + 1)
        if skipped == 0, direct <= room {
            try output.append(atMost: direct) { try decoder.decode(direct, into: &$0) }
            return
        }
        let buffer = self.buffer ?? self.buffers.makeWindow()
        let most = Int64(buffer.capacity) - GzipIndexLayout.segmentByteCount + 1
        let byteCount = decoder.segmentsByteCount(beginningWithin: min(skipped + room, most))
        try buffer.fill { try decoder.decode(byteCount, into: &$0) }
        buffer.drop(Int(min(skipped, Int64(byteCount))))
        self.buffer = buffer
    }

    private func begin() throws -> SegmentDecoder {
        let (slice, window) = try self.index.start(at: self.index.layout.points.index(of: self.byteOffset))
        self.isFromStart = slice == 0
        return try SegmentDecoder(self.index, slice: slice, window: window, self.opening)
    }

    /// Discards the batches that began at restart points, and continues on this thread from the last verified bytes.
    private func continueSequentially() throws {
        self.closePipeline()
        self.mayUsePoints = false
        guard self.decoder == nil, let lastVerified else { return }
        self.decoder = try SegmentDecoder(
            self.index, slice: lastVerified.slice, window: try self.index.window(of: lastVerified.slice),
            beginning: lastVerified.beginning, self.opening)
    }

    // MARK: Several threads

    /// Starts decoding on several threads at the start of a slice other than the last, once enough bytes were read to
    /// make further reads likely.
    ///
    /// Returns true if a batch was decoded.
    private func startPipeline(_ decoder: SegmentDecoder) throws -> Bool {
        if self.byteOffset >= self.expectedEnd { self.expectedEnd = .max }
        let (layout, tuning) = (self.index.layout, self.opening.source.tuning)
        guard self.mayUsePoints, decoder.byteOffset == self.byteOffset, decoder.isAtSliceStart,
            self.byteOffset - self.startOffset >= tuning.pointSpacing,
            min(layout.byteCount, self.expectedEnd) - self.byteOffset > 2 * tuning.pointSpacing,
            case let slices = layout.slices(from: decoder.slice, fitting: tuning.batchByteCount), !slices.isEmpty,
            case let threadCount = OrderedPipeline<Range<Int>, DecodedBatch>.usualThreadCount, threadCount > 1
        else { return false }
        let buffers = WindowPool(byteCount: Int(tuning.batchByteCount) + 1)
        self.buffers = buffers
        // The decoder stays open until the next batch is verified.
        let batch = try decoder.decodeBatch(slices, into: buffers.makeWindow())
        self.buffer = batch.buffer
        self.nextSlice = slices.upperBound
        guard let end = batch.end else {
            // The decoder continues after the batch.
            try self.continueSequentially()
            return true
        }
        self.lastVerified = VerifiedBatch(
            slice: slices.lowerBound, beginning: nil, sum: end.isPartial ? nil : end.sum,
            lookAheadBytes: end.lookAheadBytes)
        let index = self.index
        var opening = self.opening
        opening.context = opening.context.makeChild()
        self.workers = opening.context.cancellation
        self.pipeline = OrderedPipeline(
            threadCount: threadCount, window: min(threadCount * 2, Self.maximumAheadCount), on: .reads,
            context: self.opening.context
        ) { [opening] slices in
            let decoder = try SegmentDecoder(
                index, slice: slices.lowerBound, window: try index.window(of: slices.lowerBound), opening)
            defer { decoder.close() }
            return try decoder.decodeBatch(slices, into: buffers.makeWindow())
        }
        return true
    }

    private func takeBatch(from pipeline: OrderedPipeline<Range<Int>, DecodedBatch>) throws {
        if let buffer = self.buffer.take() { self.buffers.recycle(buffer) }
        let batch: DecodedBatch?
        do {
            batch = try pipeline.next {
                let layout = self.index.layout
                guard self.nextSlice < layout.points.count,
                    layout.points[self.nextSlice].byteOffset < self.expectedEnd
                else { return nil }
                let slices = layout.slices(from: self.nextSlice, fitting: self.opening.source.tuning.batchByteCount)
                self.nextSlice = slices.upperBound
                return slices.isEmpty ? nil : slices
            }
        } catch let error where error.isContentError {
            // The restart point may be the cause. Decoding without it shows whether it was.
            return try self.continueSequentially()
        }
        guard let batch else { return try self.endPipeline() }
        guard let end = batch.end, let lastVerified, batch.begins(with: lastVerified.lookAheadBytes) else {
            return try self.continueSequentially()
        }
        if let beginning = lastVerified.sum { try self.check(end.remainder, after: beginning) }
        var sum: FrameSum? = end.sum
        if end.isPartial {
            sum = lastVerified.sum
            sum?.append(end.sum)
        }
        self.lastVerified = VerifiedBatch(
            slice: batch.slices.lowerBound, beginning: lastVerified.sum, sum: sum, lookAheadBytes: end.lookAheadBytes)
        self.batchCount += 1
        self.decoder?.close()
        self.decoder = nil
        self.buffer = batch.buffer
    }

    private func check(_ remainder: FrameDecoder.Remainder?, after beginning: FrameSum) throws {
        do throws(BlobError) {
            try remainder?.check(after: beginning)
        } catch {
            var error = error
            error.locator = self.opening.source.base.locator?.description
            throw error
        }
    }

    /// Ends the pipeline after the last batch, either at the end or before a slice that is too large for a batch, which
    /// this thread decodes in bounded memory.
    private func endPipeline() throws {
        self.closePipeline()
        self.isAtEnd = self.nextSlice == self.index.layout.points.count
        guard !self.isAtEnd, self.decoder == nil, let lastVerified else { return }
        do {
            let decoder = try SegmentDecoder(
                self.index, slice: self.nextSlice, window: try self.index.window(of: self.nextSlice),
                beginning: lastVerified.sum, self.opening)
            self.decoder = decoder
            if decoder.begins(with: lastVerified.lookAheadBytes) { return }
            decoder.close()
            self.decoder = nil
        } catch let error where error.isContentError {}
        try self.continueSequentially()
    }

    private func closePipeline() {
        self.pipeline?.close()
        self.pipeline = nil
        self.workers?.cancel()
        self.workers = nil
        self.buffers = Self.smallBuffers
    }
}

/// The decoded bytes of consecutive slices, and the state that shows whether the next batch continues them.
struct DecodedBatch: Sendable {
    /// The state of decoding at the next restart point.
    struct End: Sendable {
        /// The sum of the frame that contains the point, excluding the bytes before the batch if ``isPartial`` is true.
        let sum: FrameSum
        let isPartial: Bool
        /// The end of the frame in which the batch began.
        let remainder: FrameDecoder.Remainder?
        /// The decoded bytes after the point that its window can influence, obtained by continuing past the point.
        let lookAheadBytes: [UInt8]
    }

    /// The number of correct bytes after which a window has no influence, because references in deflate data reach back
    /// 32 KiB.
    static let overlapByteCount = Inflater.windowByteCount

    let slices: Range<Int>
    let buffer: Window
    /// The state after the slices; nil if decoding did not reach the next restart point in the index.
    let end: End?

    /// Returns true if the decoded bytes begin with `bytes`. Compares only as many bytes as were decoded.
    func begins(with bytes: [UInt8]) -> Bool {
        let own = self.buffer.bytes
        let count = min(own.count, bytes.count)
        let begins = bytes.withUnsafeBytes { bytes in
            guard let left = own.baseAddress, let right = bytes.baseAddress else { return true }
            return memcmp(left, right, count) == 0
        }
        guard begins, count < bytes.count else { return begins }
        guard let lookAheadBytes = self.end?.lookAheadBytes else { return false }
        return lookAheadBytes.starts(with: bytes.dropFirst(count).prefix(lookAheadBytes.count))
    }
}
