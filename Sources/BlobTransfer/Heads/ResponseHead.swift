package import BlobCore

/// The status line and header fields of an answer, parsed line by line within fixed limits.
package struct ResponseHead: Sendable {
    /// The limit of all heads of one request together, in bytes; many servers send at most 8 KiB.
    static let maximumByteCount = 64 * 1024
    static let maximumLineCount = 100
    static let maximumInformationalCount = 100

    /// The status of the last head that began; 0 before the first.
    private var version = ""
    package private(set) var status = 0
    package private(set) var reason = ""
    package private(set) var fields: [(name: String, value: String)] = []

    /// True once the blank line after the last head is parsed. Without it, a truncated answer looks complete.
    package private(set) var isComplete = false

    /// The announced length of the body in bytes; nil if it was not announced.
    package private(set) var contentLength: Int64?
    private var byteCount = 0
    private var lineCount = 0
    private var informationalCount = 0

    package init() {}

    /// True once there is a complete head that is not informational.
    package var isFinal: Bool { self.isComplete && self.status >= 200 }

    package var isSuccess: Bool { self.isFinal && self.status < 300 }

    /// True when the server closes the connection after this answer (RFC 9112, sections 6.3 and 9.3).
    package var announcesClose: Bool {
        let options = (self.value(of: "connection") ?? "").lowercased()
        let isFramed = self.contentLength != nil || self.value(of: "transfer-encoding") != nil
        return options.contains("close") || !isFramed && self.status != 204
            || self.version == "HTTP/1.0" && !options.contains("keep-alive")
    }

    /// Returns the first value of a field, whose name is given in lower case.
    package func value(of name: String) -> String? {
        self.fields.first { $0.name.lowercased() == name }?.value
    }

    /// Parses a line, including its line end.
    ///
    /// - Throws: ``BlobError/Code/limitExceeded`` or ``BlobError/Code/corrupted``.
    package mutating func take(_ line: UnsafeRawBufferPointer) throws(BlobError) {
        self.byteCount += line.count
        guard self.byteCount <= Self.maximumByteCount else {
            throw Self.limit("more than \(Self.maximumByteCount) bytes of header")
        }
        var line = line[...]
        while let last = line.last, last == UInt8(ascii: "\n") || last == UInt8(ascii: "\r") { line = line.dropLast() }
        let text = String(decoding: line, as: UTF8.self)
        if text.hasPrefix("HTTP/") { return try self.begin(text) }
        guard !self.isComplete else { return }  // A trailer after a chunked body.
        if text.isEmpty {
            self.isComplete = true
        } else {
            try self.add(text)
        }
    }

    private mutating func begin(_ text: String) throws(BlobError) {
        if (100..<200).contains(self.status) {
            self.informationalCount += 1
            guard self.informationalCount <= Self.maximumInformationalCount else {
                throw Self.limit("more than \(Self.maximumInformationalCount) informational answers")
            }
        }
        let parts = text.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count >= 2, let status = Int(parts[1]), (100..<1000).contains(status) else {
            throw BlobError(.corrupted, "The answer begins with a malformed status line.")
        }
        self.version = String(parts[0])
        self.status = status
        self.reason = parts.count > 2 ? String(parts[2]) : ""
        (self.fields, self.isComplete, self.contentLength, self.lineCount) = ([], false, nil, 0)
    }

    private mutating func add(_ text: String) throws(BlobError) {
        self.lineCount += 1
        guard self.lineCount <= Self.maximumLineCount else {
            throw Self.limit("more than \(Self.maximumLineCount) lines of header")
        }
        guard let colon = text.firstIndex(of: ":") else { return }  // Not a field: ignored.
        var value = text[text.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
        while value.last == " " || value.last == "\t" { value.removeLast() }
        let field = (name: String(text[..<colon]), value: String(value))
        self.fields.append(field)
        guard field.name.lowercased() == "content-length" else { return }
        // libcurl ignores a length that does not fit, and uses the second of two.
        let digits = field.value.prefix { ("0"..."9").contains($0) }
        let rest = field.value.dropFirst(digits.count)
        guard let length = Int64(digits), rest.allSatisfy({ $0 == " " || $0 == "\t" }),
            self.contentLength ?? length == length
        else { throw BlobError(.corrupted, "The answer has no proper Content-Length.") }
        self.contentLength = length
    }

    private static func limit(_ what: String) -> BlobError {
        BlobError(.limitExceeded, "The answer has \(what), which is the limit.")
    }
}
