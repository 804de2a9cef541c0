package import BlobCore

/// A header field of a request or response.
public struct BlobHTTPField: Sendable, Equatable {
    /// The name, as sent or received.
    public let name: String
    /// The value, without leading or trailing spaces.
    public let value: String

    /// Creates a field. If HTTP does not allow the name or the value, a request with this field throws an error.
    public init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }

    /// Parses a line such as `Name: value`, or `Name;` for a field without a value; fails for any other text.
    package init?(line: String) {
        if line.hasSuffix(";"), !line.contains(":") {
            self.init(String(line.dropLast()), "")
            return
        }
        guard let colon = line.firstIndex(of: ":") else { return nil }
        // Optional whitespace around a value does not belong to it (RFC 9110, section 5.5).
        var value = line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
        while value.last == " " || value.last == "\t" { value.removeLast() }
        guard !value.isEmpty else { return nil }
        self.init(String(line[..<colon]), String(value))
    }

    /// The field in libcurl's notation. A semicolon marks an empty value, because libcurl omits a field that ends in a
    /// colon.
    package var line: String { self.value.isEmpty ? "\(self.name);" : "\(self.name): \(self.value)" }

    /// Checks that the field can be sent.
    ///
    /// - Throws: ``BlobError/Code/invalidArgument`` for a name or value that HTTP does not allow, and for a name in
    ///   `reserved`, which contains lowercase names. `reason` ends the message.
    package func validate(reserved: Set<String>, _ reason: String) throws(BlobError) {
        guard !self.name.isEmpty, self.name.utf8.allSatisfy(Self.tokenCharacters.contains) else {
            throw BlobError(.invalidArgument, "'\(self.name)' is not a valid name for a header field.")
        }
        guard self.value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else {
            throw BlobError(.invalidArgument, "The header field \(self.name) contains a control character.")
        }
        guard !reserved.contains(self.name.lowercased()) else {
            throw BlobError(.invalidArgument, "The header field \(self.name) \(reason).")
        }
    }

    /// Validates all fields of a request with ``validate(reserved:_:)``.
    ///
    /// - Throws: ``BlobError/Code/invalidArgument``, also for a repeated field that must be unique.
    package static func validate(
        _ fields: [BlobHTTPField], reserved: Set<String>, _ reason: String
    ) throws(BlobError) {
        var names: Set<String> = []
        for field in fields {
            try field.validate(reserved: reserved, reason)
            let name = field.name.lowercased()
            guard names.insert(name).inserted || !self.singularNames.contains(name) else {
                throw BlobError(
                    .invalidArgument, "The header field \(field.name) is given twice, but can have only one value.")
            }
        }
    }

    /// The names of fields that are not lists (RFC 9110, section 5.3; RFC 6265, section 5.4).
    private static let singularNames: Set = [
        "authorization", "content-disposition", "content-length", "content-location", "content-md5", "content-range",
        "content-type", "cookie", "date", "etag", "from", "host", "if-modified-since", "if-range",
        "if-unmodified-since", "last-modified", "location", "max-forwards", "origin", "proxy-authorization", "range",
        "referer", "tus-resumable", "upload-complete", "upload-length", "upload-offset", "user-agent",
    ]

    /// The characters of `token` (RFC 9110, section 5.6.2).
    private static let tokenCharacters = Set(
        "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)
}

extension BlobHTTPField: CustomStringConvertible, CustomReflectable {
    /// The name only, because the value may be a secret.
    public var description: String { "\(self.name): ***" }

    /// A mirror that shows the description only.
    public var customMirror: Mirror { Mirror(self, children: ["description": self.description]) }
}
