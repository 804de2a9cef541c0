extension MutableCollection where Element == UInt8, Index == Int {
    /// A copy with bits of one byte flipped.
    package func flipping(_ bits: UInt8 = 1, at index: Int) -> Self {
        var copy = self
        copy[index] = self[index] ^ bits
        return copy
    }

    /// A copy with one bit flipped, counted from the lowest of the byte at index 0.
    package func flipping(bit: Int) -> Self { self.flipping(1 << (bit % 8), at: bit / 8) }

    /// The copies with one bit flipped each, from the lowest bit of the byte at index 0 on.
    package var copiesWithAFlippedBit: some Sequence<Self> {
        (0..<(8 * self.count)).lazy.map { self.flipping(bit: $0) }
    }
}
