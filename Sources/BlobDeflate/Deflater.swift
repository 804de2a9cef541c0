package import BlobCore
internal import CZlib

/// An encoder of raw deflate data (RFC 1951), without header, trailer or checksum.
///
/// Does no I/O. Uses zlib, and about 270 KiB of memory.
package struct Deflater: ~Copyable {
    // On the heap: zlib keeps a pointer back to its `z_stream`, so it must never move.
    private let stream: UnsafeMutablePointer<z_stream>

    /// The version of zlib. The encoded bytes may depend on it; the bytes that they decode to never do.
    package static var version: String { String(cString: zlibVersion()) }

    /// Creates an encoder.
    ///
    /// - Parameter level: The compression level, from 0 (stored) to 9 (smallest).
    /// - Throws: ``BlobError/Code/unavailable`` if out of memory.
    package init(level: Int) throws(BlobError) {
        precondition((0...9).contains(level), "The level must be from 0 to 9.")
        let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        stream.initialize(to: z_stream())
        // Negative means raw deflate; 15 means a window of 32 KiB, the largest.
        let status = blob_deflate_init(stream, CInt(level), -15)
        guard status == Z_OK else {
            stream.deallocate()
            throw BlobError(.unavailable, "The deflate encoder could not start: status \(status).")
        }
        self.stream = stream
    }

    deinit {
        deflateEnd(self.stream)
        self.stream.deallocate()
    }

    /// Resets the encoder for another stream. Allocates no memory.
    package mutating func reset() { deflateReset(self.stream) }

    /// Encodes until `input` is consumed or `output` is full.
    ///
    /// After a full output, more bytes may follow without further input. The encoded bytes may depend on the division
    /// of the input and on the free space in the output.
    ///
    /// - Parameters:
    ///   - input: The next bytes; consumed bytes are removed from its front.
    ///   - isLast: True if no bytes follow `input`; must stay true until the end.
    ///   - output: The output, which has free space. The bytes are appended to it.
    /// - Returns: True at the end of the stream, which is reached only after the last input.
    /// - Complexity: O(bytes used and appended), no allocation.
    package mutating func encode(
        _ input: inout UnsafeRawBufferPointer, isLast: Bool, into output: inout OutputRawSpan
    ) throws(BlobError) -> Bool {
        let stream = self.stream
        let given = UInt32(clamping: input.count)
        let flush = isLast && Int(given) == input.count ? Z_FINISH : Z_NO_FLUSH
        stream.pointee.next_in = input.baseAddress?.assumingMemoryBound(to: UInt8.self)
        stream.pointee.avail_in = given
        let status = output.withUnsafeMutableBytes { buffer, count in
            let room = UInt32(clamping: buffer.count - count)
            stream.pointee.next_out = buffer.baseAddress?.advanced(by: count).assumingMemoryBound(to: UInt8.self)
            stream.pointee.avail_out = room
            let status = deflate(stream, flush)
            count += Int(room - stream.pointee.avail_out)
            return status
        }
        input = UnsafeRawBufferPointer(rebasing: input[Int(given - stream.pointee.avail_in)...])
        (stream.pointee.next_in, stream.pointee.next_out) = (nil, nil)
        (stream.pointee.avail_in, stream.pointee.avail_out) = (0, 0)
        switch status {
        case Z_STREAM_END: return true
        // Z_BUF_ERROR is not a failure: zlib needs more input or output to continue.
        case Z_OK, Z_BUF_ERROR: return false
        default: throw BlobError(.internalError, "The deflate encoder failed with status \(status).")
        }
    }
}
