/// A set of values of a byte, in which a look-up costs a few instructions.
package struct ByteSet: Sendable, ExpressibleByArrayLiteral {
    private var bits: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)

    package init(_ bytes: some Sequence<UInt8>) {
        withUnsafeMutableBytes(of: &self.bits) { words in
            for byte in bytes { words[Int(byte) / 8] |= 1 << (byte % 8) }
        }
    }

    package init(arrayLiteral bytes: UInt8...) { self.init(bytes) }

    package func contains(_ byte: UInt8) -> Bool {
        withUnsafeBytes(of: self.bits) { $0[Int(byte) / 8] & 1 << (byte % 8) != 0 }
    }

    package func union(_ bytes: some Sequence<UInt8>) -> ByteSet { ByteSet(self.bytes + Array(bytes)) }

    package func subtracting(_ bytes: some Sequence<UInt8>) -> ByteSet {
        let others = ByteSet(bytes)
        return ByteSet(self.bytes.filter { !others.contains($0) })
    }

    private var bytes: [UInt8] { (0...UInt8.max).filter(self.contains) }
}
