import BlobCore
import BlobIndex

/// The bytes, in order, of blocks that are decoded on several threads.
///
/// The first block is decoded by the calling thread, from its beginning and as it is read, so that a short range costs
/// no more than necessary. Later blocks are decoded ahead as far as memory allows. If a block is not as expected, the
/// fallback body continues at the byte reached, and its bytes and errors are authoritative; only a wrong checksum that
/// it would not notice is an error at once. Until then, no byte of a block is delivered before the block is verified,
/// except in the first block of a format with ``BlockFormat/prefersStreaming``.
final class BlockStream: LateStream {
    /// A block decoded by any thread, or the beginning of a block that became too large.
    private struct Decoded: Sendable {
        let chunks: [Window]
        let block: OpenBlock
    }

    /// The approximate memory limit, in bytes, for all blocks that have begun but have not been delivered, unless one
    /// block takes more.
    static let maximumMemoryByteCount = 104 << 20
    /// The memory of one piece of decoded bytes.
    private static let chunkByteCount = 1 << 20
    /// The number of chunks after which the rest of a block of unknown length is decoded as it is read.
    private static let maximumChunkCount = 8
    /// The number of bytes read from one block after which the next blocks are decoded ahead.
    private static let lookAheadThreshold: Int64 = 1 << 20

    let info: BlobInfo?

    /// The scheme of the format.
    private let layer: String
    /// The numbers of bytes in the finished blocks, by the name of their checksum; gathered only for events.
    private var checkedByteCounts: [String?: Int64] = [:]
    private let finder: any BlockFinder
    private let makeFallbackBody: (Int64) throws -> BlobBody
    /// The offset at which the fallback body continues; nil while the blocks are as expected.
    private var fallbackOffset: Int64?
    private let prefersStreaming: Bool
    /// The index that the blocks must match, and the number of the next block in it; nil without an index.
    private var expectedPosition: (index: BlockIndex, number: Int)?
    private var recording: BlockRecording?
    private let onRestartPoint: (RestartPoint) -> Void
    private let park: (OpenBlock) -> Void
    private let pipeline: OrderedPipeline<Block, Decoded>
    private let buffers = WindowPool(byteCount: BlockStream.chunkByteCount)

    private let context: BlobContext
    private let startOffset: Int64
    /// The number of compressed bytes in the blocks found.
    private var compressedByteCount: Int64 = 0
    /// The offset from which ``lookAheadThreshold`` is measured.
    private let lookAheadOffset: Int64

    /// The bytes to deliver next; the rest of their block follows them.
    private var chunks: [Window] = []
    private var openBlock: OpenBlock?
    /// A block that waits for memory before it is begun.
    private var heldBlock: Block?
    private var isOver = false
    private var takenCount = 0
    /// The memory of each block that was begun, in order; the memory of all these blocks; and the memory of the block
    /// that is being delivered.
    private var begunByteCounts: [Int] = []
    private var memoryByteCount = 0
    private var currentByteCount = 0

    /// Creates a stream of the blocks that `finder` returns.
    ///
    /// - Parameters:
    ///   - layer: The scheme of the format.
    ///   - byteOffset: The offset of the first byte of the next block of `finder`.
    ///   - lookAheadOffset: The offset of the first byte that the consumer receives; earlier bytes are only skipped.
    ///   - prefersStreaming: True to deliver bytes of the first block before all of it is verified.
    ///   - expected: The index that found the first block, and its number; nil if its position is certain.
    ///   - recording: The recording of the blocks for an index; nil to record nothing.
    ///   - onRestartPoint: A closure that is called with the start of each further block, once all blocks before it are
    ///     verified.
    ///   - parked: The rest of a block, to deliver before the blocks of `finder`; `byteOffset` is where it begins.
    ///   - park: A closure that receives the rest of a block that remains when the stream is closed.
    ///   - makeFallbackBody: A closure that returns a body that decodes the bytes from an offset on in another way, for
    ///     data that is not as expected.
    init(
        _ finder: any BlockFinder, layer: String, info: BlobInfo, at byteOffset: Int64,
        countingFrom lookAheadOffset: Int64, prefersStreaming: Bool,
        expecting expected: (index: BlockIndex, number: Int)? = nil,
        recording: BlockRecording? = nil,
        _ context: BlobContext, onRestartPoint: @escaping (RestartPoint) -> Void = { _ in },
        after parked: OpenBlock? = nil,
        park: @escaping (OpenBlock) -> Void, makeFallbackBody: @escaping (Int64) throws -> BlobBody
    ) {
        self.finder = finder
        self.layer = layer
        self.info = info
        self.context = context
        (self.startOffset, self.lookAheadOffset) = (byteOffset, lookAheadOffset)
        self.prefersStreaming = prefersStreaming
        self.expectedPosition = expected
        self.recording = recording
        self.onRestartPoint = onRestartPoint
        self.park = park
        if let parked {
            (self.openBlock, self.takenCount) = (parked, 1)
            self.compressedByteCount = parked.compressedByteCount
        }
        self.makeFallbackBody = makeFallbackBody
        let threadCount = OrderedPipeline<Block, Decoded>.usualThreadCount
        let buffers = self.buffers
        self.pipeline = OrderedPipeline(
            threadCount: threadCount, window: 2 * threadCount, on: .briefJobs, context: context
        ) { try Self.decode($0, buffers) }
    }

    func read(at byteOffset: Int64, into output: inout OutputRawSpan) throws -> BlobReadResult {
        try self.context.checkRatio(ofDecoded: byteOffset - self.startOffset, to: self.compressedByteCount)
        let start = output.byteCount
        do {
            return try self.readBlocks(at: byteOffset, into: &output)
        } catch {
            // Bytes of a block known from the index alone may be delivered before it is verified; another decoder would
            // then continue at the wrong byte.
            let isUnproven = self.expectedPosition != nil && byteOffset > self.openBlock?.startOffset ?? .max
            self.leaveBlocks()
            guard let content = error as? BlobError, content.isAboutContent, !isUnproven,
                !(content.cause is ChecksumDecoder.Mismatch)
            else { throw error }
            output.removeLast(output.byteCount - start)
            self.fallbackOffset = byteOffset
            return .notYet
        }
    }

    func successor(isOpening: Bool) throws -> StartedStream? {
        guard let fallbackOffset else { return nil }
        return try self.makeFallbackBody(fallbackOffset).start(BlobOpening(at: fallbackOffset, context: self.context))
    }

    func close() {
        if self.prefersStreaming, let open = self.openBlock, !open.isStreamed { self.park(open) }
        self.leaveBlocks()
    }

    private func leaveBlocks() {
        self.pipeline.close()
        self.finder.close()
        (self.chunks, self.openBlock, self.heldBlock) = ([], nil, nil)
    }

    private func readBlocks(at byteOffset: Int64, into output: inout OutputRawSpan) throws -> BlobReadResult {
        let start = output.byteCount
        while output.byteCount == start {
            if let chunk = self.chunks.first {
                chunk.move(to: &output)
                guard chunk.isEmpty else { break }
                self.buffers.recycle(self.chunks.removeFirst())
                self.lookAhead(at: byteOffset)
            } else if let open = self.openBlock {
                try open.decode(into: &output) { open.isStreamed ? try self.nextBytes() : [] }
                if open.isAtEnd {
                    self.take(open)
                    self.openBlock = nil
                } else if !open.isStreamed {
                    self.lookAhead(at: byteOffset)
                }
            } else {
                guard try self.takeBlock(at: byteOffset) else { return .end }
            }
        }
        return .bytes
    }

    /// True once enough bytes have been read that reading is likely to continue.
    private func isPastLookAheadThreshold(at byteOffset: Int64) -> Bool {
        byteOffset - self.lookAheadOffset >= Self.lookAheadThreshold
    }

    /// Moves to the next block; returns false at the end.
    private func takeBlock(at byteOffset: Int64) throws -> Bool {
        self.memoryByteCount -= self.currentByteCount
        self.currentByteCount = 0
        // For a short range, no more is decoded than is read.
        if self.prefersStreaming, self.begunByteCounts.isEmpty, self.heldBlock == nil,
            !self.isPastLookAheadThreshold(at: byteOffset)
        {
            guard let block = try self.nextBlock() else { return try self.end() }
            try self.begin(block, at: byteOffset)
            return true
        }
        if let decoded = try self.pipeline.next({ try self.nextJob() }) {
            self.currentByteCount = self.begunByteCounts.removeFirst()
            self.takenCount += 1
            self.chunks = decoded.chunks
            decoded.block.startOffset = byteOffset
            if decoded.block.isAtEnd { self.take(decoded.block) } else { self.openBlock = decoded.block }
            return true
        }
        guard let held = self.heldBlock else { return try self.end() }
        self.heldBlock = nil
        try self.begin(held, at: byteOffset)
        return true
    }

    /// Records the index and reports the checks; returns false.
    private func end() throws -> Bool {
        try self.recording.take()?.end()
        for (check, byteCount) in self.checkedByteCounts {
            self.context.reportEnd(of: self.layer, byteCount: byteCount, check: check)
        }
        self.checkedByteCounts = [:]
        return false
    }

    /// Returns the next block of the finder.
    private func nextBlock() throws -> Block? {
        guard var block = try self.finder.next() else { return nil }
        if let (index, number) = self.expectedPosition {
            guard let content = index.block(number) else {
                throw BlobError(.sizeMismatch, "The data has more blocks than the \(number) in the index.")
            }
            (block.expected, self.expectedPosition) = (content, (index, number + 1))
        }
        block.computesChecksum = self.recording != nil
        self.compressedByteCount += Int64(block.bytes.count)
        return block
    }

    private func nextBytes() throws -> [UInt8] {
        let bytes = try self.finder.nextBytes()
        self.compressedByteCount += Int64(bytes.count)
        return bytes
    }

    /// Records a verified block.
    private func take(_ block: OpenBlock) {
        if self.context.isObserved { self.checkedByteCounts[block.check, default: 0] += block.byteCount }
        guard let next = block.nextPoint else { return }
        self.onRestartPoint(next)
        self.recording?.append(checksum: block.checksum, next: next)
    }

    /// Begins to decode a block on this thread, as it is read.
    private func begin(_ block: Block, at byteOffset: Int64) throws {
        self.takenCount += 1
        self.currentByteCount = block.memoryByteCount
        self.memoryByteCount += self.currentByteCount
        self.openBlock = try OpenBlock(block)
        self.openBlock?.startOffset = byteOffset
    }

    /// Starts decoding further blocks on other threads, unless only a short range is being read.
    private func lookAhead(at byteOffset: Int64) {
        guard self.isPastLookAheadThreshold(at: byteOffset) || !self.prefersStreaming && self.takenCount > 1 else {
            return
        }
        self.pipeline.prepare { try self.nextJob() }
    }

    /// Returns the next block, unless it must wait.
    private func nextJob() throws -> Block? {
        // At first, decode ahead only as many blocks as were read.
        guard !self.isOver, self.begunByteCounts.count <= self.takenCount else { return nil }
        guard let block = try self.heldBlock ?? self.nextBlock() else {
            self.isOver = true
            return nil
        }
        let memory = self.memoryByteCount + block.memoryByteCount
        guard !block.isStreamed, self.memoryByteCount == 0 || memory <= Self.maximumMemoryByteCount else {
            self.heldBlock = block
            return nil
        }
        self.heldBlock = nil
        self.memoryByteCount = memory
        self.begunByteCounts.append(block.memoryByteCount)
        return block
    }

    private static func decode(_ block: Block, _ buffers: WindowPool) throws -> Decoded {
        let open = try OpenBlock(block)
        var chunks: [Window] = []
        repeat {
            let chunk = buffers.makeWindow()
            try chunk.fill { try open.decode(into: &$0) }
            chunks.append(chunk)
        } while !open.isAtEnd && (block.byteCount != nil || chunks.count < Self.maximumChunkCount)
        return Decoded(chunks: chunks, block: open)
    }
}
