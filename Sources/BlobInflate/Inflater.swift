package import BlobStreams

/// Decodes raw deflate data (RFC 1951), without any header, trailer or checksum around them.
///
/// Bytes in, bytes out: knows nothing of readers, formats and offsets. About 40 KiB of memory with zlib, 90 with ISA-L.
package struct Inflater: ~Copyable {
    /// What made a decoding stop.
    package enum Stop {
        /// The input is used up or the output is full.
        case more
        /// A block that is not the last one ended; see ``Inflater/blockEnd``.
        case blockEnd
        /// The stream ended.
        case streamEnd
    }

    /// A place between two blocks, where decoding can start again.
    package struct BlockEnd {
        /// The bits that were taken from the input behind it, the lowest first; they belong to the next block.
        package var unreadBits: UInt64 = 0
        /// How many those are, 0...64.
        package var unreadBitCount = 0
        /// How many bytes before it are decoded and not handed out yet.
        package var pendingByteCount = 0
    }

    /// Up to eight bytes, the first in the lowest bits.
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

    /// How far back a deflate stream may refer: 32 KiB (RFC 1951, section 2).
    package static let windowByteCount = 32 * 1024

    private let engine: any InflateEngine

    /// Starts before the first byte of a deflate stream.
    ///
    /// - Parameter library: What decodes; the fastest that there is when it is left out. One that was not built in is
    ///   replaced by zlib.
    /// - Throws: ``BlobError/Code/unavailable`` when there is no memory for the window.
    package init(_ library: InflateLibrary = .isal) throws(BlobError) {
        self.engine = try makeInflateEngine(library)
    }

    /// Starts over, before the first byte of another deflate stream. Allocates nothing.
    package mutating func reset() { self.engine.reset() }

    /// Starts at the beginning of a block in the middle of a stream.
    ///
    /// - Parameters:
    ///   - bits: The bits that are left of the byte in which the block begins, its lowest first.
    ///   - bitCount: How many they are, 0...7; 0 when it begins with a byte.
    ///   - window: What the stream says before the block: its last 32 KiB, or all of it.
    package mutating func resume(bits: UInt8, bitCount: Int, window: UnsafeRawBufferPointer) {
        self.engine.resume(bits: bits, bitCount: bitCount, window: window)
    }

    /// Decodes until the stream ends, `input` is used up or `output` is full.
    ///
    /// A full output may leave bytes to come that need no more input: call again, also with an empty input, before
    /// more input is fetched.
    ///
    /// - Parameters:
    ///   - input: What comes next of the stream; what was used is gone from its front. At the end of the stream the rest
    ///     is what follows it, behind the ``surplus``.
    ///   - output: Has room. Appended to; not kept. What was appended before an error is right.
    /// - Returns: True at the end of the stream; then only ``reset()`` is left.
    /// - Throws: ``BlobError/Code/corrupted`` without an offset: `input` says how far it went.
    /// - Complexity: O(bytes used and appended), no allocation.
    package mutating func decode(
        _ input: inout UnsafeRawBufferPointer, into output: inout OutputRawSpan
    ) throws(BlobError) -> Bool {
        try self.decode(&input, into: &output, stoppingAtBlockEnds: false) == .streamEnd
    }

    /// Decodes, and stops at the ends of blocks too, if that is wanted.
    ///
    /// While ends of blocks are wanted, up to 64 KiB that are decoded may be held back: before the input is taken for
    /// ended, decode once more without them.
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
            throw BlobError(.corrupted, "The deflate data lead nowhere.")
        }
        return stop
    }

    /// Where the block ended at which decoding stopped.
    package var blockEnd: BlockEnd { self.engine.blockEnd }

    /// Lends what the stream says before the end of that block: its last 32 KiB, or all of it.
    package func withWindow(_ body: (UnsafeRawBufferPointer) -> Void) { self.engine.withWindow(body) }

    /// Behind the end of the stream: bytes of earlier inputs that were taken, and belong to what follows the stream.
    package var surplus: Surplus { self.engine.surplus }
}
