package import BlobStreams
internal import CZlib

/// Decodes raw deflate data (RFC 1951), without any header, trailer or checksum around them.
///
/// Bytes in, bytes out: knows nothing of readers, formats and offsets. About 40 KiB of memory.
package struct Inflater: ~Copyable {
    // On the heap: zlib keeps a pointer back to its `z_stream`, so it must never move.
    private let stream: UnsafeMutablePointer<z_stream>

    /// Starts before the first byte of a deflate stream.
    ///
    /// - Throws: ``BlobError/Code/unavailable`` when there is no memory for the window.
    package init() throws(BlobError) {
        let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        stream.initialize(to: z_stream())
        // Negative is raw deflate; 15 is the window of 32 KiB that the format allows.
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

    /// Starts over, before the first byte of another deflate stream. Allocates nothing.
    package mutating func reset() { inflateReset(self.stream) }

    /// Decodes until the stream ends, `input` is used up or `output` is full.
    ///
    /// A full output may leave bytes to come that need no more input: call again, also with an empty input, before
    /// more input is fetched.
    ///
    /// - Parameters:
    ///   - input: What comes next of the stream; what was used is gone from its front. At the end of the stream the rest
    ///     is what follows it.
    ///   - output: Has room. Appended to; not kept. What was appended before an error is right.
    /// - Returns: True at the end of the stream; then only ``reset()`` is left.
    /// - Throws: ``BlobError/Code/corrupted`` without an offset: `input` says how far it went.
    /// - Complexity: O(bytes used and appended), no allocation.
    package mutating func decode(
        _ input: inout UnsafeRawBufferPointer, into output: inout OutputRawSpan
    ) throws(BlobError) -> Bool {
        let stream = self.stream
        let given = UInt32(clamping: input.count)
        var appended = 0
        let status = output.withUnsafeMutableBytes { buffer, count in
            let room = UInt32(clamping: buffer.count - count)
            stream.pointee.next_in = input.baseAddress?.assumingMemoryBound(to: UInt8.self)
            stream.pointee.avail_in = given
            stream.pointee.next_out = buffer.baseAddress?.advanced(by: count).assumingMemoryBound(to: UInt8.self)
            stream.pointee.avail_out = room
            let status = inflate(stream, Z_NO_FLUSH)
            appended = Int(room - stream.pointee.avail_out)
            count += appended
            return status
        }
        let used = Int(given - stream.pointee.avail_in)
        (stream.pointee.next_in, stream.pointee.next_out) = (nil, nil)
        (stream.pointee.avail_in, stream.pointee.avail_out) = (0, 0)
        let isStuck = used == 0 && appended == 0 && !input.isEmpty
        input = UnsafeRawBufferPointer(rebasing: input[used...])
        switch status {
        case Z_STREAM_END: return true
        // Z_BUF_ERROR is no failure: there was nothing to go on with.
        case Z_OK, Z_BUF_ERROR:
            guard !isStuck else { throw BlobError(.corrupted, "The deflate data lead nowhere.") }
            return false
        case Z_DATA_ERROR:
            let reason = stream.pointee.msg.map { String(cString: $0) } ?? "no reason given"
            throw BlobError(.corrupted, "The deflate data are invalid: \(reason).")
        case Z_MEM_ERROR: throw BlobError(.unavailable, "There is no memory for the window of the inflate decoder.")
        default: throw BlobError(.internalError, "The inflate decoder failed with status \(status).")
        }
    }
}
