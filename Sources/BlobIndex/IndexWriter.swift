/// Puts the numbers of an index together: what ``IndexReader`` reads. Fixed sizes have their lowest byte first.
package struct IndexWriter: Sendable {
    /// What was written.
    package private(set) var bytes: [UInt8] = []

    package init() {}

    package mutating func append(_ bytes: some Sequence<UInt8>) { self.bytes.append(contentsOf: bytes) }

    package mutating func append<Number: FixedWidthInteger>(fixed number: Number) {
        withUnsafeBytes(of: number.littleEndian) { self.bytes.append(contentsOf: $0) }
    }

    /// Appends 1 to 10 bytes: unsigned LEB128, seven bits a byte, the lowest first.
    package mutating func append(varint number: UInt64) {
        var rest = number
        while rest >= 0x80 {
            self.bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        self.bytes.append(UInt8(rest))
    }

    /// Appends the length as a varint, and the bytes.
    package mutating func append(counted bytes: some Collection<UInt8>) {
        self.append(varint: UInt64(bytes.count))
        self.append(bytes)
    }
}
