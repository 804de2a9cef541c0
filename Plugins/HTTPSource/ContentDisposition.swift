import BlobCore

/// The names of files in header fields and paths.
enum ContentDisposition {
    /// Returns the file name in a `Content-Disposition` field (RFC 6266); nil when there is none. Never a path.
    static func fileName(_ field: String) -> String? {
        let parameters = self.parameters(field)
        // The extended form is the better one when both are there (RFC 8187: charset'language'value).
        if let extended = parameters["filename*"] {
            let parts = extended.split(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
            if parts.count == 3, parts[0].lowercased() == "utf-8", let bytes = PercentEncoding.decode(parts[2].utf8),
                let name = self.name(bytes)
            {
                return name
            }
        }
        return parameters["filename"].flatMap { self.name(Array($0.utf8)) }
    }

    /// Returns the name of the last component of a percent-encoded path; nil when there is none.
    static func name(ofPath path: String) -> String? {
        let last = path.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
        return PercentEncoding.decode(last.utf8).flatMap(self.name)
    }

    private static func name(_ bytes: [UInt8]) -> String? {
        let separators = [UInt8(ascii: "/"), UInt8(ascii: "\\")]
        let name = bytes.split(omittingEmptySubsequences: false) { separators.contains($0) }.last ?? []
        guard !name.isEmpty, !name.contains(0), let text = String(validating: name, as: UTF8.self) else { return nil }
        return [".", ".."].contains(text) ? nil : text
    }

    /// The parameters of a field by name in lower case, the first of each name.
    private static func parameters(_ field: String) -> [String: String] {
        var parameters: [String: String] = [:]
        var rest = field.drop { $0 != ";" }
        while rest.popFirst() != nil {
            rest = rest.drop { $0 == " " || $0 == "\t" }
            let name = rest.prefix { $0 != "=" && $0 != ";" }
            rest = rest.dropFirst(name.count)
            guard rest.first == "=" else { continue }
            rest.removeFirst()
            let value = self.value(&rest)
            let key = name.lowercased().filter { $0 != " " }
            parameters[key] = parameters[key] ?? value
            rest = rest.drop { $0 != ";" }
        }
        return parameters
    }

    /// Takes a token or a quoted string from the front.
    private static func value(_ rest: inout Substring) -> String {
        guard rest.first == "\"" else {
            let token = rest.prefix { $0 != ";" && $0 != " " }
            rest = rest.dropFirst(token.count)
            return String(token)
        }
        rest.removeFirst()
        var value = ""
        while let character = rest.popFirst(), character != "\"" {
            value.append(character == "\\" ? rest.popFirst() ?? character : character)
        }
        return value
    }
}
