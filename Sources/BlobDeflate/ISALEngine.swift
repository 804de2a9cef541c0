internal import BlobCore
internal import CIsal

/// An engine that decodes with ISA-L and makes it stop at block ends, which ISA-L itself does not support.
///
/// ISA-L examines `bfinal` only at the end of a block; setting it while a block is decoded makes that block look like
/// the last one. While decoded bytes are pending, ISA-L does not close its state, so the next block can begin.
final class ISALEngine: InflateEngine {
    /// The maximum number of bytes per call; larger counts overflow in ISA-L (fixed in later versions).
    private static let maximumCount = 1 << 30

    /// The length of the longest match (RFC 1951, section 3.2.5).
    private static let maximumMatchByteCount = 258

    // On the heap, because it takes 90 KiB.
    private let state: UnsafeMutablePointer<inflate_state>

    /// True while `bfinal` is set for a block that is not the last.
    private var isMarked = false
    /// True after the end of the stream or an error in it.
    private var isAtEnd = false
    private(set) var blockEnd = Inflater.BlockEnd()
    private(set) var surplus = Inflater.Surplus()
    /// The last eight bytes consumed from inputs, the last byte in the highest bits.
    private var lastBytes: UInt64 = 0

    /// True if the library was found.
    static let isLoaded = blob_isal_load() == nil

    /// Creates an engine.
    ///
    /// - Precondition: ``isLoaded`` is true.
    init() {
        self.state = .allocate(capacity: 1)
        blob_isal_inflate_init(self.state)
        // Raw deflate: the caller handles headers, trailers and checksums.
        self.state.pointee.crc_flag = UInt32(ISAL_DEFLATE)
    }

    deinit { self.state.deallocate() }

    func reset() {
        blob_isal_inflate_reset(self.state)
        self.isMarked = false
        self.isAtEnd = false
        self.surplus = Inflater.Surplus()
    }

    func resume(bits: UInt8, bitCount: Int, window: UnsafeRawBufferPointer) {
        self.reset()
        // ISA-L does not write to the dictionary.
        let start = UnsafeMutablePointer(mutating: window.baseAddress?.assumingMemoryBound(to: UInt8.self))
        if !window.isEmpty { blob_isal_inflate_set_dict(self.state, start, UInt32(clamping: window.count)) }
        self.state.pointee.read_in = UInt64(bits)
        self.state.pointee.read_in_length = Int32(bitCount)
    }

    func decode(
        _ input: inout UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer, stoppingAtBlockEnds: Bool,
        appended: inout Int
    ) throws(BlobError) -> Inflater.Stop {
        let given = min(input.count, Self.maximumCount)
        // ISA-L does not write to the input.
        self.state.pointee.next_in = UnsafeMutablePointer(
            mutating: input.baseAddress?.assumingMemoryBound(to: UInt8.self))
        self.state.pointee.avail_in = UInt32(given)
        self.state.pointee.next_out = output.baseAddress?.assumingMemoryBound(to: UInt8.self)
        defer {
            self.take(given - Int(self.state.pointee.avail_in), of: &input)
            (self.state.pointee.next_in, self.state.pointee.next_out) = (nil, nil)
            (self.state.pointee.avail_in, self.state.pointee.avail_out) = (0, 0)
        }
        guard stoppingAtBlockEnds else {
            self.unmark()
            return try self.step(room: output.count, &appended)
        }
        while true {
            let before = self.progress
            self.mark()
            // Hold back one byte, so that the end of a block is detected before ISA-L closes its state.
            let isLastBlock = self.state.pointee.bfinal != 0 && !self.isMarked
            let wanted = isLastBlock ? .max : max(self.pendingByteCount - 1, 0)
            let stop = try self.step(room: min(output.count - appended, wanted), &appended)
            if stop != .more || self.progress == before { return stop }
        }
    }

    func withWindow(_ body: (UnsafeRawBufferPointer) -> Void) {
        let history = UnsafeRawBufferPointer(
            start: blob_isal_history(self.state), count: Int(self.state.pointee.tmp_out_valid))
        body(UnsafeRawBufferPointer(rebasing: history.suffix(Inflater.windowByteCount)))
    }

    /// The number of bytes decoded but not yet delivered.
    private var pendingByteCount: Int {
        Int(self.state.pointee.tmp_out_valid - self.state.pointee.tmp_out_processed)
    }

    /// The fields of the state that change when a call makes progress.
    private struct Progress: Equatable {
        let inputCount: UInt32
        let validCount: Int32
        let processedCount: Int32
        let blockState: UInt32
    }

    private var progress: Progress {
        Progress(
            inputCount: self.state.pointee.avail_in, validCount: self.state.pointee.tmp_out_valid,
            processedCount: self.state.pointee.tmp_out_processed, blockState: self.state.pointee.block_state.rawValue)
    }

    private func mark() {
        guard self.state.pointee.bfinal == 0, self.pendingByteCount > 0 else { return }
        let blockState = self.state.pointee.block_state
        guard blockState == ISAL_BLOCK_CODED || blockState == ISAL_BLOCK_TYPE0 else { return }
        self.state.pointee.bfinal = 1
        self.isMarked = true
    }

    private func unmark() {
        guard self.isMarked else { return }
        self.state.pointee.bfinal = 0
        self.isMarked = false
    }

    /// Calls ISA-L once for at most `room` bytes of output, and adds the number of bytes written to `appended`.
    private func step(room: Int, _ appended: inout Int) throws(BlobError) -> Inflater.Stop {
        let room = min(room, Self.maximumCount)
        let pendingByteCount = self.pendingByteCount
        self.state.pointee.avail_out = UInt32(room)
        let status = blob_isal_inflate(self.state)
        var count = room - Int(self.state.pointee.avail_out)
        if status == ISAL_INVALID_LOOKBACK || status == ISAL_INVALID_SYMBOL {
            // ISA-L counts the bytes of a match with an invalid distance or distance code, but does not write them.
            let certainCount = min(count, pendingByteCount)
            count = max(certainCount, count - max(Self.maximumMatchByteCount - self.pendingByteCount, 0))
        }
        appended += count
        self.isAtEnd = status < 0 || self.state.pointee.block_state == ISAL_BLOCK_FINISH
        switch status {
        case ISAL_DECOMP_OK: break
        case ISAL_INVALID_BLOCK: throw BlobError(.corrupted, "The deflate data is invalid: invalid block.")
        case ISAL_INVALID_SYMBOL: throw BlobError(.corrupted, "The deflate data is invalid: invalid code.")
        case ISAL_INVALID_LOOKBACK:
            throw BlobError(.corrupted, "The deflate data is invalid: invalid distance, too far back.")
        default: throw BlobError(.internalError, "The inflate decoder failed with status \(status).")
        }
        if self.isAtEnd { return .streamEnd }
        guard self.state.pointee.block_state == ISAL_BLOCK_INPUT_DONE, self.isMarked else { return .more }
        let bitCount = Int(self.state.pointee.read_in_length)
        self.blockEnd = Inflater.BlockEnd(
            unreadBits: bitCount >= 64 ? self.state.pointee.read_in : self.state.pointee.read_in & (1 << bitCount - 1),
            unreadBitCount: bitCount, pendingByteCount: self.pendingByteCount)
        self.unmark()
        self.state.pointee.block_state = ISAL_BLOCK_NEW_HDR
        return .blockEnd
    }

    /// Removes the consumed bytes from the front of the input, except bytes read past the end of the stream.
    private func take(_ used: Int, of input: inout UnsafeRawBufferPointer) {
        var used = used
        if self.isAtEnd {
            // Later versions of ISA-L have already returned these bytes, possibly to before the start of this input.
            // After an invalid code truncated by the end of the input, the number of bits is negative.
            used -= max(Int(self.state.pointee.read_in_length), 0) / 8
            self.state.pointee.read_in_length = 0
            let count = max(-used, 0)
            self.surplus = Inflater.Surplus(bytes: count == 0 ? 0 : self.lastBytes >> (64 - 8 * count), count: count)
            used = max(used, 0)
        }
        for byte in input[..<used].suffix(8) { self.lastBytes = self.lastBytes >> 8 | UInt64(byte) << 56 }
        input = UnsafeRawBufferPointer(rebasing: input[used...])
    }
}
