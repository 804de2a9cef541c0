import BlobCore
import BlobIndex

/// A finder of the blocks in bzip2 streams, which searches for their marks.
///
/// A block begins at a mark and ends at the next one. Decoding it as a stream of its own, with the end mark and the
/// checksum appended, proves its end: missing or extra bits are an error.
final class BzipFinder: BlockFinder {
    /// The largest compressed block, in bytes: 900,000 symbols of 20 bits, and tables; a larger block is damaged.
    private static let maximumByteCount = 3 << 20
    /// The memory for decoding a block, besides its bytes: for libbz2, and for the bytes decoded ahead.
    private static let memoryByteCount = 4 << 20 + 8 << 20
    /// The longest header of a stream: `BZh` and the level.
    private static let headerByteCount = 4

    private var input: FinderInput
    /// The bit in `input` at which the next block, end of a stream or header begins.
    private var bitIndex: Int
    /// The level of the stream, which is the maximum length of its blocks in units of 100,000 bytes; nil between
    /// streams.
    private var level: UInt8?
    /// The combined checksum of the stream's blocks so far.
    private var sum: UInt32
    let byteOffset: Int64

    init(_ base: BlockBase, _ scan: BlockScan) throws {
        self.input = try FinderInput(base, at: scan.start.compressedByteOffset)
        self.bitIndex = Int(scan.start.bitOffset % 8)
        self.byteOffset = scan.start.byteOffset
        let level = UInt8(truncatingIfNeeded: scan.start.detail)
        self.level = level == 0 ? nil : level
        self.sum = UInt32(truncatingIfNeeded: scan.start.detail >> 8)
    }

    func next() throws -> Block? {
        while true {
            guard let level else {
                guard try self.beginStream() else { return nil }
                continue
            }
            // A mark and the checksum after it.
            guard try self.fill(self.bitIndex + 80) else { throw self.unsuitableDataError }
            let (mark, sum) = self.input.bytes.withUnsafeBytes { bytes in
                (
                    BzipScanner.number(in: bytes, at: self.bitIndex, bitCount: BzipScanner.bitCount),
                    UInt32(BzipScanner.number(in: bytes, at: self.bitIndex + BzipScanner.bitCount, bitCount: 32))
                )
            }
            switch mark {
            case BzipScanner.endMark:
                guard sum == self.sum else {
                    throw BlobError(.checksumMismatch, "The checksum of the bzip2 stream is wrong.")
                }
                // A stream ends at a byte boundary.
                self.drop((self.bitIndex + 80 + 7) / 8 * 8)
                self.level = nil
            case BzipScanner.blockMark:
                let end = try self.endOfBlock()
                var block = self.block(self.bitIndex..<end, level: level, sum: sum)
                self.sum = (self.sum << 1 | self.sum >> 31) ^ sum
                self.drop(end)
                let detail = UInt64(level) | UInt64(self.sum) << 8
                block.nextPoint = RestartPoint(bitOffset: self.bitOffset, byteOffset: 0, detail: detail)
                return block
            default: throw self.unsuitableDataError
            }
        }
    }

    func close() { self.input.base.close() }

    /// The offset of the next block, end of a stream or header in the compressed data, in bits.
    private var bitOffset: Int64 { 8 * self.input.byteOffset + Int64(self.bitIndex) }

    /// Begins the next stream; returns false at the end.
    private func beginStream() throws -> Bool {
        _ = try self.fill(self.bitIndex + 8 * Self.headerByteCount)
        let rest = self.input.bytes[(self.bitIndex / 8)...]
        let header = rest.prefix(Self.headerByteCount)
        if header.count == Self.headerByteCount, header.starts(with: "BZh".utf8), let level = header.last,
            (0x31...0x39).contains(level)
        {
            (self.level, self.sum) = (level, 0)
            self.drop(self.bitIndex + 8 * Self.headerByteCount)
            return true
        }
        // Zeros may follow the last stream.
        guard rest.allSatisfy({ $0 == 0 }), try self.input.base.drain(), self.bitOffset > 0 else {
            throw self.unsuitableDataError
        }
        self.drop(8 * self.input.bytes.count)
        return false
    }

    /// Returns the bit at which the next mark begins.
    private func endOfBlock() throws -> Int {
        var searched = self.bitIndex + BzipScanner.bitCount
        while true {
            let found = self.input.bytes.withUnsafeBytes { BzipScanner.firstMark(in: $0, from: searched) }
            if let found { return found }
            searched = max(searched, 8 * self.input.bytes.count - BzipScanner.bitCount + 1)
            let count = self.input.bytes.count
            guard count - self.bitIndex / 8 <= Self.maximumByteCount, try self.input.fill(count + 1) else {
                throw self.unsuitableDataError
            }
        }
    }

    /// Creates a stream that consists of one block.
    private func block(_ bits: Range<Int>, level: UInt8, sum: UInt32) -> Block {
        var writer = BitWriter(capacity: bits.count / 8 + 16)
        for byte in Array("BZh".utf8) + [level] { writer.append(UInt64(byte), bitCount: 8) }
        self.input.bytes.withUnsafeBytes { writer.append(bits, of: $0) }
        writer.append(BzipScanner.endMark, bitCount: BzipScanner.bitCount)
        // The checksum of a stream of one block equals the block's checksum.
        writer.append(UInt64(sum), bitCount: 32)
        let bytes = writer.bytes
        return Block(bytes: bytes, check: "CRC-32", memoryByteCount: bytes.count + Self.memoryByteCount) {
            () throws(BlobError) in try BzipDecoder()
        }
    }

    private var unsuitableDataError: BlobError {
        BlobError(
            .corrupted, "Expected a block or the end of the bzip2 data.",
            byteOffset: self.bitOffset / 8)
    }

    /// Removes the whole bytes before a bit, which becomes the next bit to read.
    private func drop(_ bit: Int) {
        let count = min(bit / 8, self.input.bytes.count)
        self.input.drop(count)
        self.bitIndex = bit - 8 * count
    }

    /// Reads until the input has a number of bits; returns false if the base has fewer.
    private func fill(_ bitCount: Int) throws -> Bool { try self.input.fill((bitCount + 7) / 8) }
}
