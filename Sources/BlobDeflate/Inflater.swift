package import BlobCore

/// A decoder of raw deflate data (RFC 1951), without header, trailer or checksum.
///
/// Does no I/O, and is independent of readers, formats and offsets. Takes about 40 KiB of memory with zlib, 90 KiB with
/// ISA-L.
package struct Inflater: ~Copyable {
    /// The reason why decoding stopped.
    package enum Stop {
        /// The input is consumed or the output is full.
        case more
        /// A block that is not the last ended; see ``Inflater/blockEnd``.
        case blockEnd
        /// The stream ended.
        case streamEnd
    }

    /// A position between two blocks, at which decoding can resume.
    package struct BlockEnd {
        /// The bits consumed from the input past the position, the lowest first; they belong to the next block.
        package var unreadBits: UInt64 = 0
        /// The number of ``unreadBits``, 0...64.
        package var unreadBitCount = 0
        /// The number of bytes before the position that are decoded but not yet delivered.
        package var pendingByteCount = 0
    }

    /// Up to eight bytes after the end of a stream, the first in the lowest bits.
    package struct Surplus {
        package var bytes: UInt64 = 0
        package var count = 0

        package init(bytes: UInt64 = 0, count: Int = 0) { (self.bytes, self.count) = (bytes, count) }

        package mutating func popFirst() -> UInt8? {
            guard self.count > 0 else { return nil }
            defer {
                self.bytes >>= 8
                self.count -= 1
            }
            return UInt8(truncatingIfNeeded: self.bytes)
        }
    }

    /// The largest distance of a back-reference in deflate data, in bytes: 32 KiB (RFC 1951, section 2).
    package static let windowByteCount = 32 * 1024

    private let engine: any InflateEngine

    /// Creates a decoder before the first byte of a deflate stream.
    ///
    /// - Parameter library: The library that decodes, by default the fastest. If it cannot be loaded, zlib is used.
    /// - Throws: ``BlobError/Code/unavailable`` if out of memory for the window.
    package init(_ library: InflateLibrary = .isal) throws(BlobError) {
        self.engine = library == .isal && ISALEngine.isLoaded ? ISALEngine() : try ZlibEngine()
    }

    /// Decodes the bytes of a window, at most the first 32 KiB, from deflate data.
    package static func window(packed: ArraySlice<UInt8>) throws(BlobError) -> [UInt8] {
        var inflater = try Inflater()
        return try [UInt8](capacity: self.windowByteCount) { output in
            try packed.withUnsafeBytes { bytes in
                var rest = bytes
                while output.freeCapacity > 0, try !inflater.decode(&rest, into: &output), !rest.isEmpty {}
            }
        }
    }

    /// Resets the decoder for another deflate stream. Allocates no memory.
    package mutating func reset() { self.engine.reset() }

    /// Resumes at the start of a block in the middle of a stream.
    ///
    /// - Parameters:
    ///   - bits: The remaining bits of the byte in which the block begins, the lowest first.
    ///   - bitCount: The number of those bits, 0...7; 0 if the block begins at a byte boundary.
    ///   - window: The decoded bytes before the block: the last 32 KiB, or all bytes if fewer.
    package mutating func resume(bits: UInt8, bitCount: Int, window: UnsafeRawBufferPointer) {
        self.engine.resume(bits: bits, bitCount: bitCount, window: window)
    }

    /// Decodes until the stream ends, `input` is consumed or `output` is full.
    ///
    /// After a full output, more bytes may follow without further input: before fetching more, call again, even with an
    /// empty input.
    ///
    /// - Parameters:
    ///   - input: The next bytes of the stream; consumed bytes are removed from its front. At the end of the stream,
    ///     the ``surplus`` and then the rest of `input` follow the stream.
    ///   - output: The output, which has free space. The bytes are appended to it. Bytes appended before an error are
    ///     correct.
    /// - Returns: True at the end of the stream; then call only ``reset()`` or ``resume(bits:bitCount:window:)``.
    /// - Throws: ``BlobError/Code/corrupted`` without an offset: the error is at the front of the remaining `input`.
    /// - Complexity: O(bytes consumed and appended), no allocation.
    package mutating func decode(
        _ input: inout UnsafeRawBufferPointer, into output: inout OutputRawSpan
    ) throws(BlobError) -> Bool {
        try self.decode(&input, into: &output, stoppingAtBlockEnds: false) == .streamEnd
    }

    /// Decodes as ``decode(_:into:)`` does, and optionally stops at block ends too.
    ///
    /// While `stoppingAtBlockEnds` is true, up to 64 KiB of decoded bytes may be held back: at the end of the input,
    /// call once more with `stoppingAtBlockEnds` false.
    package mutating func decode(
        _ input: inout UnsafeRawBufferPointer, into output: inout OutputRawSpan, stoppingAtBlockEnds: Bool
    ) throws(BlobError) -> Stop {
        let given = input.count
        var appended = 0
        let stop = try output.withUnsafeMutableBytes { buffer, count throws(BlobError) in
            let free = UnsafeMutableRawBufferPointer(rebasing: buffer[count...])
            defer { count += appended }
            return try self.engine.decode(
                &input, into: free, stoppingAtBlockEnds: stoppingAtBlockEnds, appended: &appended)
        }
        if stop == .more, appended == 0, input.count == given, !input.isEmpty, output.freeCapacity > 0 {
            throw BlobError(.corrupted, "The deflate data is invalid: decoding makes no progress.")
        }
        return stop
    }

    /// The end of the block at which decoding stopped.
    package var blockEnd: BlockEnd { self.engine.blockEnd }

    /// Calls `body` with the decoded bytes before ``blockEnd``: the last 32 KiB, or all bytes if fewer.
    package func withWindow(_ body: (UnsafeRawBufferPointer) -> Void) { self.engine.withWindow(body) }

    /// The bytes of earlier inputs that were consumed past the end of the stream; they belong to the data after it.
    package var surplus: Surplus { self.engine.surplus }
}
