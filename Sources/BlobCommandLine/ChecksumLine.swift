import BlobCore

/// A line of a checksum list, in the formats of sha256sum(1) and similar programs.
///
/// The GNU format is `HEX  NAME` or `HEX *NAME`, with a leading `\` if `\n`, `\r` and `\\` stand for characters of the
/// name. The BSD format is `SHA256 (NAME) = HEX`.
package struct ChecksumLine: Equatable, Sendable {
    /// The name of the algorithm in lower case and without a hyphen, such as `sha256`, even for `SHA2-256` as written
    /// by openssl(1); nil in the GNU format.
    package let algorithm: String?
    /// The bytes of the digest; never empty.
    package let digest: [UInt8]
    /// The bytes of the file name; never empty.
    package let name: [UInt8]

    /// Parses a line without its terminator; fails for any other text.
    ///
    /// - Parameter mayEscape: False for lines that end with a zero byte, in which names are not escaped.
    package init?(_ line: some Sequence<UInt8>, mayEscape: Bool = true) {
        var line = Array(line)[...]
        if mayEscape, line.last == UInt8(ascii: "\r") { line = line.dropLast() }
        let isEscaped = mayEscape && line.first == UInt8(ascii: "\\")
        if isEscaped { line = line.dropFirst() }
        guard let parts = Self.parseGNU(line) ?? Self.parseBSD(line), let digest = [UInt8](hexadecimal: parts.digest),
            let name = isEscaped ? Self.unescaped(parts.name) : Array(parts.name), !name.isEmpty, !digest.isEmpty
        else { return nil }
        (self.algorithm, self.digest, self.name) = (parts.algorithm, digest, name)
    }

    private typealias Parts = (algorithm: String?, digest: ArraySlice<UInt8>, name: ArraySlice<UInt8>)

    private static func parseGNU(_ line: ArraySlice<UInt8>) -> Parts? {
        let digest = line.prefix { $0 != UInt8(ascii: " ") }
        let rest = line[digest.endIndex...].dropFirst()
        guard let mark = rest.first, " *".utf8.contains(mark), !digest.isEmpty else { return nil }
        return (nil, digest, rest.dropFirst())
    }

    private static func parseBSD(_ line: ArraySlice<UInt8>) -> Parts? {
        guard let open = line.firstIndex(of: UInt8(ascii: "(")), let close = line.lastIndex(of: UInt8(ascii: ")")),
            open < close
        else { return nil }
        var algorithm = String(decoding: line[..<open], as: UTF8.self).filter { $0 != " " }.lowercased()
        if algorithm.hasPrefix("sha2-") { algorithm = "sha\(algorithm.dropFirst(5))" }
        algorithm.removeAll { $0 == "-" }
        // The openssl(1) format has no spaces around the name, and one after the '='.
        let rest = line[close...].dropFirst().drop { $0 == UInt8(ascii: " ") }
        guard !algorithm.isEmpty, rest.first == UInt8(ascii: "=") else { return nil }
        return (algorithm, rest.dropFirst().drop { $0 == UInt8(ascii: " ") }, line[open..<close].dropFirst())
    }

    /// Returns a line without its terminator, in a form that ``init(_:mayEscape:)`` can parse.
    ///
    /// - Parameters:
    ///   - digest: The hexadecimal digits of the digest.
    ///   - algorithm: The name of the algorithm for the BSD format; nil for the GNU format.
    package static func encode(
        _ digest: String, of name: [UInt8], algorithm: String?, mayEscape: Bool = true
    ) -> [UInt8] {
        let escaped = mayEscape ? Self.escaped(name) : nil
        let name = escaped ?? name
        let line = algorithm.map { Array("\($0.uppercased()) (".utf8) + name + Array(") = \(digest)".utf8) }
        return (escaped == nil ? [] : [UInt8(ascii: "\\")]) + (line ?? Array("\(digest)  ".utf8) + name)
    }

    /// Returns a name escaped to fit on one line, for a line with a leading `\`; nil if the name needs no escaping.
    package static func escaped(_ name: [UInt8]) -> [UInt8]? {
        guard name.contains(where: { self.escapes[$0] != nil }) else { return nil }
        return name.flatMap { byte in self.escapes[byte].map { [UInt8(ascii: "\\"), $0] } ?? [byte] }
    }

    /// The letters after a `\`, keyed by the bytes that they represent.
    private static let escapes: [UInt8: UInt8] = [
        0x0A: UInt8(ascii: "n"), 0x0D: UInt8(ascii: "r"), UInt8(ascii: "\\"): UInt8(ascii: "\\"),
    ]

    private static func unescaped(_ name: ArraySlice<UInt8>) -> [UInt8]? {
        var (bytes, rest): ([UInt8], ArraySlice<UInt8>) = ([], name)
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\") else {
                bytes.append(byte)
                continue
            }
            let letter = rest.popFirst()
            guard let escape = self.escapes.first(where: { $0.value == letter }) else { return nil }
            bytes.append(escape.key)
        }
        return bytes
    }
}
