extension [UInt8] {
    /// Returns a little-endian number; nil past the end.
    func number(at offset: Int, count: Int) -> Int? {
        guard offset >= 0, count <= 8, offset <= self.count - count else { return nil }
        return Int(exactly: self[offset..<(offset + count)].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
    }

    /// Overwrites a little-endian number; does nothing past the end.
    mutating func set(_ number: some BinaryInteger, at offset: Int, count: Int) {
        guard offset >= 0, offset <= self.count - count else { return }
        for index in 0..<count { self[offset + index] = UInt8(truncatingIfNeeded: number >> (8 * index)) }
    }
}
