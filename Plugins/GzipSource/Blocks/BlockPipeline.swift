import BlobIndex
import BlobInflate
import BlobStreams

/// Decodes blocked gzip on several threads, from one reader of the compressed bytes.
///
/// The lengths of blocks are believed until they were decoded: a batch counts only if it begins where the one before
/// ended, and holds whole members. Ends in front of the first thing that is not so, which is for somebody else: another
/// member, padding, the end, a block whose header lies.
final class BlockPipeline {
    /// What should be whole blocks, one after the other.
    fileprivate struct Batch: Sendable {
        let bytes: [UInt8]
        /// In the compressed data.
        let byteOffset: Int64
    }

    /// The members of a batch, decoded.
    fileprivate struct Members: Sendable {
        let buffer: SliceBuffer
        let count: Int
    }

    /// As many blocks as make a thread's time worth it: a megabyte when decoded.
    private static let maximumBlockCount = 16

    /// What a batch has at most. One byte more: a decoder without room does not look at the trailer.
    static let bufferByteCount = BlockPipeline.maximumBlockCount * BlockHeader.maximumByteCount + 1

    private static let windowPerThread = 2

    private let base: BlobGuardedReader
    private let waits: Bool
    private let pipeline: OrderedPipeline<Batch, Members>
    private let buffers: SliceBuffers
    private var buffer: SliceBuffer?
    private var isOver = false
    /// Whether the base had nothing for now when it was asked last.
    private var isStarved = false

    /// Whether a batch was not what its headers say.
    private(set) var hasFailed = false

    /// What was read and is in no batch yet, from `consumed` on.
    private var input: [UInt8]
    private var consumed = 0
    /// Where it ends, in the compressed data.
    private var inputEnd: Int64
    /// Begun, and not taken yet.
    private var waiting: [Batch] = []
    private let recorder: PointRecorder?
    private let found: (RestartPoint) -> Void

    /// Where decoding goes on behind the batches that were taken.
    private(set) var end: RestartPoint

    /// - Parameters:
    ///   - base: Stays the caller's, who reads on from it behind the blocks.
    ///   - waits: Whether to wait while the base has nothing for now.
    ///   - beginning: What was read of it already, from `start` on.
    ///   - recorder: Told of all that is decoded.
    ///   - found: Told of the places between members where batches begin.
    init(
        _ base: BlobGuardedReader, waits: Bool, beginning: [UInt8], at start: RestartPoint, library: InflateLibrary,
        recorder: PointRecorder?, _ context: BlobContext, found: @escaping (RestartPoint) -> Void
    ) {
        self.base = base
        self.waits = waits
        self.input = beginning
        self.end = start
        self.inputEnd = start.bitOffset / 8
        self.recorder = recorder
        self.found = found
        let buffers = SliceBuffers(byteCount: Self.bufferByteCount)
        self.buffers = buffers
        let threadCount = OrderedPipeline<Batch, Members>.usualThreadCount
        self.pipeline = OrderedPipeline(
            threadCount: threadCount, window: threadCount * Self.windowPerThread, on: .brief, context: context
        ) { batch in
            let buffer = buffers.take()
            var count = 0
            try buffer.fill { count = try batch.decode(into: &$0, library) }
            return Members(buffer: buffer, count: count)
        }
    }

    /// What was read of the base behind ``end``.
    var rest: [UInt8] { self.waiting.reduce(into: []) { $0 += $1.bytes } + self.input[self.consumed...] }

    /// Appends the next bytes; the end is that of the blocks.
    func read(into output: inout OutputRawSpan) throws -> BlobReadResult {
        let start = output.byteCount
        while output.byteCount == start {
            if let buffer {
                buffer.move(to: &output)
                guard buffer.isEmpty else { break }
                self.buffers.giveBack(buffer)
                self.buffer = nil
            } else {
                guard try self.takeBatch() else { return self.isStarved ? .notYet : .end }
            }
        }
        return .bytes
    }

    /// False when the next bytes are not in whole blocks, or not there yet.
    private func takeBatch() throws -> Bool {
        do {
            guard let members = try self.pipeline.next({ try self.nextBatch() }) else { return false }
            let batch = self.waiting.removeFirst()
            self.found(self.end)
            self.recorder?.memberBegins(at: batch.byteOffset)
            members.buffer.withBytes { bytes in
                self.recorder?.append(bytes)
                self.end.byteOffset += Int64(bytes.count)
            }
            for _ in 0..<members.count { self.recorder?.memberEnds() }
            self.end.bitOffset += Int64(batch.bytes.count) * 8
            self.buffer = members.buffer
            return true
        } catch let error where error.isAboutContent && !self.waiting.isEmpty {
            // Decoding it as one says what is wrong with it, or with its headers alone.
            self.pipeline.close()
            (self.isOver, self.isStarved) = (true, false)
            self.hasFailed = true
            return false
        }
    }

    func close() { self.pipeline.close() }

    private func nextBatch() throws -> Batch? {
        guard !self.isOver else { return nil }
        self.input.removeFirst(self.consumed)
        self.consumed = 0
        var end = 0
        do {
            for _ in 0..<Self.maximumBlockCount {
                guard let byteCount = try self.blockByteCount(at: end) else {
                    self.isOver = !self.isStarved
                    break
                }
                end += byteCount
            }
        } catch {
            // The blocks before come first; the next look at the base meets the same error.
            guard end > 0 else { throw error }
        }
        guard end > 0 else { return nil }
        let batch = Batch(bytes: Array(self.input[..<end]), byteOffset: self.inputEnd)
        self.waiting.append(batch)
        self.inputEnd += Int64(end)
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
            var result = BlobReadResult.bytes
            while self.input.count < count, result == .bytes {
                var output = OutputRawSpan(buffer: buffer, initializedCount: 0)
                result = try self.base.read(into: &output, waits: self.waits)
                self.input += buffer[..<output.finalize(for: buffer)]
            }
            self.isStarved = result == .notYet
        }
    }
}

extension BlockPipeline.Batch {
    /// Returns how many members there are.
    ///
    /// - Throws: When these are not whole members, or do not fit.
    fileprivate func decode(into output: inout OutputRawSpan, _ library: InflateLibrary) throws(BlobError) -> Int {
        var decoder = try FrameDecoder(.gzip, library: library)
        try self.bytes.withBytes { bytes throws(BlobError) in
            var bytes = bytes
            try decoder.decode(&bytes, into: &output)
            guard bytes.isEmpty, decoder.isBetweenMembers else {
                throw BlobError(.corrupted, "The blocks are no whole members.")
            }
        }
        return decoder.memberCount
    }
}
