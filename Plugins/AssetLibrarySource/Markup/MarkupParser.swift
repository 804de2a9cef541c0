import BlobCore

/// A parser of XML 1.0 with namespaces in UTF-8, for untrusted documents.
///
/// Expands nothing but character references and the five predefined entities, and opens nothing: a document type with
/// declarations of its own is an error. Memory is at most a small multiple of the document.
struct MarkupParser {
    /// The length of the longest document in bytes.
    static let byteLimit = 4 << 20
    /// The number of elements around each other.
    static let depthLimit = 64
    /// The number of elements and attributes in a document.
    static let nodeLimit = 50_000

    private let bytes: [UInt8]
    private var place = 0
    private var nodesLeft = MarkupParser.nodeLimit

    private init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Returns the root element.
    ///
    /// - Throws: ``BlobError/Code/corrupted`` with the offset, ``BlobError/Code/limitExceeded``.
    /// - Complexity: O(bytes).
    static func parse(_ bytes: [UInt8]) throws(BlobError) -> MarkupElement {
        guard bytes.count <= self.byteLimit else {
            throw BlobError(.limitExceeded, "An XML document has \(bytes.count) bytes, more than \(self.byteLimit).")
        }
        var parser = MarkupParser(bytes)
        parser.skip([0xEF, 0xBB, 0xBF])
        try parser.skipBetweenElements()
        let root = try parser.element(namespaces: [:], depth: 1)
        try parser.skipBetweenElements()
        // Packets are padded to the end of their place.
        guard bytes[parser.place...].allSatisfy({ $0 == 0 }) else { throw parser.invalid("text after the root") }
        return root
    }

    private func invalid(_ what: String) -> BlobError {
        BlobError(.corrupted, "The XML document is invalid: \(what).", byteOffset: Int64(self.place))
    }

    // MARK: Bytes

    private var next: UInt8? { self.place < self.bytes.count ? self.bytes[self.place] : nil }

    private func starts(with text: StaticString) -> Bool {
        let text = UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        return self.bytes[self.place...].starts(with: text)
    }

    @discardableResult private mutating func skip(_ text: [UInt8]) -> Bool {
        guard self.bytes[self.place...].starts(with: text) else { return false }
        self.place += text.count
        return true
    }

    private mutating func expect(_ character: Unicode.Scalar) throws(BlobError) {
        guard self.next == UInt8(ascii: character) else { throw self.invalid("'\(character)' is missing") }
        self.place += 1
    }

    @discardableResult private mutating func skipSpace() -> Bool {
        let start = self.place
        while let next, next == 0x20 || next == 0x09 || next == 0x0A || next == 0x0D { self.place += 1 }
        return self.place > start
    }

    /// Moves behind the next occurrence of `end`.
    private mutating func skip(behind end: StaticString) throws(BlobError) {
        while self.place < self.bytes.count {
            if self.starts(with: end) {
                self.place += end.utf8CodeUnitCount
                return
            }
            self.place += 1
        }
        throw self.invalid("'\(end)' is missing")
    }

    // MARK: Between elements

    private mutating func skipBetweenElements() throws(BlobError) {
        while true {
            self.skipSpace()
            if try self.skipAside() { continue }
            guard self.starts(with: "<!DOCTYPE") else { return }
            while let next, next != UInt8(ascii: ">") {
                guard next != UInt8(ascii: "[") else { throw self.invalid("a document type with declarations") }
                self.place += 1
            }
            try self.expect(">")
        }
    }

    /// Skips a comment or an instruction; returns false at anything else.
    private mutating func skipAside() throws(BlobError) -> Bool {
        if self.starts(with: "<!--") {
            try self.skip(behind: "-->")
        } else if self.starts(with: "<?") {
            try self.skip(behind: "?>")
        } else {
            return false
        }
        return true
    }

    // MARK: Elements

    private mutating func element(namespaces: [String: String], depth: Int) throws(BlobError) -> MarkupElement {
        guard depth <= Self.depthLimit else {
            throw BlobError(.limitExceeded, "An XML document has more than \(Self.depthLimit) elements in each other.")
        }
        let start = self.place
        try self.expect("<")
        try self.count()
        let qualified = try self.name()
        var raw: [(name: String, value: String, range: Range<Int>)] = []
        var namespaces = namespaces
        while self.skipSpace(), let next, next != UInt8(ascii: ">"), next != UInt8(ascii: "/") {
            try self.count()
            let attributeStart = self.place
            let name = try self.name()
            self.skipSpace()
            try self.expect("=")
            self.skipSpace()
            let value = try self.quoted()
            if name == "xmlns" {
                namespaces[""] = value
            } else if name.hasPrefix("xmlns:") {
                namespaces[String(name.dropFirst(6))] = value
            } else {
                raw.append((name, value, attributeStart..<self.place))
            }
        }
        var element = MarkupElement(
            name: try self.resolve(qualified, namespaces, fallback: namespaces[""] ?? ""), range: start..<start)
        for (name, value, range) in raw {
            element.attributes.append(
                .init(name: try self.resolve(name, namespaces, fallback: ""), value: value, range: range))
        }
        if self.skip(Array("/>".utf8)) {
            element.range = start..<self.place
            return element
        }
        try self.expect(">")
        try self.readContent(of: &element, namespaces, depth)
        guard try self.name() == qualified else { throw self.invalid("an element is closed by another name") }
        self.skipSpace()
        try self.expect(">")
        element.range = start..<self.place
        return element
    }

    /// Reads up to the name in the closing tag.
    private mutating func readContent(
        of element: inout MarkupElement, _ namespaces: [String: String], _ depth: Int
    ) throws(BlobError) {
        var text: [UInt8] = []
        while let next {
            if next == UInt8(ascii: "&") {
                text += try self.reference()
            } else if next != UInt8(ascii: "<") {
                text.append(next)
                self.place += 1
            } else if self.skip(Array("</".utf8)) {
                element.text = try self.string(text)
                return
            } else if self.starts(with: "<![CDATA[") {
                let start = self.place + 9
                try self.skip(behind: "]]>")
                text += self.bytes[start..<(self.place - 3)]
            } else if try !self.skipAside() {
                element.children.append(try self.element(namespaces: namespaces, depth: depth + 1))
            }
        }
        throw self.invalid("an element is not closed")
    }

    private mutating func count() throws(BlobError) {
        self.nodesLeft -= 1
        guard self.nodesLeft >= 0 else {
            throw BlobError(.limitExceeded, "An XML document has more than \(Self.nodeLimit) elements and attributes.")
        }
    }

    private func resolve(
        _ name: String, _ namespaces: [String: String], fallback: String
    ) throws(BlobError) -> MarkupElement.Name {
        guard let colon = name.firstIndex(of: ":") else { return .init(namespace: fallback, local: name) }
        let prefix = String(name[..<colon])
        guard let namespace = prefix == "xml" ? "xml" : namespaces[prefix] else {
            throw self.invalid("no namespace has the prefix '\(prefix)'")
        }
        return .init(namespace: namespace, local: String(name[name.index(after: colon)...]))
    }

    private mutating func name() throws(BlobError) -> String {
        let start = self.place
        while let next, next > 0x20, !"<>/=&'\"?!".utf8.contains(next) { self.place += 1 }
        guard self.place > start else { throw self.invalid("a name is missing") }
        return try self.string(self.bytes[start..<self.place])
    }

    private mutating func quoted() throws(BlobError) -> String {
        guard let mark = self.next, mark == UInt8(ascii: "\"") || mark == UInt8(ascii: "'") else {
            throw self.invalid("a quotation mark is missing")
        }
        self.place += 1
        var text: [UInt8] = []
        while let next, next != mark {
            guard next != UInt8(ascii: "<") else { throw self.invalid("'<' in an attribute") }
            if next == UInt8(ascii: "&") {
                text += try self.reference()
            } else {
                text.append(next)
                self.place += 1
            }
        }
        guard self.next == mark else { throw self.invalid("an attribute is not closed") }
        self.place += 1
        return try self.string(text)
    }

    /// Reads a character reference or one of the predefined entities.
    private mutating func reference() throws(BlobError) -> [UInt8] {
        let rest = self.bytes[self.place...].dropFirst().prefix(10)
        guard let end = rest.firstIndex(of: UInt8(ascii: ";")) else { throw self.invalid("an entity is not closed") }
        let name = try self.string(rest[..<end])
        let scalar: Unicode.Scalar? =
            switch name {
            case "lt": "<"
            case "gt": ">"
            case "amp": "&"
            case "quot": "\""
            case "apos": "'"
            case _ where name.hasPrefix("#x"): UInt32(name.dropFirst(2), radix: 16).flatMap(Unicode.Scalar.init)
            case _ where name.hasPrefix("#"): UInt32(name.dropFirst()).flatMap(Unicode.Scalar.init)
            default: nil
            }
        guard let scalar else { throw self.invalid("an unknown entity '\(name)'") }
        self.place = end + 1
        return Array(String(scalar).utf8)
    }

    private func string(_ bytes: some Collection<UInt8>) throws(BlobError) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else { throw self.invalid("text that is no UTF-8") }
        return text
    }
}
