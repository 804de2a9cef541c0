import BlobCore
import BlobDeflate

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
