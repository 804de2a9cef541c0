internal import BlobCore
internal import CZlib

/// An engine that decodes with zlib.
final class ZlibEngine: InflateEngine {
    // On the heap: zlib keeps a pointer back to its `z_stream`, so it must never move.
    private let stream: UnsafeMutablePointer<z_stream>
    private var lastByte: UInt8 = 0  // The last byte consumed.

    init() throws(BlobError) {
        let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        stream.initialize(to: z_stream())
        // Negative means raw deflate; 15 means a window of 32 KiB, the largest.
        let status = blob_inflate_init(stream, -15)
        guard status == Z_OK else {
            stream.deallocate()
            throw BlobError(.unavailable, "The inflate decoder could not start: status \(status).")
        }
        self.stream = stream
    }

    deinit {
        inflateEnd(self.stream)
        self.stream.deallocate()
    }

    func reset() { inflateReset(self.stream) }

    func resume(bits: UInt8, bitCount: Int, window: UnsafeRawBufferPointer) {
        inflateReset(self.stream)
        self.lastByte = bits << (8 - bitCount)
        inflatePrime(self.stream, CInt(bitCount), CInt(bits))
        inflateSetDictionary(self.stream, window.baseAddress?.assumingMemoryBound(to: UInt8.self), uInt(window.count))
    }

    func decode(
        _ input: inout UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer, stoppingAtBlockEnds: Bool,
        appended: inout Int
    ) throws(BlobError) -> Inflater.Stop {
        let given = UInt32(clamping: input.count)
        let room = UInt32(clamping: output.count)
        self.stream.pointee.next_in = input.baseAddress?.assumingMemoryBound(to: UInt8.self)
        self.stream.pointee.avail_in = given
        self.stream.pointee.next_out = output.baseAddress?.assumingMemoryBound(to: UInt8.self)
        self.stream.pointee.avail_out = room
        let status = inflate(self.stream, stoppingAtBlockEnds ? Z_BLOCK : Z_NO_FLUSH)
        appended = Int(room - self.stream.pointee.avail_out)
        let used = Int(given - self.stream.pointee.avail_in)
        (self.stream.pointee.next_in, self.stream.pointee.next_out) = (nil, nil)
        (self.stream.pointee.avail_in, self.stream.pointee.avail_out) = (0, 0)
        if used > 0 { self.lastByte = input[used - 1] }
        input = UnsafeRawBufferPointer(rebasing: input[used...])
        switch status {
        case Z_STREAM_END: return .streamEnd
        // Z_BUF_ERROR is not a failure: zlib needs more input or output to continue.
        case Z_OK, Z_BUF_ERROR:
            // 128: directly after a block. 64: that block was the last.
            let isBlockEnd = status == Z_OK && self.stream.pointee.data_type & (128 | 64) == 128
            return stoppingAtBlockEnds && isBlockEnd ? .blockEnd : .more
        case Z_DATA_ERROR:
            let reason = self.stream.pointee.msg.map { String(cString: $0) } ?? "no reason given"
            throw BlobError(.corrupted, "The deflate data is invalid: \(reason).")
        case Z_MEM_ERROR: throw BlobError(.unavailable, "Not enough memory for the window of the inflate decoder.")
        default: throw BlobError(.internalError, "The inflate decoder failed with status \(status).")
        }
    }

    var blockEnd: Inflater.BlockEnd {
        let count = Int(self.stream.pointee.data_type & 7)
        return Inflater.BlockEnd(unreadBits: UInt64(self.lastByte) >> (8 - count), unreadBitCount: count)
    }

    func withWindow(_ body: (UnsafeRawBufferPointer) -> Void) {
        withUnsafeTemporaryAllocation(byteCount: Inflater.windowByteCount, alignment: 16) { window in
            var count = uInt(window.count)
            inflateGetDictionary(self.stream, window.baseAddress?.assumingMemoryBound(to: UInt8.self), &count)
            body(UnsafeRawBufferPointer(rebasing: window[..<Int(count)]))
        }
    }

    /// Always empty, because zlib does not consume bytes past the end of the stream.
    var surplus: Inflater.Surplus { Inflater.Surplus() }
}
