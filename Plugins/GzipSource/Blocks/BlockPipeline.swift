import BlobIndex
import BlobInflate
import BlobStreams

/// Decodes blocked gzip on several threads, from one reader of the compressed bytes.
///
/// Ends in front of the first thing that is no whole block, which is for somebody else: another member, padding, the end.
final class BlockPipeline {
    /// Whole blocks, one after the other.
    fileprivate struct Batch: Sendable {
        let bytes: [UInt8]
        let start: RestartPoint
    }

    /// As many blocks as make a thread's time worth it: a megabyte when decoded.
    private static let maximumBlockCount = 16
    private static let windowPerThread = 2

    private let base: BlobGuardedReader
    private let pipeline: OrderedPipeline<Batch, SliceBuffer>
    private let buffers: SliceBuffers
    private var buffer: SliceBuffer?
    private var isOver = false
    /// What was read and is in no batch yet, from `consumed` on.
    private var input: [UInt8]
    private var consumed = 0

    /// Where the blocks end, as far as they were read.
    private(set) var end: RestartPoint

    /// - Parameters:
    ///   - base: Stays the caller's, who reads on from it behind the blocks.
    ///   - beginning: What was read of it already, from `start` on.
    init(
        _ base: BlobGuardedReader, beginning: [UInt8], at start: RestartPoint, library: InflateLibrary,
        locator: BlobLocator?, _ context: BlobContext
    ) {
        self.base = base
        self.input = beginning
        self.end = start
        // One byte more: a decoder without room does not look at the trailer.
        let buffers = SliceBuffers(byteCount: Self.maximumBlockCount * BlockHeader.maximumByteCount + 1)
        self.buffers = buffers
        let threadCount = OrderedPipeline<Batch, SliceBuffer>.usualThreadCount
        self.pipeline = OrderedPipeline(
            threadCount: threadCount, window: threadCount * Self.windowPerThread, context: context
        ) { batch in
            let buffer = buffers.take()
            try buffer.fill { try batch.decode(into: &$0, library, locator) }
            return buffer
        }
    }

    /// What was read of the base behind ``end``.
    var rest: ArraySlice<UInt8> { self.input[self.consumed...] }

    /// Appends the next bytes; none when the blocks are over.
    func read(into output: inout OutputRawSpan) throws {
        let start = output.byteCount
        while output.byteCount == start {
            if let buffer {
                buffer.move(to: &output)
                guard buffer.isEmpty else { return }
                self.buffers.giveBack(buffer)
                self.buffer = nil
            } else {
                self.buffer = try self.pipeline.next { try self.nextBatch() }
                if self.buffer == nil { return }
            }
        }
    }

    func close() { self.pipeline.close() }

    private func nextBatch() throws -> Batch? {
        guard !self.isOver else { return nil }
        self.input.removeFirst(self.consumed)
        self.consumed = 0
        let start = self.end
        var end = 0
        do {
            for _ in 0..<Self.maximumBlockCount {
                guard let byteCount = try self.blockByteCount(at: end) else {
                    self.isOver = true
                    break
                }
                end += byteCount
            }
        } catch {
            // The blocks before come first; the next look at the base meets the same error.
            guard end > 0 else { throw error }
        }
        guard end > 0 else { return nil }
        let batch = Batch(bytes: Array(self.input[..<end]), start: start)
        self.end.bitOffset += Int64(batch.bytes.count) * 8
        self.consumed = end
        return batch
    }

    /// Reads the block that begins at an offset in the input; nil when there is no whole one.
    private func blockByteCount(at offset: Int) throws -> Int? {
        try self.fill(offset + BlockHeader.usualByteCount)
        guard let byteCount = BlockHeader(self.input[offset...])?.byteCount else { return nil }
        try self.fill(offset + byteCount)
        return offset + byteCount <= self.input.count ? byteCount : nil
    }

    /// Reads until there are `count` bytes in the input, if the base has so many.
    private func fill(_ count: Int) throws {
        guard self.input.count < count else { return }
        try withUnsafeTemporaryAllocation(byteCount: InputBuffer.byteCount, alignment: 64) { buffer in
            while self.input.count < count, case let read = try self.base.read(into: buffer), read > 0 {
                self.input += buffer[..<read]
            }
        }
    }
}

extension BlockPipeline.Batch {
    fileprivate func decode(
        into output: inout OutputRawSpan, _ library: InflateLibrary, _ locator: BlobLocator?
    ) throws(BlobError) {
        do throws(BlobError) {
            var decoder = try FrameDecoder(.gzip, library: library)
            decoder.resume(at: self.start, firstByte: 0, window: UnsafeRawBufferPointer(start: nil, count: 0))
            try self.bytes.withBytes { bytes throws(BlobError) in
                var bytes = bytes
                try decoder.decode(&bytes, into: &output)
                guard bytes.isEmpty else {
                    throw BlobError(
                        .sizeMismatch, "A block has more than 64 KiB of decoded bytes.", byteOffset: decoder.byteOffset)
                }
                try decoder.finish()
            }
        } catch {
            var error = error
            error.locator = locator?.description
            throw error
        }
    }
}
