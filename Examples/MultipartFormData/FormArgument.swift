package import BlobCore

/// A part as written on a command line, in the syntax of curl's option `-F`.
///
///     name=value           a field; quote a value with ; or spaces at its ends, or that begins with @ < ( or "
///     name=@LOCATOR        a file, or several of this name, separated by commas
///     name=<LOCATOR        a field with these bytes
///
/// Each may be followed by `;type=MEDIA/TYPE`, with parameters as `;parameter=…`, and by `;filename=NAME`. In quotes,
/// `\"` and `\\` represent the character after the backslash.
///
/// Options that curl ignores with a warning are errors here, as are its nested parts, `headers=` and `encoder=`.
/// Several files become several parts with the same name rather than one nested part (RFC 7578, section 4.3).
package struct FormArgument: Equatable, Sendable {
    /// The content of a part: the value itself, or the locator of a file or of the field's bytes.
    package enum Content: Equatable, Sendable {
        case value(String)
        case file(locator: String)
        case contents(locator: String)
    }

    /// The content of one part: a field, or one of the files in a comma-separated list.
    package struct Item: Equatable, Sendable {
        package var content: Content
        package var mediaType: String?
        package var fileName: String?
    }

    package let name: String
    package let items: [Item]

    /// - Throws: ``BlobError/Code/invalidArgument`` if the text is malformed.
    package init(_ text: String) throws(BlobError) {
        var parser = Parser(text)
        guard let name = parser.takeName() else {
            // Omits the text itself, which may contain a secret.
            throw BlobError(.invalidArgument, "The value of -F must be NAME=VALUE, NAME=@LOCATOR or NAME=<LOCATOR.")
        }
        self.name = name
        do {
            self.items = try parser.takeItems()
        } catch {
            throw BlobError(.invalidArgument, "'\(printableURL(name))': \(error.message)")
        }
    }
}

/// The parser works on bytes, because in a string, a `;` followed by a combining character does not equal `;`.
private struct Parser {
    private let bytes: [UInt8]
    private var position = 0

    init(_ text: String) { self.bytes = Array(text.utf8) }

    mutating func takeName() -> String? {
        guard let end = self.bytes.firstIndex(of: UInt8(ascii: "=")) else { return nil }
        self.position = end + 1
        return text(self.bytes[..<end])
    }

    mutating func takeItems() throws(BlobError) -> [FormArgument.Item] {
        switch self.nextByte {
        case UInt8(ascii: "@"):
            var items: [FormArgument.Item] = []
            repeat {
                self.position += 1
                items.append(try self.takeItem(endingAt: UInt8(ascii: ",")) { .file(locator: $0) })
            } while self.nextByte == UInt8(ascii: ",")
            return items
        case UInt8(ascii: "<"):
            self.position += 1
            let item = try self.takeItem(endingAt: nil) { .contents(locator: $0) }
            guard item.fileName == nil else {
                throw BlobError(.invalidArgument, "A field whose value follows '<' cannot have a file name.")
            }
            return [item]
        case UInt8(ascii: "("):
            throw BlobError(
                .invalidArgument, "Nested parts are not supported; put a value that begins with '(' in quotes.")
        default: return [try self.takeItem(endingAt: nil) { .value($0) }]
        }
    }

    private var nextByte: UInt8? { self.position < self.bytes.count ? self.bytes[self.position] : nil }

    private mutating func takeItem(
        endingAt end: UInt8?, _ content: (String) -> FormArgument.Content
    ) throws(BlobError) -> FormArgument.Item {
        var item = FormArgument.Item(content: content(try self.takeWord(endingAt: end)))
        var isInType = false
        while self.nextByte == UInt8(ascii: ";") {
            self.position += 1
            let start = self.position
            self.skipSpaces()
            if self.take("type="), !isInType {
                item.mediaType = try self.takeMediaType(endingAt: end)
                isInType = true
            } else if self.take("filename=") {
                item.fileName = try self.takeWord(endingAt: end)
                isInType = false
            } else if isInType, let type = item.mediaType {
                self.position = start
                item.mediaType = type + ";" + self.takePlain(endingAt: end)
            } else {
                throw BlobError(
                    .invalidArgument,
                    "Expected 'type=' or 'filename=' after a ';'; put a value that contains ';' in quotes.")
            }
        }
        return item
    }

    /// Consumes a quoted word, or a word that ends at a `;` or `end`, without surrounding spaces.
    private mutating func takeWord(endingAt end: UInt8?) throws(BlobError) -> String {
        self.skipSpaces()
        guard self.nextByte == UInt8(ascii: "\""), let word = self.takeQuoted() else {
            return self.takePlain(endingAt: end)
        }
        self.skipSpaces()
        guard self.nextByte == nil || self.nextByte == UInt8(ascii: ";") || self.nextByte == end else {
            throw BlobError(.invalidArgument, "Unexpected text after the closing quote of a value.")
        }
        return word
    }

    /// Consumes a quoted word. Returns nil and consumes nothing if the quotes are not closed, because the opening quote
    /// is then an ordinary character, as in curl.
    private mutating func takeQuoted() -> String? {
        var word: [UInt8] = []
        var index = self.position + 1
        while index < self.bytes.count {
            switch self.bytes[index] {
            case UInt8(ascii: "\""):
                self.position = index + 1
                return text(word[...])
            case UInt8(ascii: "\\") where index + 1 < self.bytes.count && #"\""#.utf8.contains(self.bytes[index + 1]):
                index += 1
            default: break
            }
            word.append(self.bytes[index])
            index += 1
        }
        return nil
    }

    private mutating func takePlain(endingAt end: UInt8?) -> String {
        let start = self.position
        while let next = self.nextByte, next != UInt8(ascii: ";"), next != end { self.position += 1 }
        var word = self.bytes[start..<self.position]
        while word.last?.isSpace == true { word.removeLast() }
        return text(word)
    }

    private mutating func takeMediaType(endingAt end: UInt8?) throws(BlobError) -> String {
        self.skipSpaces()
        let type = self.takePlain(endingAt: end)
        let parts = type.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty && !$0.contains(where: \.isSpace) }) else {
            throw BlobError(
                .invalidArgument, "'\(type)' is not a valid media type: expected TYPE/SUBTYPE, such as image/png.")
        }
        return type
    }

    private mutating func skipSpaces() {
        while self.nextByte?.isSpace == true { self.position += 1 }
    }

    /// Consumes `word`, ignoring case; returns false if other text follows.
    private mutating func take(_ word: String) -> Bool {
        let found = self.bytes[self.position...].prefix(word.utf8.count)
        guard text(found).lowercased() == word else { return false }
        self.position += word.utf8.count
        return true
    }
}

private func text(_ bytes: ArraySlice<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }

extension UInt8 {
    /// True for whitespace, as defined by `isspace(3)`.
    fileprivate var isSpace: Bool { self == 0x20 || (0x09...0x0D).contains(self) }
}
