/// An encoder of the numbers in an index, for ``IndexReader``. Numbers of fixed size are little-endian.
package struct IndexWriter: Sendable {
    /// The bytes written so far.
    package private(set) var bytes: [UInt8] = []

    package init() {}

    package mutating func append(_ bytes: some Sequence<UInt8>) { self.bytes.append(contentsOf: bytes) }

    package mutating func append<Number: FixedWidthInteger>(fixed number: Number) {
        withUnsafeBytes(of: number.littleEndian) { self.bytes.append(contentsOf: $0) }
    }

    /// Appends a number as unsigned LEB128: 1 to 10 bytes of seven bits each, the lowest first.
    package mutating func append(varint number: UInt64) {
        var rest = number
        while rest >= 0x80 {
            self.bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        self.bytes.append(UInt8(rest))
    }

    /// Appends the number of bytes as a varint, and then the bytes.
    package mutating func append(counted bytes: some Collection<UInt8>) {
        self.append(varint: UInt64(bytes.count))
        self.append(bytes)
    }
}
