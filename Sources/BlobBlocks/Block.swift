package import BlobCore
import BlobDeflate
import BlobIndex

/// A decoder of one block, with a library of the system.
package protocol BlockDecoder: AnyObject {
    /// Decodes bytes.
    ///
    /// - Parameters:
    ///   - input: Compressed bytes; those that were used are removed from the front.
    ///   - output: Appended to, as far as it has room.
    /// - Returns: True at the end of the block, when its checksum is right.
    /// - Throws: ``BlobError/Code/corrupted``, ``BlobError/Code/limitExceeded``, ``BlobError/Code/io`` when there is no
    ///   memory.
    func decode(_ input: inout UnsafeRawBufferPointer, into output: inout OutputRawSpan) throws(BlobError) -> Bool
}

/// A part of compressed data that can be decoded without the parts before it: a block of xz or bzip2, a frame of
/// Zstandard.
package struct Block: Sendable {
    /// The compressed bytes; empty when ``isStreamed`` is true.
    var bytes: [UInt8]
    /// True when the block is too large to be kept in memory: ``BlockFinder/nextBytes()`` returns its bytes.
    var isStreamed = false
    /// The length of the decoded bytes; nil when only decoding shows it.
    var byteCount: Int64?
    /// The decoded bytes as an index describes them, with which they are compared; nil without an index.
    var expected: Content?
    /// True when the checksum of the decoded bytes is computed, for an index.
    var isSummed = false
    /// The checksum of the format that the decoder verifies; nil when the block has none.
    var check: String?
    /// The place behind the block, whose decoded offset is not known yet; nil when the data list their blocks.
    var next: RestartPoint?
    /// The memory that the bytes and their decoding take, in bytes, about.
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

    /// Returns the next block; nil at the end, when nothing follows the last block that may not be there.
    ///
    /// - Throws: Errors of the base; ``BlobError/Code/corrupted`` and others when the data are not as this finder
    ///   expects them, even if they are not damaged.
    func next() throws -> Block?

    /// Returns the next compressed bytes of a block that is streamed; none at its end.
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
    private let isSummed: Bool
    private var sum = CRC32()
    private var usedCount = 0

    /// The decoder and the compressed bytes; nil, and none, at the end.
    private var decoder: (any BlockDecoder)?
    private var bytes: [UInt8]

    /// The offset of the first byte of the block, once it is known.
    var startOffset: Int64 = 0

    /// The number of bytes decoded so far.
    private(set) var byteCount: Int64 = 0

    /// The offset of the next byte to decode.
    var byteOffset: Int64 { self.startOffset + self.byteCount }

    /// The number of compressed bytes in memory; of a block that is not streamed and not at its end, all of them.
    var compressedByteCount: Int64 { Int64(self.bytes.count) }

    /// True when the compressed bytes come one piece after the other; see ``Block/isStreamed``.
    var isStreamed: Bool { self.block.isStreamed }

    /// The place behind the block in the data, when it is at its end; nil when the data list their blocks.
    var next: RestartPoint? {
        self.block.next.map { RestartPoint(bitOffset: $0.bitOffset, byteOffset: self.byteOffset, detail: $0.detail) }
    }

    /// The checksum of the format that is verified at the end; nil when there is none.
    var check: String? { self.block.check }

    /// True when the whole block is decoded and checked.
    var isAtEnd: Bool { self.decoder == nil }

    /// The CRC-32 of the bytes decoded so far, of a block that is summed.
    var checksum: UInt32 { self.sum.value }

    init(_ block: Block) throws(BlobError) {
        self.decoder = try block.makeDecoder()
        self.isSummed = block.isSummed || block.expected != nil
        self.bytes = block.bytes
        self.block = block
        self.block.bytes = []
    }

    /// Appends bytes as far as there is room.
    ///
    /// - Parameter more: Returns more compressed bytes when all are used; none at the end of the block.
    /// - Throws: ``BlobError/Code/corrupted`` when the block is damaged, or has other lengths than it should have.
    func decode(into output: inout OutputRawSpan, more: () throws -> [UInt8] = { [] }) throws {
        while output.freeCapacity > 0, let decoder {
            if self.usedCount == self.bytes.count { (self.bytes, self.usedCount) = (try more(), 0) }
            let start = output.byteCount
            var used = 0
            let isAtEnd = try self.bytes.withUnsafeBytes { bytes in
                var input = UnsafeRawBufferPointer(rebasing: bytes[self.usedCount...])
                let count = input.count
                defer { used = count - input.count }
                return try decoder.decode(&input, into: &output)
            }
            self.usedCount += used
            self.byteCount += Int64(output.byteCount - start)
            if self.isSummed {
                output.bytes.withUnsafeBytes { self.sum.update(UnsafeRawBufferPointer(rebasing: $0[start...])) }
            }
            guard isAtEnd else {
                // A decoder may return bytes that it holds after it has taken all input.
                guard used > 0 || output.byteCount > start else {
                    throw BlobError(.corrupted, "A block ends before its end.")
                }
                continue
            }
            try self.finish(isWhole: self.usedCount == self.bytes.count && more().isEmpty)
        }
    }

    private func finish(isWhole: Bool) throws(BlobError) {
        guard isWhole, self.block.byteCount ?? self.byteCount == self.byteCount else {
            throw BlobError(.corrupted, "A block has another length than it should have.")
        }
        let content = Block.Content(byteCount: self.byteCount, checksum: self.checksum)
        guard self.block.expected ?? content == content else {
            throw BlobError(.checksumMismatch, "A block has other bytes than the index of the blocks says.")
        }
        (self.decoder, self.bytes) = (nil, [])
    }
}
