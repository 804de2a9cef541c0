import BlobCore
import BlobDeflate
internal import BlobIndex

/// Packs the windows of restart points without unreferenced bytes.
///
/// If possible, the pruner works on threads other than the decoding thread. References reach back 32 KiB, so only the
/// first 32 KiB after a point can use its window. These bytes are decoded twice more, with windows that show where each
/// byte was copied from: the byte at position x is the low byte of x in one window and the high byte of x in the other.
/// With ordinary data, about a quarter of a window is kept; the rest becomes zeros.
final class WindowPruner {
    /// A window and the bytes after it.
    struct Job: Sendable {
        let window: [UInt8]
        let blockEnd: Inflater.BlockEnd
        /// The compressed bytes after the bits that were consumed.
        var input: [UInt8] = []
        /// The first 32 KiB of decoded bytes after the point, or all bytes if there are fewer.
        var following: [UInt8] = []
    }

    /// The maximum number of waiting windows. Each uses at most 320 KiB, and usually a quarter of that.
    private static let maximumWaitingCount = 16

    private let pipeline: OrderedPipeline<Job, [UInt8]>
    /// The window to begin next.
    private var nextJob: Job?
    private var packedWindows = SpillBuffer()
    private var places: [PackedWindow] = []
    private var failure: BlobError?

    init() {
        let packers = Locked<[WindowPacker]>([])
        self.pipeline = OrderedPipeline(
            threadCount: 2, window: Self.maximumWaitingCount, on: .briefJobs, context: BlobContext()
        ) { job in
            let packer = packers.withLock { $0.popLast() } ?? WindowPacker()
            defer { packers.withLock { $0.append(packer) } }
            return try packer.pack(job)
        }
    }

    deinit { self.pipeline.close() }

    /// Packs the window of `job` after the previous ones, asynchronously. Blocks while too many windows are waiting.
    func add(_ job: Job) {
        self.nextJob = job
        self.pipeline.prepare { self.nextJob.take() }
        while self.nextJob != nil, self.takeWindow() {}
    }

    /// Waits until all windows are packed; returns their locations, in the order in which they were added, and their
    /// bytes.
    func finish() throws(BlobError) -> (places: [PackedWindow], packedWindows: SpillBuffer) {
        while self.takeWindow() {}
        if let failure { throw failure }
        return (self.places, self.packedWindows)
    }

    /// Takes the next packed window; returns false if no windows are left.
    private func takeWindow() -> Bool {
        do {
            guard let bytes = try self.pipeline.next({ self.nextJob.take() }) else { return false }
            guard self.failure == nil else { return true }
            self.places.append(
                PackedWindow(
                    byteOffset: self.packedWindows.byteCount, byteCount: bytes.count, checksum: CRC32(of: bytes).value))
            try self.packedWindows.append(bytes)
        } catch {
            self.failure = self.failure ?? BlobError(wrapping: error)
        }
        return true
    }
}

/// The coders that one thread uses to pack windows.
private final class WindowPacker: @unchecked Sendable {  // Safe: used by one thread at a time.
    private var inflater: Inflater?
    private var deflater: Deflater?

    /// Returns the window of `job` without unreferenced bytes, packed as deflate data.
    func pack(_ job: WindowPruner.Job) throws(BlobError) -> [UInt8] { try self.deflated(self.pruned(job)) }

    private func deflated(_ bytes: [UInt8]) throws(BlobError) -> [UInt8] {
        // A fifth smaller than with level 1, in 0.2 ms more; level 9 takes 2 ms more to save another 3%.
        if self.deflater == nil { self.deflater = try Deflater(level: 6) } else { self.deflater?.reset() }
        let room = bytes.count + bytes.count / 8 + 64
        return try [UInt8](capacity: room) { output in
            try bytes.withUnsafeBytes { bytes in
                var bytes = bytes
                guard try self.deflater?.encode(&bytes, isLast: true, into: &output) == true else {
                    throw BlobError(.internalError, "The packed window does not fit in its buffer.")
                }
            }
        }
    }

    /// Windows in which each byte is the low or the high byte of its position.
    private static let lowPositions = (0..<Inflater.windowByteCount).map { UInt8(truncatingIfNeeded: $0) }
    private static let highPositions = (0..<Inflater.windowByteCount).map { UInt8(truncatingIfNeeded: $0 >> 8) }

    private func pruned(_ job: WindowPruner.Job) throws(BlobError) -> [UInt8] {
        let count = job.window.count
        // A shorter window corresponds to the end of the 32 KiB in which positions are counted.
        let missing = Inflater.windowByteCount - count
        let low = try self.probe(job, window: Self.lowPositions[missing...])
        let high = try self.probe(job, window: Self.highPositions[missing...])
        // If a probe ends before the following bytes do, the bytes that were not decoded may refer to the window.
        guard let low, let high else { return job.window }
        return [UInt8](unsafeUninitializedCapacity: count) { kept, keptCount in
            kept.initialize(repeating: 0)
            keptCount = count
            job.window.withUnsafeBufferPointer { window in
                var index = 0
                while index < low.count {
                    // A literal that looks like a position keeps one byte too many, but never too few.
                    let place = (Int(low[index]) | Int(high[index]) << 8) - missing
                    if place >= 0, place < count, window[place] == job.following[index] { kept[place] = window[place] }
                    index += 1
                }
            }
        }
    }

    /// Decodes the bytes after the point with `window` before it; returns nil if they cannot be decoded.
    private func probe(_ job: WindowPruner.Job, window: ArraySlice<UInt8>) throws(BlobError) -> [UInt8]? {
        if self.inflater == nil { self.inflater = try Inflater() }
        let bitCount = job.blockEnd.unreadBitCount & 7
        let bits = UInt8(truncatingIfNeeded: job.blockEnd.unreadBits) & (1 << bitCount - 1)
        var rest = job.blockEnd.unreadBits >> UInt64(bitCount)
        var input: [UInt8] = []
        input.reserveCapacity(job.input.count + 8)
        for _ in 0..<(job.blockEnd.unreadBitCount / 8) {
            input.append(UInt8(truncatingIfNeeded: rest))
            rest >>= 8
        }
        input += job.input
        window.withUnsafeBytes { self.inflater?.resume(bits: bits, bitCount: bitCount, window: $0) }
        let decoded = try [UInt8](capacity: job.following.count) { output in
            input.withUnsafeBytes { input in
                var input = input
                // The caller's own decoding reports errors in the data.
                while output.freeCapacity > 0 {
                    let before = (output.byteCount, input.count)
                    guard (try? self.inflater?.decode(&input, into: &output)) == false else { break }
                    if before == (output.byteCount, input.count) { break }
                }
            }
        }
        return decoded.count == job.following.count ? decoded : nil
    }
}

/// A buffer of bytes that moves to an unlinked temporary file once it becomes large.
struct SpillBuffer {
    /// The number of bytes above which the bytes move to the file.
    private static let memoryLimit = 4 << 20

    private var memory: [UInt8] = []
    private var file: UnlinkedFile?

    /// The number of bytes.
    var byteCount: Int64 { (self.file?.byteCount ?? 0) + Int64(self.memory.count) }

    mutating func append(_ bytes: [UInt8]) throws(BlobError) {
        self.memory += bytes
        guard self.memory.count > Self.memoryLimit else { return }
        let file: UnlinkedFile
        if let already = self.file { file = already } else { file = try UnlinkedFile() }
        self.file = file
        try self.memory.withBytes { bytes throws(BlobError) in try file.append(bytes) }
        self.memory.removeAll(keepingCapacity: true)
    }

    /// Calls `sink` with all bytes in order.
    func forEachChunk(_ sink: (UnsafeRawBufferPointer) throws(BlobError) -> Void) throws(BlobError) {
        try self.file?.forEachChunk(sink)
        try self.memory.withBytes { bytes throws(BlobError) in try sink(bytes) }
    }
}
