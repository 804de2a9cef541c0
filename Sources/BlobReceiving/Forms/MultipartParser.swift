public import BlobCore

/// Parses a `multipart/form-data` body as it arrives, in pieces of any size (RFC 2046, section 5.1; RFC 7578).
///
/// A state machine without I/O; ``MultipartParts`` is the same as an asynchronous sequence. Buffers only the header of one part. The parser is stricter than the grammar where implementations differ: it
/// rejects lines that continue after the delimiter, line endings without a carriage return, folded fields, and
/// duplicate fields.
public struct MultipartParser {
    /// A step in the form.
    public enum Event {
        /// The header of the next part.
        case begin(MultipartHeader)
        /// Some bytes of the part, in memory that is valid only during the call.
        case bytes(UnsafeRawBufferPointer)
        /// The end of the part.
        case end
    }

    /// The maximum sizes of a form's parts other than their content, which the caller limits.
    public struct Limits: Sendable {
        /// The maximum number of parts, ten times the number of fields that Django accepts.
        public var maximumPartCount = 10_000
        /// The maximum length of one part's header in bytes. A typical header has about 200.
        public var maximumHeaderByteCount = 16 * 1024
        /// The maximum number of bytes before the first part, where most senders write none.
        public var maximumPreambleByteCount = 64 * 1024
        /// The maximum number of whitespace characters after a delimiter.
        public var maximumPaddingByteCount = 64

        /// Creates the default limits.
        public init() {}
    }

    private enum State {
        case preamble, body
        case afterDelimiter, afterDash, padding, paddingEnd
        case header
        case epilogue
    }

    private let delimiter: [UInt8]  // Begins with the preceding line ending, which belongs to it.
    private let limits: Limits
    private var state = State.preamble
    private var matchedByteCount: Int
    /// The number of leading bytes of a partial match that are not data if the match fails: 2 for the line ending
    /// before the body or a part's content, which may begin a delimiter, and 0 otherwise.
    private var lineEndingByteCount = 2
    private var header: [UInt8] = []
    private var lineStart = 0
    private var partCount = 0
    private var stateByteCount = 0  // The number of bytes in the current state, if it is limited.
    private var byteOffset: Int64 = 0

    /// Creates a parser for the body with a boundary; see ``MultipartHeader/boundary(of:)``.
    ///
    /// - Parameters:
    ///   - boundary: 1 to 70 of the characters of RFC 2046, section 5.1.1, without a trailing space.
    ///   - limits: The limits of the form.
    /// - Throws: ``BlobError/Code/invalidArgument`` for any other boundary.
    public init(boundary: String, limits: Limits = Limits()) throws(BlobError) {
        guard (1...70).contains(boundary.utf8.count), boundary.utf8.allSatisfy(Self.boundaryCharacters.contains),
            boundary.last != " "
        else { throw BlobError(.invalidArgument, "The boundary of the multipart body is invalid.") }
        self.delimiter = Array("\r\n--\(boundary)".utf8)
        self.limits = limits
        // The first delimiter may be at the very beginning, without a preceding line ending.
        self.matchedByteCount = 2
    }

    private static let boundaryCharacters = Set(
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'()+_,-./:=? ".utf8)

    /// Parses the next bytes of the body, and calls `handle` with each event.
    ///
    /// - Throws: ``BlobError/Code/corrupted`` for a malformed body; ``BlobError/Code/limitExceeded`` for a body that
    ///   exceeds the limits; the errors of `handle`. Do not use the parser after an error.
    public mutating func parse(_ bytes: UnsafeRawBufferPointer, _ handle: (Event) throws -> Void) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let before = rest.count
            switch self.state {
            case .preamble, .body: try self.search(&rest, handle)
            case .afterDelimiter, .afterDash, .padding, .paddingEnd: try self.parseAfterDelimiter(&rest)
            case .header: try self.takeHeader(&rest, handle)
            case .epilogue: rest = rest[rest.endIndex...]
            }
            self.byteOffset += Int64(before - rest.count)
        }
    }

    /// Ends the parsing. Call this method at the end of the body.
    ///
    /// - Throws: ``BlobError/Code/truncated`` if the final delimiter is missing.
    public func finish() throws(BlobError) {
        guard case .epilogue = self.state else {
            throw BlobError(
                .truncated, "The multipart body ended before its last delimiter.", byteOffset: self.byteOffset)
        }
    }

    // MARK: Data

    /// Passes on all bytes up to a delimiter.
    private mutating func search(_ rest: inout Slice<UnsafeRawBufferPointer>, _ handle: (Event) throws -> Void) throws {
        if self.matchedByteCount > 0 {
            let index = self.match(rest, from: rest.startIndex)
            if self.matchedByteCount == self.delimiter.count {
                return try self.reachDelimiter(&rest, index, nil, handle)
            }
            guard index < rest.endIndex else { return rest = rest[rest.endIndex...] }
            // Not a delimiter, so the matched bytes are data. They contain a CR only at the front, so no delimiter
            // begins within them.
            let looked = self.lineEndingByteCount..<self.matchedByteCount
            if self.state == .preamble {
                try self.countPreamble(looked.count)
            } else if !looked.isEmpty {
                try self.delimiter.withUnsafeBytes { try handle(.bytes(UnsafeRawBufferPointer(rebasing: $0[looked]))) }
            }
            (self.matchedByteCount, self.lineEndingByteCount) = (0, 0)
            rest = rest[index...]
        }
        let start = rest.startIndex
        var index = start
        while let found = rest[index...].firstIndex(of: UInt8(ascii: "\r")) {
            self.matchedByteCount = 0
            index = self.match(rest, from: found)
            if self.matchedByteCount == self.delimiter.count {
                return try self.reachDelimiter(&rest, index, rest[start..<found], handle)
            }
            if index == rest.endIndex {
                try self.pass(rest[start..<found], handle)
                return rest = rest[rest.endIndex...]
            }
        }
        self.matchedByteCount = 0
        try self.pass(rest[start...], handle)
        rest = rest[rest.endIndex...]
    }

    /// Continues the comparison with the delimiter, and returns the index after the matching bytes.
    private mutating func match(_ bytes: Slice<UnsafeRawBufferPointer>, from start: Int) -> Int {
        var index = start
        while index < bytes.endIndex, self.matchedByteCount < self.delimiter.count,
            bytes[index] == self.delimiter[self.matchedByteCount]
        {
            index += 1
            self.matchedByteCount += 1
        }
        return index
    }

    private mutating func pass(_ bytes: Slice<UnsafeRawBufferPointer>, _ handle: (Event) throws -> Void) throws {
        guard self.state == .body else { return try self.countPreamble(bytes.count) }
        if !bytes.isEmpty { try handle(.bytes(UnsafeRawBufferPointer(rebasing: bytes))) }
    }

    private mutating func countPreamble(_ count: Int) throws(BlobError) {
        self.stateByteCount += count
        guard self.stateByteCount <= self.limits.maximumPreambleByteCount else {
            throw self.limitError(
                "more bytes before the first part than the limit of \(self.limits.maximumPreambleByteCount)")
        }
    }

    private mutating func reachDelimiter(
        _ rest: inout Slice<UnsafeRawBufferPointer>, _ end: Int, _ before: Slice<UnsafeRawBufferPointer>?,
        _ handle: (Event) throws -> Void
    ) throws {
        if let before { try self.pass(before, handle) }
        if self.state == .body { try handle(.end) }
        (self.state, self.matchedByteCount, self.lineEndingByteCount, self.stateByteCount) = (.afterDelimiter, 0, 0, 0)
        rest = rest[end...]
    }

    // MARK: Between parts

    private mutating func parseAfterDelimiter(_ rest: inout Slice<UnsafeRawBufferPointer>) throws(BlobError) {
        let byte = rest[rest.startIndex]
        rest = rest.dropFirst()
        switch (self.state, byte) {
        case (.afterDelimiter, UInt8(ascii: "-")): self.state = .afterDash
        case (.afterDash, UInt8(ascii: "-")): self.state = .epilogue
        case (.afterDelimiter, UInt8(ascii: "\r")), (.padding, UInt8(ascii: "\r")): self.state = .paddingEnd
        case (.afterDelimiter, UInt8(ascii: " ")), (.afterDelimiter, UInt8(ascii: "\t")),
            (.padding, UInt8(ascii: " ")), (.padding, UInt8(ascii: "\t")):
            self.state = .padding
            self.stateByteCount += 1
            guard self.stateByteCount <= self.limits.maximumPaddingByteCount else {
                throw self.limitError(
                    "more spaces after a delimiter than the limit of \(self.limits.maximumPaddingByteCount)")
            }
        case (.paddingEnd, UInt8(ascii: "\n")):
            self.partCount += 1
            guard self.partCount <= self.limits.maximumPartCount else {
                throw self.limitError("more parts than the limit of \(self.limits.maximumPartCount)")
            }
            (self.state, self.header, self.lineStart) = (.header, [], 0)
        default: throw self.malformedFormError("A line that begins with the delimiter contains unexpected bytes.")
        }
    }

    // MARK: Headers

    private mutating func takeHeader(
        _ rest: inout Slice<UnsafeRawBufferPointer>, _ handle: (Event) throws -> Void
    ) throws {
        while let byte = rest.first {
            rest = rest.dropFirst()
            self.header.append(byte)
            guard self.header.count <= self.limits.maximumHeaderByteCount else {
                throw self.limitError(
                    "a part with more header bytes than the limit of \(self.limits.maximumHeaderByteCount)")
            }
            guard byte == UInt8(ascii: "\n") else { continue }
            guard self.header.dropLast().last == UInt8(ascii: "\r") else {
                throw self.malformedFormError("A header line ends without a carriage return.")
            }
            let isBlank = self.header.count == self.lineStart + 2
            self.lineStart = self.header.count
            guard isBlank else { continue }
            let header: MultipartHeader
            do {
                header = try MultipartHeader(self.header.dropLast(2))
            } catch {
                throw self.malformedFormError(error.message)
            }
            // The blank line may be the line ending of a delimiter (RFC 2046, section 5.1.1), in which case the part
            // has no content.
            (self.state, self.matchedByteCount, self.lineEndingByteCount, self.header) = (.body, 2, 2, [])
            return try handle(.begin(header))
        }
    }

    private func malformedFormError(_ message: String) -> BlobError {
        BlobError(.corrupted, "The multipart body is malformed: \(message)", byteOffset: self.byteOffset)
    }

    private func limitError(_ what: String) -> BlobError {
        BlobError(.limitExceeded, "The multipart body has \(what).", byteOffset: self.byteOffset)
    }
}

/// The header of a part. Values that may not be valid text are stored as bytes.
public struct MultipartHeader: Equatable, Sendable {
    /// The name of the field as received. The escapes of browsers (`%22 %0D %0A`) are not decoded, because a name may
    /// also contain these characters literally.
    public let name: [UInt8]

    /// The file name; nil for a field that is not a file.
    ///
    /// This is the decoded `filename*` (RFC 8187) if present, which takes precedence (RFC 6266, section 4.3), and
    /// otherwise the `filename` as received. Forms must not contain `filename*` (RFC 7578, section 4.2), but Postman
    /// and .NET send both. The `filename` is then only an ASCII substitute, or encoded as in mail.
    public let filename: [UInt8]?

    /// The media type as received; nil if none was sent.
    public let mediaType: String?

    /// - Parameter lines: All lines with their line endings, without the blank line.
    /// - Throws: ``BlobError/Code/corrupted`` for an invalid header.
    init(_ lines: some Collection<UInt8>) throws(BlobError) {
        var fields: [String: ArraySlice<UInt8>] = [:]
        for line in lines.split(separator: UInt8(ascii: "\n")) {
            // Every line is known to end with CR LF. Any other CR is rejected along with the other control characters.
            let line = Array(line.dropLast())[...]
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > 0,
                line[..<colon].allSatisfy({ $0 > 0x20 && $0 < 0x7F })
            else { throw BlobError(.corrupted, "A header line is not a valid field.") }
            let value = Array(line[(colon + 1)...].trimmed)[...]
            guard value.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else {
                throw BlobError(.corrupted, "A header contains a control character.")
            }
            let name = String(decoding: line[..<colon], as: UTF8.self).lowercased()
            guard fields.updateValue(value, forKey: name) == nil else {
                throw BlobError(.corrupted, "A header contains \(name) twice.")
            }
        }
        guard let disposition = fields["content-disposition"] else {
            throw BlobError(.corrupted, "A part has no Content-Disposition.")
        }
        let value = try ParameterizedValue(disposition)
        guard value.type == "form-data" else {
            throw BlobError(.corrupted, "The Content-Disposition of a part is not form-data.")
        }
        guard let name = value.parameters["name"] else { throw BlobError(.corrupted, "A part has no name.") }
        self.name = name
        self.filename = try value.filename()
        self.mediaType = fields["content-type"].map { String(decoding: $0, as: UTF8.self) }
    }

    /// Returns the boundary in a `Content-Type`; nil if the type is not `multipart/form-data`.
    ///
    /// - Throws: ``BlobError/Code/corrupted`` if a form has no boundary or has malformed parameters.
    public static func boundary(of contentType: String) throws(BlobError) -> String? {
        guard ParameterizedValue(lenient: contentType.utf8).type == "multipart/form-data" else { return nil }
        guard let boundary = try ParameterizedValue(contentType.utf8).parameters["boundary"] else {
            throw BlobError(.corrupted, "The Content-Type of the form has no boundary.")
        }
        return String(decoding: boundary, as: UTF8.self)
    }
}

extension Collection<UInt8> where Self: BidirectionalCollection, SubSequence == Self {
    /// The elements without leading and trailing spaces and tabs.
    fileprivate var trimmed: Self {
        var rest = self.drop { $0 == 0x20 || $0 == 0x09 }
        while let last = rest.last, last == 0x20 || last == 0x09 { rest = rest.dropLast() }
        return rest
    }
}
