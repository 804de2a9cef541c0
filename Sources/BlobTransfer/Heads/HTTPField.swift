package import BlobCore

/// A header field of a request.
package struct HTTPField: Sendable, Equatable {
    package let name: String
    package let value: String

    package init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }

    /// Parses a line as people write it: `Name: value`, or `Name;` for a field without a value; nil for anything else.
    package init?(line: String) {
        if line.hasSuffix(";"), !line.contains(":") {
            self.init(String(line.dropLast()), "")
            return
        }
        guard let colon = line.firstIndex(of: ":") else { return nil }
        let value = line[line.index(after: colon)...].drop { $0 == " " }
        guard !value.isEmpty else { return nil }
        self.init(String(line[..<colon]), String(value))
    }

    /// The field as libcurl expects it: a semicolon means no value; with a colon, the field would be omitted.
    package var line: String { self.value.isEmpty ? "\(self.name);" : "\(self.name): \(self.value)" }

    /// - Throws: ``BlobError/Code/invalidArgument`` for a name or value that HTTP does not allow, and for a name in
    ///   `reserved`, which is in lower case; `reason` ends that message.
    package func validate(reserved: Set<String>, _ reason: String) throws(BlobError) {
        guard !self.name.isEmpty, self.name.utf8.allSatisfy(Self.tokenCharacters.contains) else {
            throw BlobError(.invalidArgument, "'\(self.name)' is no name for a header field.")
        }
        guard self.value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else {
            throw BlobError(.invalidArgument, "The header field \(self.name) has a control character in it.")
        }
        guard !reserved.contains(self.name.lowercased()) else {
            throw BlobError(.invalidArgument, "The header field \(self.name) \(reason).")
        }
    }

    /// The characters of `token` (RFC 9110, section 5.6.2).
    private static let tokenCharacters = Set(
        "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)
}
