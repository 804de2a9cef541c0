/// The value of a header field with parameters, such as `form-data; name="a"; filename="b.jpg"` (RFC 9110, section
/// 5.6.6).
///
/// Parses `Content-Disposition` and `Content-Type` for downloads, forms and receivers alike. Values are bytes, because
/// a file name need not be text. In a quoted value, only `\"` and `\\` are escapes: browsers write Windows paths with
/// single backslashes.
package struct ParameterizedValue: Equatable, Sendable {
    /// The word before the parameters, in lower case, such as `attachment`.
    package let type: String

    /// The values by lower-case parameter name.
    package private(set) var parameters: [String: [UInt8]] = [:]

    /// Parses a value that must be well-formed, so that no two readers interpret it differently.
    ///
    /// - Throws: ``BlobError/Code/corrupted`` for a parameter that is malformed, ambiguous or given twice.
    package init(_ field: some Sequence<UInt8>) throws(BlobError) {
        var scanner = Scanner(rest: Array(field)[...])
        self.type = scanner.type()
        while let (name, value) = try scanner.next() {
            guard self.parameters.updateValue(value, forKey: name) == nil else {
                throw BlobError(.corrupted, "The parameter \(name) occurs twice.")
            }
        }
    }

    /// Parses a value from any server. Malformed parameters are skipped; if a name is repeated, its first parameter is
    /// used.
    package init(lenient field: some Sequence<UInt8>) {
        var scanner = Scanner(rest: Array(field)[...], isLenient: true)
        self.type = scanner.type()
        while true {
            do throws(BlobError) {
                guard let (name, value) = try scanner.next() else { return }
                self.parameters[name] = self.parameters[name] ?? value
            } catch {
                scanner.skipParameter()
            }
        }
    }

    /// Returns the file name: the decoded `filename*` (RFC 8187) if present, which takes precedence (RFC 6266, section
    /// 4.3), otherwise the `filename` as received; nil if neither is present.
    ///
    /// - Throws: ``BlobError/Code/corrupted`` for a `filename*` that cannot be decoded, if no `filename` is given.
    package func filename() throws(BlobError) -> [UInt8]? {
        let plain = self.parameters["filename"]
        guard let extended = self.parameters["filename*"] else { return plain }
        let parts = extended.split(separator: UInt8(ascii: "'"), maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, String(decoding: parts[0], as: UTF8.self).lowercased() == "utf-8",
            let name = PercentEncoding.decode(parts[2]), !name.isEmpty || plain == nil
        else {
            guard let plain else { throw BlobError(.corrupted, "The parameter filename* is not a valid UTF-8 name.") }
            return plain
        }
        return name
    }

    private struct Scanner {
        var rest: ArraySlice<UInt8>
        var isLenient = false

        mutating func type() -> String { String(decoding: self.take(upTo: ";"), as: UTF8.self).lowercased() }

        /// Takes the next parameter; returns nil at the end.
        mutating func next() throws(BlobError) -> (name: String, value: [UInt8])? {
            guard self.rest.popFirst() != nil else { return nil }
            let name = String(decoding: self.take(upTo: ";="), as: UTF8.self).lowercased()
            if name.isEmpty, self.rest.isEmpty { return nil }  // A semicolon at the end.
            guard !name.isEmpty, self.rest.first == UInt8(ascii: "=") else {
                throw BlobError(.corrupted, "A parameter has no value.")
            }
            self.rest = self.rest.dropFirst().trimmed
            guard self.rest.first == UInt8(ascii: "\"") else {
                let value = Array(self.take(upTo: ";"))
                let isToken = !value.isEmpty && !value.contains { " \t\"".utf8.contains($0) }
                guard isToken || self.isLenient else {
                    throw BlobError(.corrupted, "A parameter value must be quoted.")
                }
                return (name, value)
            }
            let value = try self.takeQuoted()
            guard self.take(upTo: ";").isEmpty else {
                throw BlobError(.corrupted, "Unexpected text after a quoted value.")
            }
            return (name, value)
        }

        mutating func skipParameter() { _ = self.take(upTo: ";") }

        /// Takes bytes up to one of `ends`, without spaces around them.
        private mutating func take(upTo ends: String) -> ArraySlice<UInt8> {
            let part = self.rest.prefix { !ends.utf8.contains($0) }
            self.rest = self.rest.dropFirst(part.count)
            return part.trimmed
        }

        /// Takes a value in quotes.
        ///
        /// Browsers and curl do not escape backslashes: `\"` is the end of a value if nothing, or the name of another
        /// parameter, follows it. An escaped quote before such text is refused, because it leaves an unmatched quote at
        /// the end of the line.
        private mutating func takeQuoted() throws(BlobError) -> [UInt8] {
            var value: [UInt8] = []
            self.rest = self.rest.dropFirst()
            while let byte = self.rest.popFirst() {
                if byte == UInt8(ascii: "\"") { return value }
                if byte == UInt8(ascii: "\\"), let escaped = self.rest.first, "\"\\".utf8.contains(escaped) {
                    self.rest = self.rest.dropFirst()
                    if escaped == UInt8(ascii: "\""), self.isAtParameter { return value + [byte] }
                    value.append(escaped)
                } else {
                    value.append(byte)
                }
            }
            throw BlobError(.corrupted, "A quoted value is not terminated.")
        }

        /// True at the end, or before another parameter with a file name or a name.
        private var isAtParameter: Bool {
            let rest = self.rest.trimmed
            guard let first = rest.first else { return true }
            guard first == UInt8(ascii: ";") else { return false }
            let name = rest.dropFirst().trimmed.prefix { $0 != UInt8(ascii: "=") }
            return ["name", "filename", "filename*"].contains(String(decoding: name, as: UTF8.self).lowercased())
                && rest.contains(UInt8(ascii: "="))
        }
    }
}

extension ArraySlice<UInt8> {
    /// The bytes without spaces and tabs at both ends.
    fileprivate var trimmed: Self {
        var rest = self.drop { $0 == 0x20 || $0 == 0x09 }
        while let last = rest.last, last == 0x20 || last == 0x09 { rest = rest.dropLast() }
        return rest
    }
}
