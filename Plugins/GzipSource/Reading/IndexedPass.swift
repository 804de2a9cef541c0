import BlobInflate
import BlobStreams

/// Decodes from the restart point before an offset on, by several threads as far as their memory allows.
///
/// A thread begins where the index says, before it is known to be right. It is proven before a byte is delivered: whoever
/// decoded the bytes before went on until the window of the restart point has no influence any more, and came by the
/// same place and the same bytes. Where that is not so, decoding goes on plainly from the last bytes that are proven. The
/// sums of all parts of a frame are combined and compared with its trailer.
///
/// So a pass from the start delivers what plain decoding does, or the same error. One from elsewhere rests on the window
/// it begins with and on the index's sums of segments.
final class IndexedPass {
    /// The last batch that was proven, and the state behind it.
    private struct Proven {
        /// Where the batch begins, and the sum of its frame there; nil when the beginning of the frame was not decoded.
        var slice: Int
        var beginning: FrameSum?
        /// The sum behind the batch.
        var sum: FrameSum?
        var ahead: [UInt8]
    }

    private let index: GzipIndex
    private let opening: IndexedOpening
    private let startOffset: Int64
    private var decoder: SegmentDecoder?
    private var pipeline: OrderedPipeline<Range<Int>, DecodedBatch>?
    private var workers: BlobCancellation?
    private var proven: Proven?
    private var buffers: SliceBuffers
    private var buffer: SliceBuffer?
    private var nextSlice = 0

    /// Whether decoding may begin at more restart points: not any more once one was wrong.
    private(set) var mayUsePoints: Bool

    /// How many batches began at a restart point and were delivered.
    private(set) var batchCount = 0

    /// Of the next byte to be delivered.
    private(set) var byteOffset: Int64

    /// Whether the end was met, and all checks with it.
    private(set) var isAtEnd: Bool

    /// Whether everything was decoded from the start, so that nothing rests on the index.
    private(set) var isFromStart = false

    /// How many batches are decoded ahead at most, whatever the number of threads.
    private static let maximumAheadCount = 8

    /// Calls of ISA-L for less than 256 KiB cost it a twentieth.
    private static let segmentsAtOnce = 4

    private static var smallBuffers: SliceBuffers {
        SliceBuffers(byteCount: Self.segmentsAtOnce * Int(PointRecorder.sumByteCount))
    }

    /// - Parameter byteOffset: 0 to the byte count of the index.
    init(_ index: GzipIndex, _ opening: IndexedOpening, at byteOffset: Int64) {
        self.index = index
        self.opening = opening
        self.startOffset = byteOffset
        self.byteOffset = byteOffset
        self.mayUsePoints = opening.base.capabilities.contains(.concurrentReaders)
        self.buffers = Self.smallBuffers
        self.isAtEnd = byteOffset == index.layout.byteCount && byteOffset > 0
    }

    /// Appends at least one byte, unless this is the end.
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
        let direct = decoder.segmentsByteCount(beginningWithin: room - PointRecorder.sumByteCount + 1)
        if skipped == 0, direct <= room {
            try output.append(atMost: direct) { try decoder.decode(direct, into: &$0) }
            return
        }
        let buffer = self.buffer ?? self.buffers.take()
        let most = Int64(buffer.capacity) - PointRecorder.sumByteCount + 1
        let byteCount = decoder.segmentsByteCount(beginningWithin: min(skipped + room, most))
        try buffer.fill { try decoder.decode(byteCount, into: &$0) }
        buffer.removeFirst(Int(min(skipped, Int64(byteCount))))
        self.buffer = buffer
    }

    private func begin() throws -> SegmentDecoder {
        let layout = self.index.layout
        let (slice, window) = try self.index.start(at: layout.sliceIndex(of: self.byteOffset))
        self.isFromStart = slice == 0
        return try SegmentDecoder(layout, slice: slice, window: window, self.opening)
    }

    /// Drops what was begun at restart points, and goes on from the last bytes that are proven.
    private func goOnPlainly() throws {
        self.closePipeline()
        self.mayUsePoints = false
        guard self.decoder == nil, let proven else { return }
        self.decoder = try SegmentDecoder(
            self.index.layout, slice: proven.slice, window: try self.index.window(of: proven.slice),
            beginning: proven.beginning, self.opening)
    }

    // MARK: Several threads

    /// At the beginning of a slice that others follow, lets several threads decode them; once enough was read that the
    /// rest is likely to be wanted too.
    private func startPipeline(_ decoder: SegmentDecoder) throws -> Bool {
        let (layout, tuning) = (self.index.layout, self.opening.tuning)
        guard self.mayUsePoints, decoder.byteOffset == self.byteOffset, decoder.isAtSliceStart,
            self.byteOffset - self.startOffset >= tuning.pointSpacing,
            layout.byteCount - self.byteOffset > 2 * tuning.pointSpacing,
            case let slices = layout.slices(from: decoder.sliceIndex, fitting: tuning.batchByteCount), !slices.isEmpty,
            case let threadCount = OrderedPipeline<Range<Int>, DecodedBatch>.usualThreadCount, threadCount > 1
        else { return false }
        let buffers = SliceBuffers(byteCount: Int(tuning.batchByteCount) + 1)
        self.buffers = buffers
        // It stays open until what follows is proven.
        let batch = try decoder.decodeBatch(slices, into: buffers.take())
        self.buffer = batch.buffer
        self.nextSlice = slices.upperBound
        guard let end = batch.end else {
            // The decoder goes on behind the batch.
            try self.goOnPlainly()
            return true
        }
        self.proven = Proven(
            slice: slices.lowerBound, beginning: nil, sum: end.lacksBeginning ? nil : end.sum, ahead: end.ahead)
        let index = self.index
        var opening = self.opening
        opening.context = opening.context.makeChild()
        self.workers = opening.context.cancellation
        self.pipeline = OrderedPipeline(
            threadCount: threadCount, window: min(threadCount * 2, Self.maximumAheadCount), on: .reads,
            context: self.opening.context
        ) { [opening] slices in
            let decoder = try SegmentDecoder(
                index.layout, slice: slices.lowerBound, window: try index.window(of: slices.lowerBound), opening)
            defer { decoder.close() }
            return try decoder.decodeBatch(slices, into: buffers.take())
        }
        return true
    }

    private func takeBatch(from pipeline: OrderedPipeline<Range<Int>, DecodedBatch>) throws {
        if let buffer = self.buffer.take() { self.buffers.giveBack(buffer) }
        let batch: DecodedBatch?
        do {
            batch = try pipeline.next {
                let slices = self.index.layout.slices(from: self.nextSlice, fitting: self.opening.tuning.batchByteCount)
                self.nextSlice = slices.upperBound
                return slices.isEmpty ? nil : slices
            }
        } catch let error where error.isAboutContent {
            // It may be that of the restart point; going on shows it.
            return try self.goOnPlainly()
        }
        guard let batch else { return try self.endPipeline() }
        guard let end = batch.end, let proven, batch.begins(with: proven.ahead) else { return try self.goOnPlainly() }
        if let beginning = proven.sum { try self.check(end.remainder, behind: beginning) }
        var sum: FrameSum? = end.sum
        if end.lacksBeginning {
            sum = proven.sum
            sum?.append(end.sum)
        }
        self.proven = Proven(slice: batch.slices.lowerBound, beginning: proven.sum, sum: sum, ahead: end.ahead)
        self.batchCount += 1
        self.decoder?.close()
        self.decoder = nil
        self.buffer = batch.buffer
    }

    private func check(_ remainder: FrameDecoder.Remainder?, behind beginning: FrameSum) throws {
        do throws(BlobError) {
            try remainder?.check(behind: beginning)
        } catch {
            var error = error
            error.locator = self.opening.base.locator?.description
            throw error
        }
    }

    /// After the last batch: there is nothing more, or a slice that is too large and goes through little memory, on this
    /// thread.
    private func endPipeline() throws {
        self.closePipeline()
        self.isAtEnd = self.nextSlice == self.index.layout.points.count
        guard !self.isAtEnd, self.decoder == nil, let proven else { return }
        do {
            let decoder = try SegmentDecoder(
                self.index.layout, slice: self.nextSlice, window: try self.index.window(of: self.nextSlice),
                beginning: proven.sum, self.opening)
            self.decoder = decoder
            if decoder.begins(with: proven.ahead) { return }
            decoder.close()
            self.decoder = nil
        } catch let error where error.isAboutContent {}
        try self.goOnPlainly()
    }

    private func closePipeline() {
        self.pipeline?.close()
        self.pipeline = nil
        self.workers?.cancel()
        self.workers = nil
        self.buffers = Self.smallBuffers
    }
}
