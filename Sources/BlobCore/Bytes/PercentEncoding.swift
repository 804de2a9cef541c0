/// Percent-encoding of bytes (RFC 3986, section 2.1).
package enum PercentEncoding {
    private static let unreserved = ByteSet(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~".utf8)

    /// The bytes that a path may hold unencoded: `pchar` and the slash (RFC 3986, section 3.3).
    package static let pathCharacters = unreserved.union("!$&'()*+,;=:@/".utf8)

    /// The bytes that a selector may hold unencoded: the bytes of a fragment (section 3.5) except `!`, which separates
    /// selectors.
    package static let selectorCharacters = pathCharacters.union("?".utf8).subtracting("!".utf8)

    /// The bytes that may stand unencoded between a scheme and a fragment: path, query and authority with its brackets.
    package static let schemeSpecificCharacters = pathCharacters.union("?[]".utf8)

    /// Returns `bytes` with all bytes except those in `characters` encoded as `%XX`.
    package static func encode(_ bytes: some Sequence<UInt8>, leaving characters: ByteSet) -> String {
        var text: [UInt8] = []
        text.reserveCapacity(bytes.underestimatedCount)
        // An array first: across modules, each element of a generic sequence would cost a call through its witness
        // table.
        for byte in Array(bytes) {
            if characters.contains(byte) {
                text.append(byte)
            } else {
                text += "%\([byte].hexadecimal.uppercased())".utf8
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Returns the decoded bytes of `text`; nil if a `%` is not followed by two hexadecimal digits.
    package static func decode(_ text: some Sequence<UInt8>) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.underestimatedCount)
        var iterator = text.makeIterator()
        while let byte = iterator.next() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = iterator.next().flatMap(digit), let low = iterator.next().flatMap(digit) else {
                return nil
            }
            bytes.append(UInt8(high << 4 | low))
        }
        return bytes
    }

    private static func digit(_ byte: UInt8) -> Int? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): Int(byte - UInt8(ascii: "0"))
        case UInt8(ascii: "A")...UInt8(ascii: "F"): Int(byte - UInt8(ascii: "A")) + 10
        case UInt8(ascii: "a")...UInt8(ascii: "f"): Int(byte - UInt8(ascii: "a")) + 10
        default: nil
        }
    }
}

/// A set of byte values; a look-up costs a few instructions.
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
