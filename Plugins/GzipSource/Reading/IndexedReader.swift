import BlobInflate
import BlobStreams
import Foundation

/// Reads with an index: begins at the restart point before an offset, and delivers nothing that is not verified.
///
/// Who reads on gets slices that are decoded by several threads, as far as their memory allows.
final class IndexedReader: BlobReader {
    let info: BlobInfo

    private let index: GzipIndex
    private let opening: IndexedOpening
    private let isParallel: Bool
    private let startOffset: Int64
    private var byteOffset: Int64
    private var decoder: SegmentDecoder?
    private var pipeline: OrderedPipeline<Range<Int>, SliceBuffer>?
    private var workers: BlobCancellation?
    private var buffers: SliceBuffers
    private var buffer: SliceBuffer?
    private var nextSlice = 0
    private var isAtEnd = false
    private var failure: (any Error)?

    /// How much all slices together may take that are decoded ahead: 16 MiB.
    private static let maximumAheadByteCount: Int64 = 16 << 20

    /// Calls of ISA-L for less than 256 KiB cost it a twentieth.
    private static let segmentsAtOnce = 4

    /// - Parameter byteOffset: 0 to the byte count of the index.
    init(_ index: GzipIndex, _ opening: IndexedOpening, info: BlobInfo, at byteOffset: Int64) {
        self.index = index
        self.opening = opening
        self.info = info
        self.startOffset = byteOffset
        self.byteOffset = byteOffset
        self.isParallel =
            opening.base.capabilities.contains(.concurrentReaders)
            && index.layout.maximumSliceByteCount <= Self.maximumAheadByteCount / 4
        self.buffers = SliceBuffers(byteCount: Self.segmentsAtOnce * Int(PointRecorder.sumByteCount))
        self.isAtEnd = byteOffset == index.layout.byteCount && byteOffset > 0
    }

    func read(into output: inout OutputRawSpan) throws {
        if let failure { throw failure }
        do {
            try self.readChecked(into: &output)
        } catch {
            self.failure = error
            throw error
        }
    }

    func close() {
        self.failure = BlobError(.closed, "The reader is closed.")
        self.pipeline?.close()
        self.pipeline = nil
        self.workers?.cancel()
        self.decoder?.close()
        self.decoder = nil
        self.buffer = nil
    }

    private func readChecked(into output: inout OutputRawSpan) throws {
        let start = output.byteCount
        while output.byteCount == start {
            if let buffer, !buffer.isEmpty {
                buffer.move(to: &output)
                break
            }
            guard !self.isAtEnd else { return }
            if let pipeline {
                try self.takeSlices(from: pipeline)
            } else {
                try self.decodeSegment(into: &output)
            }
        }
        self.byteOffset += Int64(output.byteCount - start)
    }

    // MARK: One thread

    private func decodeSegment(into output: inout OutputRawSpan) throws {
        let layout = self.index.layout
        if self.decoder == nil {
            self.decoder = try SegmentDecoder(
                self.index, slice: layout.sliceIndex(of: self.byteOffset), self.opening)
        } else if self.startPipeline() {
            return
        }
        guard let decoder else { return }
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
        let byteCount = decoder.segmentsByteCount(beginningWithin: min(skipped + room, Int64(buffer.capacity)))
        try buffer.fill { try decoder.decode(byteCount, into: &$0) }
        buffer.removeFirst(Int(min(skipped, Int64(byteCount))))
        self.buffer = buffer
    }

    // MARK: Several threads

    /// At the beginning of a slice that others follow, lets several threads decode them; once enough was read that the
    /// rest is likely to be wanted too.
    private func startPipeline() -> Bool {
        let layout = self.index.layout
        guard let decoder, self.isParallel, decoder.isAtSliceStart,
            self.byteOffset - self.startOffset >= PointRecorder.spacing,
            layout.byteCount - self.byteOffset > 2 * PointRecorder.spacing,
            case let threadCount = OrderedPipeline<Range<Int>, SliceBuffer>.usualThreadCount, threadCount > 1
        else { return false }
        self.nextSlice = decoder.sliceIndex
        decoder.close()
        let capacity = PointRecorder.spacing + layout.maximumSliceByteCount
        let buffers = SliceBuffers(byteCount: Int(capacity))
        self.buffers = buffers
        self.buffer = nil
        let index = self.index
        var opening = self.opening
        opening.context = opening.context.makeChild()
        self.workers = opening.context.cancellation
        self.pipeline = OrderedPipeline(
            threadCount: threadCount, window: Int(min(Self.maximumAheadByteCount / capacity, Int64(threadCount) * 2)),
            context: self.opening.context
        ) { [opening] slices in
            let buffer = buffers.take()
            try index.decode(slices, into: buffer, opening)
            return buffer
        }
        return true
    }

    private func takeSlices(from pipeline: OrderedPipeline<Range<Int>, SliceBuffer>) throws {
        if let buffer = self.buffer.take() { self.buffers.giveBack(buffer) }
        self.buffer = try pipeline.next {
            let slices = self.index.layout.slices(from: self.nextSlice, ofAtLeast: PointRecorder.spacing)
            self.nextSlice = slices.upperBound
            return slices.isEmpty ? nil : slices
        }
        if self.buffer == nil { self.isAtEnd = true }
    }
}

extension GzipIndex {
    /// Replaces the bytes of `buffer` by those of slices, verified; with the last slice the end is checked too.
    fileprivate func decode(_ slices: Range<Int>, into buffer: SliceBuffer, _ opening: IndexedOpening) throws {
        let decoder = try SegmentDecoder(self, slice: slices.lowerBound, opening)
        defer { decoder.close() }
        // It may have had to begin earlier.
        while decoder.sliceIndex < slices.lowerBound {
            try buffer.fill { try decoder.decode(self.layout.slice(decoder.sliceIndex).count, into: &$0) }
        }
        try buffer.fill { output in
            for slice in slices { try decoder.decode(self.layout.slice(slice).count, into: &output) }
        }
        if slices.upperBound == self.layout.points.count { try decoder.finish() }
    }
}
