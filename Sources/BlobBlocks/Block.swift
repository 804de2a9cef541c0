package import BlobCore
import BlobDeflate
import BlobIndex

/// A decoder of one block, backed by a system library.
package protocol BlockDecoder: AnyObject {
    /// Decodes bytes.
    ///
    /// - Parameters:
    ///   - input: The compressed bytes; the decoder removes the bytes that it consumed from the front.
    ///   - output: The output, to which bytes are appended while it has free space.
    /// - Returns: True at the end of the block, if its checksum is correct.
    /// - Throws: ``BlobError/Code/corrupted``; ``BlobError/Code/limitExceeded``; ``BlobError/Code/io`` if out of
    ///   memory.
    func decode(_ input: inout UnsafeRawBufferPointer, into output: inout OutputRawSpan) throws(BlobError) -> Bool
}

/// A part of compressed data that can be decoded without the parts before it: a block of xz or bzip2, a frame of
/// Zstandard.
package struct Block: Sendable {
    /// The compressed bytes; empty if ``isStreamed`` is true.
    var bytes: [UInt8]
    /// True if the block is too large to be held in memory: ``BlockFinder/nextBytes()`` returns its bytes in pieces.
    var isStreamed = false
    /// The length of the decoded bytes; nil if unknown before decoding.
    var byteCount: Int64?
    /// The length and checksum that an index expects of the decoded bytes; nil without an index.
    var expected: Content?
    /// True if the checksum of the decoded bytes is computed, for an index.
    var computesChecksum = false
    /// The checksum of the format that the decoder verifies; nil if the block has none.
    var check: String?
    /// The restart point after the block, whose decoded offset is not known yet; nil if the data lists its blocks.
    var nextPoint: RestartPoint?
    /// The approximate memory for the bytes and for decoding them, in bytes.
    var memoryByteCount: Int
    /// Returns a decoder of the block.
    var makeDecoder: @Sendable () throws(BlobError) -> any BlockDecoder

    /// The length and the CRC-32 of decoded bytes.
    struct Content: Equatable, Sendable {
        var byteCount: Int64
        var checksum: UInt32
    }
}

/// The search for the blocks of a source, one after another, in one pass.
package protocol BlockFinder: AnyObject {
    /// The offset of the first decoded byte of the first block.
    var byteOffset: Int64 { get }

    /// Returns the next block; nil at the end, if only permitted data follows the last block.
    ///
    /// - Throws: Errors of the base; ``BlobError/Code/corrupted`` or another error if this finder does not support the
    ///   data, even if it is not damaged.
    func next() throws -> Block?

    /// Returns the next compressed bytes of a streamed block; empty at its end.
    func nextBytes() throws -> [UInt8]

    /// Frees the resources.
    func close()
}

extension BlockFinder {
    func nextBytes() throws -> [UInt8] { [] }
}

/// A block that is being decoded.
final class OpenBlock: @unchecked Sendable {  // Safe: handed from one thread to the next, never shared.
    private var block: Block
    private let computesChecksum: Bool
    private var sum = CRC32()
    private var usedByteCount = 0

    /// The decoder and the compressed bytes; nil and empty at the end.
    private var decoder: (any BlockDecoder)?
    private var bytes: [UInt8]

    /// The offset of the first byte of the block, once known.
    var startOffset: Int64 = 0

    /// The number of bytes decoded so far.
    private(set) var byteCount: Int64 = 0

    /// The offset of the next byte to decode.
    var byteOffset: Int64 { self.startOffset + self.byteCount }

    /// The number of compressed bytes in memory: all bytes of the block, unless it is streamed or at its end.
    var compressedByteCount: Int64 { Int64(self.bytes.count) }

    /// True if the compressed bytes arrive in pieces; see ``Block/isStreamed``.
    var isStreamed: Bool { self.block.isStreamed }

    /// The restart point after the block, once the block is at its end; nil if the data lists its blocks.
    var nextPoint: RestartPoint? {
        self.block.nextPoint.map {
            RestartPoint(bitOffset: $0.bitOffset, byteOffset: self.byteOffset, detail: $0.detail)
        }
    }

    /// The checksum of the format that is verified at the end; nil if the block has none.
    var check: String? { self.block.check }

    /// True if the whole block is decoded and checked.
    var isAtEnd: Bool { self.decoder == nil }

    /// The CRC-32 of the bytes decoded so far, if the block computes one; see ``Block/computesChecksum``.
    var checksum: UInt32 { self.sum.value }

    init(_ block: Block) throws(BlobError) {
        self.decoder = try block.makeDecoder()
        self.computesChecksum = block.computesChecksum || block.expected != nil
        self.bytes = block.bytes
        self.block = block
        self.block.bytes = []
    }

    /// Decodes bytes, and appends them while the output has free space.
    ///
    /// - Parameter more: A closure that returns more compressed bytes when all are used; empty at the end of the block.
    /// - Throws: ``BlobError/Code/corrupted`` if the block is damaged, or its lengths are not the expected ones.
    func decode(into output: inout OutputRawSpan, more: () throws -> [UInt8] = { [] }) throws {
        while output.freeCapacity > 0, let decoder {
            if self.usedByteCount == self.bytes.count { (self.bytes, self.usedByteCount) = (try more(), 0) }
            let start = output.byteCount
            var used = 0
            let isAtEnd = try self.bytes.withUnsafeBytes { bytes in
                var input = UnsafeRawBufferPointer(rebasing: bytes[self.usedByteCount...])
                let count = input.count
                defer { used = count - input.count }
                return try decoder.decode(&input, into: &output)
            }
            self.usedByteCount += used
            self.byteCount += Int64(output.byteCount - start)
            if self.computesChecksum {
                output.bytes.withUnsafeBytes { self.sum.update(UnsafeRawBufferPointer(rebasing: $0[start...])) }
            }
            guard isAtEnd else {
                // A decoder may still return buffered bytes after it has consumed all input.
                guard used > 0 || output.byteCount > start else {
                    throw BlobError(.corrupted, "A block ends too early.")
                }
                continue
            }
            try self.finish(isWhole: self.usedByteCount == self.bytes.count && more().isEmpty)
        }
    }

    private func finish(isWhole: Bool) throws(BlobError) {
        guard isWhole, self.block.byteCount ?? self.byteCount == self.byteCount else {
            throw BlobError(.corrupted, "A block has an unexpected length.")
        }
        let content = Block.Content(byteCount: self.byteCount, checksum: self.checksum)
        guard self.block.expected ?? content == content else {
            throw BlobError(.checksumMismatch, "The content of a block does not match the index of the blocks.")
        }
        (self.decoder, self.bytes) = (nil, [])
    }
}
