import BlobDeflate
import BlobTestSupport
import Foundation

/// Deflate data whose blocks are as long as a test wants, in few compressed bytes: some literals, and references to
/// anywhere in the 32 KiB before. All with the fixed codes of RFC 1951, section 3.2.6.
struct FixedBlocks {
    private var bits: UInt64 = 0
    private var bitCount: UInt64 = 0
    private var deflated: [UInt8] = []
    private(set) var bytes: [UInt8] = []
    private var random: SplitMix64

    private static let matchByteCount = 258

    init(seed: UInt64) { self.random = SplitMix64(seed: seed) }

    /// Data of blocks of about these lengths, as one gzip member, and what they decode to.
    static func gzip(_ blockByteCounts: [Int], seed: UInt64) -> (bytes: Data, gzip: Data) {
        var blocks = FixedBlocks(seed: seed)
        for (number, count) in blockByteCounts.enumerated() {
            blocks.appendBlock(count, isLast: number == blockByteCounts.count - 1)
        }
        let bytes = Data(blocks.bytes)
        var sum = CRC32()
        blocks.bytes.withUnsafeBytes { sum.update($0) }
        let header = Data([0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3])
        return (
            bytes,
            header + blocks.finish() + Int(sum.value).littleEndian(4) + (bytes.count & 0xFFFF_FFFF).littleEndian(4)
        )
    }

    private mutating func appendBlock(_ byteCount: Int, isLast: Bool) {
        self.put(isLast ? 1 : 0, 1)
        self.put(1, 2)
        let end = self.bytes.count + byteCount
        self.bytes.reserveCapacity(end + Self.matchByteCount)
        for _ in 0..<max(20, Self.matchByteCount - self.bytes.count) {
            self.putLiteral(UInt8.random(in: 0...255, using: &self.random))
        }
        while self.bytes.count < end {
            let distance = Int.random(
                in: Self.matchByteCount...min(32_768, self.bytes.count), using: &self.random)
            self.putMatch(distance: distance)
        }
        self.putCode(0, 7)
    }

    private mutating func putLiteral(_ byte: UInt8) {
        if byte < 144 { self.putCode(0x30 + UInt64(byte), 8) } else { self.putCode(0x190 + UInt64(byte) - 144, 9) }
        self.bytes.append(byte)
    }

    /// A reference with the greatest length, symbol 285, to at least as many bytes back.
    private mutating func putMatch(distance: Int) {
        self.putCode(0xC5, 8)
        // Section 3.2.5: two codes for each number of extra bits, from 4 on.
        let extraCount = max(0, Int.bitWidth - (distance - 1).leadingZeroBitCount - 2)
        let code = 2 * extraCount + (distance - 1) >> extraCount
        self.putCode(UInt64(code), 5)
        self.put(UInt64((distance - 1) & (1 << extraCount - 1)), UInt64(extraCount))
        let start = self.bytes.count - distance
        let copied = Array(self.bytes[start..<(start + Self.matchByteCount)])
        self.bytes.append(contentsOf: copied)
    }

    /// Huffman codes have their highest bit first.
    private mutating func putCode(_ code: UInt64, _ count: UInt64) {
        for bit in (0..<count).reversed() { self.put(code >> bit & 1, 1) }
    }

    private mutating func put(_ value: UInt64, _ count: UInt64) {
        self.bits |= value << self.bitCount
        self.bitCount += count
        while self.bitCount >= 8 {
            self.deflated.append(UInt8(truncatingIfNeeded: self.bits))
            self.bits >>= 8
            self.bitCount -= 8
        }
    }

    private mutating func finish() -> Data {
        if self.bitCount > 0 { self.put(0, 8 - self.bitCount) }
        return Data(self.deflated)
    }
}
