package import BlobCore
import BlobDeflate
package import BlobIndex

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
    /// The offset of the first decoded byte of the next block.
    var byteOffset: Int64 { get }

    /// Returns the next block; nil at the end, when nothing follows the last block that may not be there.
    ///
    /// - Throws: Errors of the base; ``BlobError/Code/corrupted`` and others when the data are not as this finder
    ///   expects them, even if they are not damaged.
    func next() throws -> Block?

    /// Returns the next compressed bytes of a block that is streamed; none at its end.
    func nextBytes() throws -> [UInt8]

    /// Called with the length of each block after it was verified, in order.
    ///
    /// - Returns: The start of the next block; nil when the data list their blocks.
    func decoded(_ byteCount: Int64) -> RestartPoint?

    /// Frees the resources.
    func close()
}

extension BlockFinder {
    func nextBytes() throws -> [UInt8] { [] }
    func decoded(_ byteCount: Int64) -> RestartPoint? { nil }
}

/// A block that is being decoded.
final class OpenBlock: @unchecked Sendable {  // Safe: handed from one thread to the next, never shared.
    private let decoder: any BlockDecoder
    private let expectedByteCount: Int64?
    private let expected: Block.Content?
    private let isSummed: Bool
    /// The checksum of the format that is verified at the end; nil when there is none.
    let check: String?
    private var sum = CRC32()
    private var bytes: [UInt8]
    private var usedCount = 0

    /// The number of bytes decoded so far.
    private(set) var byteCount: Int64 = 0

    /// The number of compressed bytes in memory; of a block that is not streamed, all of them.
    var compressedByteCount: Int64 { Int64(self.bytes.count) }

    /// True when the whole block is decoded and checked.
    private(set) var isAtEnd = false

    init(_ block: Block) throws(BlobError) {
        self.decoder = try block.makeDecoder()
        self.expectedByteCount = block.byteCount
        self.expected = block.expected
        self.isSummed = block.isSummed || block.expected != nil
        self.bytes = block.bytes
        self.check = block.check
    }

    /// The CRC-32 of the bytes decoded so far, of a block that is summed.
    var checksum: UInt32 { self.sum.value }

    /// Appends bytes as far as there is room.
    ///
    /// - Parameter more: Returns more compressed bytes when all are used; none at the end of the block.
    /// - Throws: ``BlobError/Code/corrupted`` when the block is damaged, or has other lengths than it should have.
    func decode(into output: inout OutputRawSpan, more: () throws -> [UInt8] = { [] }) throws {
        while output.freeCapacity > 0, !self.isAtEnd {
            if self.usedCount == self.bytes.count { (self.bytes, self.usedCount) = (try more(), 0) }
            let start = output.byteCount
            var used = 0
            self.isAtEnd = try self.bytes.withUnsafeBytes { bytes in
                var input = UnsafeRawBufferPointer(rebasing: bytes[self.usedCount...])
                let count = input.count
                let isAtEnd = try self.decoder.decode(&input, into: &output)
                used = count - input.count
                return isAtEnd
            }
            self.usedCount += used
            self.byteCount += Int64(output.byteCount - start)
            if self.isSummed {
                output.bytes.withUnsafeBytes { self.sum.update(UnsafeRawBufferPointer(rebasing: $0[start...])) }
            }
            // A decoder may return bytes that it holds after it has taken all input.
            guard self.isAtEnd || used > 0 || output.byteCount > start else {
                throw BlobError(.corrupted, "A block ends before its end.")
            }
        }
        guard self.isAtEnd else { return }
        let isWhole = try self.usedCount == self.bytes.count && more().isEmpty
        guard isWhole, self.expectedByteCount ?? self.byteCount == self.byteCount else {
            throw BlobError(.corrupted, "A block has another length than it should have.")
        }
        if let expected, expected != Block.Content(byteCount: self.byteCount, checksum: self.checksum) {
            throw BlobError(.checksumMismatch, "A block has other bytes than the index of the blocks says.")
        }
    }
}

/// The rest of a block that a reader left before its end, for the next reader of the same source.
///
/// Whoever skips a part of a block by opening another reader does not decode the bytes before it twice.
struct ParkedBlock: Sendable {
    let block: OpenBlock
    /// The offset of the first byte of the block.
    let startOffset: Int64

    /// The offset of the next byte that ``block`` decodes.
    var byteOffset: Int64 { self.startOffset + self.block.byteCount }
}
