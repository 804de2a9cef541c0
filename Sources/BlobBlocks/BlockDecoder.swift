package import BlobCore

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
    func decoded(_ byteCount: Int64) -> BlockStart?

    /// Frees the resources.
    func close()
}

extension BlockFinder {
    func nextBytes() throws -> [UInt8] { [] }
    func decoded(_ byteCount: Int64) -> BlockStart? { nil }
}
