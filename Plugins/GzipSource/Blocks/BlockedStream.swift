import BlobCore
import BlobDeflate
internal import BlobIndex

/// The bytes of a blocked gzip stream, decoded on several threads.
///
/// The lengths in block headers are not trusted until the blocks are decoded: a batch is accepted only if it begins
/// where the previous one ended and consists of whole members. From the first bytes that do not meet this condition,
/// such as another member, padding, the end, or a block with a wrong header, everything is decoded in one pass.
final class BlockedStream: StreamOverReader {
    /// Compressed bytes that should be whole blocks.
    private struct Batch: Sendable {
        let bytes: [UInt8]
        /// The lengths of the blocks, as stated in their headers.
        let blockByteCounts: [Int]

        /// Decodes the batch, and returns the number of its members and those positions between them that the headers
        /// indicate.
        ///
        /// - Throws: An error if the batch does not consist of whole members, or does not fit into `output`.
        func decode(
            into output: inout OutputRawSpan, _ library: InflateLibrary
        ) throws(BlobError) -> (memberCount: Int, starts: [RestartPoint]) {
            var decoder = try FrameDecoder(.gzip, library: library)
            var starts: [RestartPoint] = []
            var end = 0
            for byteCount in self.blockByteCounts {
                if end == 0 || decoder.isBetweenMembers {
                    starts.append(RestartPoint(bitOffset: Int64(end) * 8, byteOffset: Int64(output.byteCount)))
                }
                try self.bytes.withBytes { bytes throws(BlobError) in
                    var block = UnsafeRawBufferPointer(rebasing: bytes[end..<(end + byteCount)])
                    try decoder.decode(&block, into: &output)
                    guard block.isEmpty else {
                        throw BlobError(.corrupted, "A block contains more data than the format allows.")
                    }
                }
                end += byteCount
            }
            guard decoder.isBetweenMembers else {
                throw BlobError(.corrupted, "The blocks do not consist of complete members.")
            }
            return (decoder.memberCount, starts)
        }
    }

    /// The decoded members of a batch.
    private struct Members: Sendable {
        let buffer: Window
        let count: Int
        /// The positions between two members, as offsets from the start of the batch.
        let starts: [RestartPoint]
    }

    /// The maximum number of blocks in a batch. The first batches are shorter.
    ///
    /// A batch of this size, up to a mebibyte when decoded, keeps a thread busy.
    private static let maximumBlockCount = 16

    /// The maximum decoded length of a batch, plus one byte, because a decoder whose output is full does not parse the
    /// trailer.
    private static let bufferByteCount = BlockedStream.maximumBlockCount * BlockHeader.maximumByteCount + 1

    private static let windowPerThread = 2

    let info: BlobInfo?
    private let base: BlobReader
    private let job: DecodingJob
    private let startPoint: RestartPoint
    private let pipeline: OrderedPipeline<Batch, Members>
    private let buffers: WindowPool
    /// The decoded bytes to deliver next.
    private var buffer: Window?
    /// True if no more blocks follow.
    private var isOver = false
    /// True if no bytes were available at the last read of the base.
    private var isStarved = false

    /// The bytes that were read but are not yet in a batch.
    private var input: [UInt8] = []
    /// The batches that were begun but not yet taken.
    private var waitingBatches: [Batch] = []
    private let onRestartPoint: (RestartPoint) -> Void
    /// The number of blocks in the batches that were taken.
    private var takenBlockCount = 0
    /// The position after the batches that were taken.
    private var endPoint: RestartPoint
    /// Decodes the data after the blocks.
    private var pass: DecodingPass?

    /// - Parameters:
    ///   - base: A reader positioned at the byte of `start`. This stream takes ownership.
    ///   - info: The info of the decoded bytes.
    ///   - onRestartPoint: Called with each position between members, in ascending order, after the bytes before it
    ///     have been verified.
    init(
        _ base: BlobReader, _ job: DecodingJob, at start: RestartPoint, info: BlobInfo,
        onRestartPoint: @escaping (RestartPoint) -> Void
    ) {
        self.base = base
        self.job = job
        self.info = info
        (self.startPoint, self.endPoint) = (start, start)
        self.onRestartPoint = onRestartPoint
        let buffers = WindowPool(byteCount: Self.bufferByteCount)
        self.buffers = buffers
        let threadCount = OrderedPipeline<Batch, Members>.usualThreadCount
        let library = job.source.library
        self.pipeline = OrderedPipeline(
            threadCount: threadCount, window: threadCount * Self.windowPerThread, on: .briefJobs, context: job.context
        ) { batch in
            let buffer = buffers.makeWindow()
            var (count, starts) = (0, [RestartPoint]())
            try buffer.fill { (count, starts) = try batch.decode(into: &$0, library) }
            return Members(buffer: buffer, count: count, starts: starts)
        }
    }

    var reader: BlobReader? { self.base }
    var neverBlocks: Bool { self.base.neverBlocks }
    var readiness: BlobWakerSlot? { self.base.readiness }

    func read(at byteOffset: Int64, into output: inout OutputRawSpan) throws -> BlobReadResult {
        let byteCount = byteOffset - self.startPoint.byteOffset
        let compressedByteOffset = self.pass?.compressedByteOffset ?? self.endPoint.compressedByteOffset
        try self.job.context.checkRatio(
            ofDecoded: byteCount, to: compressedByteOffset - self.startPoint.compressedByteOffset)
        let start = output.byteCount
        while output.byteCount == start {
            if let buffer {
                buffer.move(to: &output)
                guard buffer.isEmpty else { break }
                self.buffers.recycle(buffer)
                self.buffer = nil
            } else if let pass {
                let result = try pass.decode(into: &output)
                if result == .end {
                    try self.job.end(compressedByteCount: pass.compressedByteOffset, byteCount: byteCount)
                }
                return result
            } else if try !self.takeBatch() {
                if self.isStarved { return .notYet }
                try self.leaveBlocks()
            }
        }
        return .bytes
    }

    func close() {
        self.pipeline.close()
        self.base.close()
    }

    /// Takes the next batch; returns false if the next bytes are not whole blocks, or are not yet available.
    private func takeBatch() throws -> Bool {
        do {
            guard let members = try self.pipeline.next({ try self.nextBatch() }) else { return false }
            let batch = self.waitingBatches.removeFirst()
            self.takenBlockCount += batch.blockByteCounts.count
            for start in members.starts {
                self.onRestartPoint(
                    RestartPoint(
                        bitOffset: self.endPoint.bitOffset + start.bitOffset,
                        byteOffset: self.endPoint.byteOffset + start.byteOffset))
            }
            let recorder = self.job.recorder
            recorder?.memberBegins(at: self.endPoint.compressedByteOffset)
            recorder?.append(members.buffer.bytes)
            self.endPoint.byteOffset += Int64(members.buffer.count)
            for _ in 0..<members.count { recorder?.memberEnds() }
            self.endPoint.bitOffset += Int64(batch.bytes.count) * 8
            self.buffer = members.buffer
            return true
        } catch let error where error.isContentError && !self.waitingBatches.isEmpty {
            // Decoding in one pass shows whether only the block headers are wrong. The bytes of a whole batch are
            // decoded at once, so no byte is delivered if the batch is damaged.
            let pass = try self.leaveBlocks()
            let buffer = self.buffers.makeWindow()
            try buffer.fill { output in
                while output.freeCapacity > 0, try pass.decode(into: &output) == .bytes {}
            }
            self.buffer = buffer
            return true
        }
    }

    /// Begins to decode in one pass after the batches that were taken, possibly at the end of the data.
    @discardableResult
    private func leaveBlocks() throws -> DecodingPass {
        self.pipeline.close()
        let rest = self.waitingBatches.reduce(into: []) { $0 += $1.bytes } + self.input
        let pass = DecodingPass(
            self.base, isBlocking: false, try self.job.makeDecoder(at: self.endPoint), beginning: rest)
        (self.input, self.waitingBatches) = ([], [])
        self.pass = pass
        return pass
    }

    private func nextBatch() throws -> Batch? {
        guard !self.isOver else { return nil }
        var end = 0
        var blockByteCounts: [Int] = []
        // A short range does not require each thread to decode a mebibyte ahead.
        let blockCount = min(Self.maximumBlockCount, 1 + self.takenBlockCount)
        do {
            for _ in 0..<blockCount {
                guard let byteCount = try self.blockByteCount(at: end) else {
                    self.isOver = !self.isStarved
                    break
                }
                end += byteCount
                blockByteCounts.append(byteCount)
            }
        } catch {
            // The blocks before the error are delivered first. The next read of the base throws the same error.
            guard end > 0 else { throw error }
        }
        guard end > 0 else { return nil }
        let batch = Batch(bytes: Array(self.input[..<end]), blockByteCounts: blockByteCounts)
        self.waitingBatches.append(batch)
        self.input.removeFirst(end)
        return batch
    }

    /// Reads the block at an offset in the input and returns its length; nil if the block is incomplete or invalid.
    private func blockByteCount(at offset: Int) throws -> Int? {
        try self.fill(offset + BlockHeader.usualByteCount)
        guard let byteCount = BlockHeader(self.input[offset...])?.byteCount else { return nil }
        try self.fill(offset + byteCount)
        return offset + byteCount <= self.input.count ? byteCount : nil
    }

    /// Reads until the input contains `count` bytes or the base ends.
    private func fill(_ count: Int) throws {
        guard self.input.count < count else { return }
        try withUnsafeTemporaryAllocation(byteCount: DecodingPass.inputByteCount, alignment: 64) { buffer in
            var result = BlobReadResult.bytes
            while self.input.count < count, result == .bytes {
                var output = OutputRawSpan(buffer: buffer, initializedCount: 0)
                result = try self.base.read(into: &output)
                self.input += buffer[..<output.finalize(for: buffer)]
            }
            self.isStarved = result == .notYet
        }
    }
}

/// The header of a block of blocked gzip, which is a gzip member whose extra field contains its length.
///
/// According to the SAM specification, section 4.1 (BGZF), XLEN bytes of subfields include `BC` with BSIZE, the length
/// of the member minus one.
struct BlockHeader {
    /// The length in bytes of a header with only the subfield that `bgzip` writes.
    static let usualByteCount = 18

    /// The maximum length of a block, both compressed and decoded: 64 KiB.
    static let maximumByteCount = 64 * 1024

    /// The length of the whole member in bytes, at least ``minimumByteCount``.
    let byteCount: Int

    /// The length in bytes of a header, an empty block of deflate data and a trailer.
    private static let minimumByteCount = Self.usualByteCount + 2 + 8

    /// Parses the first bytes of a block; fails unless they begin a block whose first subfield is `BC`.
    init?(_ bytes: some RandomAccessCollection<UInt8>) {
        guard bytes.count >= Self.usualByteCount else { return nil }
        func byte(_ offset: Int) -> Int { Int(bytes[bytes.index(bytes.startIndex, offsetBy: offset)]) }
        // ID1, ID2, CM, and FLG with only FEXTRA set.
        guard byte(0) == 0x1F, byte(1) == 0x8B, byte(2) == 8, byte(3) == 4 else { return nil }
        let extraByteCount = byte(10) | byte(11) << 8
        guard extraByteCount >= 6, byte(12) == UInt8(ascii: "B"), byte(13) == UInt8(ascii: "C"), byte(14) == 2,
            byte(15) == 0
        else { return nil }
        self.byteCount = (byte(16) | byte(17) << 8) + 1
        guard self.byteCount >= Self.minimumByteCount + extraByteCount - 6 else { return nil }
    }
}
