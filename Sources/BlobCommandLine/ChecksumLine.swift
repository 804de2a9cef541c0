/// A line of a list of checksums, as sha256sum(1) and its relatives write it.
///
/// The GNU form is `HEX  NAME` or `HEX *NAME`, with a `\` in front when `\n`, `\r` and `\\` stand for characters of the
/// name; the BSD form is `SHA256 (NAME) = HEX`.
package struct ChecksumLine: Equatable, Sendable {
    /// The name of the algorithm in lower case and without a hyphen, such as `sha256`; nil in the GNU form.
    package let algorithm: String?
    /// The bytes of the digest, at least one.
    package let digest: [UInt8]
    /// The name of the file in bytes, at least one.
    package let name: [UInt8]

    /// Parses a line without its end; nil for any other text.
    package init?(_ line: some Sequence<UInt8>) {
        var line = Array(line)[...]
        if line.last == UInt8(ascii: "\r") { line = line.dropLast() }
        let isEscaped = line.first == UInt8(ascii: "\\")
        if isEscaped { line = line.dropFirst() }
        guard let parts = Self.gnu(line) ?? Self.bsd(line), let digest = Self.bytes(parts.digest),
            let name = isEscaped ? Self.unescaped(parts.name) : Array(parts.name), !name.isEmpty
        else { return nil }
        (self.algorithm, self.digest, self.name) = (parts.algorithm, digest, name)
    }

    private typealias Parts = (algorithm: String?, digest: ArraySlice<UInt8>, name: ArraySlice<UInt8>)

    private static func gnu(_ line: ArraySlice<UInt8>) -> Parts? {
        let digest = line.prefix { $0 != UInt8(ascii: " ") }
        let rest = line[digest.endIndex...].dropFirst()
        guard let mark = rest.first, " *".utf8.contains(mark), !digest.isEmpty else { return nil }
        return (nil, digest, rest.dropFirst())
    }

    private static func bsd(_ line: ArraySlice<UInt8>) -> Parts? {
        guard let open = line.firstIndex(of: UInt8(ascii: "(")), let close = line.lastIndex(of: UInt8(ascii: ")")),
            open < close
        else { return nil }
        let algorithm = String(decoding: line[..<open], as: UTF8.self).filter { $0 != " " && $0 != "-" }.lowercased()
        // The form of openssl(1) has no spaces around the name, and one behind the '='.
        let rest = line[close...].dropFirst().drop { $0 == UInt8(ascii: " ") }
        guard !algorithm.isEmpty, rest.first == UInt8(ascii: "=") else { return nil }
        return (algorithm, rest.dropFirst().drop { $0 == UInt8(ascii: " ") }, line[open..<close].dropFirst())
    }

    /// Returns the bytes of pairs of hexadecimal digits; nil for anything else.
    private static func bytes(_ digits: ArraySlice<UInt8>) -> [UInt8]? {
        guard !digits.isEmpty, digits.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        for index in stride(from: digits.startIndex, to: digits.endIndex, by: 2) {
            let pair = digits[index...].prefix(2).compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
            guard pair.count == 2, digits[index] < 0x80, digits[index + 1] < 0x80 else { return nil }
            bytes.append(UInt8(pair[0] << 4 | pair[1]))
        }
        return bytes
    }

    private static func unescaped(_ name: ArraySlice<UInt8>) -> [UInt8]? {
        var (bytes, rest): ([UInt8], ArraySlice<UInt8>) = ([], name)
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\") else {
                bytes.append(byte)
                continue
            }
            switch rest.popFirst() {
            case UInt8(ascii: "n"): bytes.append(0x0A)
            case UInt8(ascii: "r"): bytes.append(0x0D)
            case UInt8(ascii: "\\"): bytes.append(byte)
            default: return nil
            }
        }
        return bytes
    }
}
