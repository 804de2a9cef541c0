/// A number of four bytes that is parsed byte by byte.
struct NumberField {
    /// The number, once it is complete.
    private(set) var value: UInt32 = 0
    private var byteCount: UInt32 = 0

    /// Parses a byte of a little-endian number, as in gzip; returns true when the number is complete.
    mutating func takeLowestFirst(_ byte: UInt8) -> Bool {
        self.value |= UInt32(byte) << (8 * self.byteCount)
        self.byteCount += 1
        return self.byteCount == 4
    }

    /// Parses a byte of a big-endian number, as in zlib; returns true when the number is complete.
    mutating func takeHighestFirst(_ byte: UInt8) -> Bool {
        self.value = self.value << 8 | UInt32(byte)
        self.byteCount += 1
        return self.byteCount == 4
    }
}
