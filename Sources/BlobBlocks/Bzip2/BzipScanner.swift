/// A search for block marks and end marks in bzip2 data, at any bit.
///
/// The bits of a mark may also occur within a block; only decoding shows the difference.
struct BzipScanner {
    /// The marks: the digits of pi and of its square root.
    static let (blockMark, endMark): (UInt64, UInt64) = (0x3141_5926_5359, 0x1772_4538_5090)
    /// The length of a mark in bits.
    static let bitCount = 48

    /// For each of the four middle bytes of a mark that starts at bit 0 to 7 of a byte, the bits at which a byte of the
    /// data matches.
    private static let matchingBits: [[UInt8]] = (1...4).map { place in
        (0..<256).map { byte in
            var fitting: UInt8 = 0
            for shift in 0..<8 {
                for mark in [Self.blockMark, Self.endMark] {
                    let found = (mark << 8) >> UInt64(shift + 48 - 8 * place) & 0xFF
                    if found == UInt64(byte) { fitting |= 1 << UInt8(shift) }
                }
            }
            return fitting
        }
    }

    /// Returns the bit at which the first mark begins, at or after a bit; nil without a complete mark.
    static func firstMark(in bytes: UnsafeRawBufferPointer, from bit: Int) -> Int? {
        Self.matchingBits[0].withUnsafeBufferPointer { first in
            Self.matchingBits[1].withUnsafeBufferPointer { second in
                for place in (bit / 8)..<max(bit / 8, bytes.count - 5) {
                    var fitting = first[Int(bytes[place + 1])] & second[Int(bytes[place + 2])]
                    guard fitting != 0 else { continue }
                    fitting &= Self.matchingBits[2][Int(bytes[place + 3])] & Self.matchingBits[3][Int(bytes[place + 4])]
                    for shift in 0..<8 where fitting & 1 << UInt8(shift) != 0 {
                        let start = 8 * place + shift
                        guard start >= bit, start + Self.bitCount <= 8 * bytes.count else { continue }
                        let mark = Self.number(in: bytes, at: start, bitCount: Self.bitCount)
                        if mark == Self.blockMark || mark == Self.endMark { return start }
                    }
                }
                return nil
            }
        }
    }

    /// Returns the number in at most 56 bits from a bit on, the highest bit first.
    static func number(in bytes: UnsafeRawBufferPointer, at bit: Int, bitCount: Int) -> UInt64 {
        var number: UInt64 = 0
        for place in (bit / 8)...((bit + bitCount - 1) / 8) { number = number << 8 | UInt64(bytes[place]) }
        return number >> UInt64(7 - (bit + bitCount - 1) % 8) & (1 << UInt64(bitCount) - 1)
    }
}

/// Bytes assembled from bits, the highest bit first.
struct BitWriter {
    private(set) var bytes: [UInt8] = []
    private var bitCount = 0

    init(capacity: Int) { self.bytes.reserveCapacity(capacity) }

    mutating func append(_ number: UInt64, bitCount: Int) {
        for bit in (0..<bitCount).reversed() {
            if self.bitCount % 8 == 0 { self.bytes.append(0) }
            if number >> UInt64(bit) & 1 == 1 { self.bytes[self.bytes.count - 1] |= 0x80 >> UInt8(self.bitCount % 8) }
            self.bitCount += 1
        }
    }

    /// Appends bits of `source`; the bits so far must fill whole bytes.
    mutating func append(_ bits: Range<Int>, of source: UnsafeRawBufferPointer) {
        let (shift, wholeCount) = (bits.lowerBound % 8, bits.count / 8)
        let start = bits.lowerBound / 8
        self.bytes += [UInt8](unsafeUninitializedCapacity: wholeCount) { buffer, filled in
            // Words first: a loop over bytes would take a hundredth of the decoding time.
            var place = 0
            while place + 8 <= wholeCount, start + place + 9 <= source.count {
                let word = source.loadUnaligned(fromByteOffset: start + place, as: UInt64.self).bigEndian
                let shifted = word << UInt64(shift) | UInt64(source[start + place + 8]) >> UInt64(8 - shift)
                UnsafeMutableRawBufferPointer(buffer).storeBytes(
                    of: shifted.bigEndian, toByteOffset: place, as: UInt64.self)
                place += 8
            }
            for place in place..<wholeCount {
                let next = shift > 0 ? UInt16(source[start + place + 1]) : 0
                buffer[place] = UInt8(
                    truncatingIfNeeded: (UInt16(source[start + place]) << 8 | next) >> UInt16(8 - shift))
            }
            filled = wholeCount
        }
        self.bitCount += 8 * wholeCount
        let rest = bits.count % 8
        guard rest > 0 else { return }
        self.append(BzipScanner.number(in: source, at: bits.upperBound - rest, bitCount: rest), bitCount: rest)
    }
}
