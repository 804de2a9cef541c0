/// An element of an XML document with namespaces, and the elements in it.
package struct MarkupElement {
    /// The name of an element or an attribute, with its namespace instead of a prefix.
    package struct Name: Hashable {
        /// The URI of the namespace; empty without one, and `xml` for the prefix that XML reserves.
        package var namespace: String
        package var local: String

        package init(namespace: String, local: String) {
            (self.namespace, self.local) = (namespace, local)
        }
    }

    package struct Attribute {
        package var name: Name
        package var value: String
        /// The range in the document, from the name to the closing quotation mark.
        package var range: Range<Int>
    }

    /// The maximum length of a document in bytes.
    package static let byteLimit = 4 << 20
    /// The maximum nesting depth of elements.
    package static let maximumDepth = 64
    /// The maximum number of elements and attributes in a document.
    package static let maximumNodeCount = 50_000

    package fileprivate(set) var name: Name
    package fileprivate(set) var attributes: [Attribute] = []
    package fileprivate(set) var children: [MarkupElement] = []
    /// The text directly in this element, without the text of its children.
    package fileprivate(set) var text = ""
    /// The range in the document, from the first `<` to the last `>`.
    package fileprivate(set) var range: Range<Int>

    /// The text without the white space around it.
    package var trimmedText: String {
        let end = self.text.lastIndex { !$0.isWhitespace }.map { self.text.index(after: $0) }
        return String(self.text[..<(end ?? self.text.startIndex)].drop(while: \.isWhitespace))
    }

    fileprivate init(name: Name, range: Range<Int>) {
        (self.name, self.range) = (name, range)
    }

    /// Parses an untrusted document of XML 1.0 with namespaces in UTF-8.
    ///
    /// Expands only character references and the five predefined entities, and loads nothing: a document type with its
    /// own declarations is an error. Memory use is at most a small multiple of the document's length.
    ///
    /// - Returns: The root element.
    /// - Throws: ``BlobError/Code/corrupted`` with the offset of the fault, for an invalid document;
    ///   ``BlobError/Code/limitExceeded`` for a document that exceeds a limit of this type.
    /// - Complexity: O(bytes).
    package static func parse(_ bytes: [UInt8]) throws(BlobError) -> MarkupElement {
        guard bytes.count <= self.byteLimit else {
            throw BlobError(
                .limitExceeded, "The XML document has \(bytes.count) bytes, more than the limit of \(self.byteLimit).")
        }
        var parser = MarkupParser(bytes)
        return try parser.parseDocument()
    }
}

private struct MarkupParser {
    private let bytes: [UInt8]
    private var position = 0
    private var remainingNodeCount = MarkupElement.maximumNodeCount
    /// The namespaces in scope by their prefixes; the default namespace has an empty prefix.
    private var namespaces: [String: String] = ["xml": "xml"]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    mutating func parseDocument() throws(BlobError) -> MarkupElement {
        self.skip("\u{FEFF}")
        try self.skipBetweenElements()
        let root = try self.parseElement(depth: 1)
        try self.skipBetweenElements()
        // XMP packets are padded to the end of their space.
        guard self.bytes[self.position...].allSatisfy({ $0 == 0 }) else {
            throw self.invalidMarkupError("unexpected text after the root element")
        }
        return root
    }

    private func invalidMarkupError(_ fault: String) -> BlobError {
        BlobError(.corrupted, "The XML document is invalid: \(fault).", byteOffset: Int64(self.position))
    }

    // MARK: Bytes

    private var nextByte: UInt8? { self.position < self.bytes.count ? self.bytes[self.position] : nil }

    private func starts(with text: StaticString) -> Bool {
        let text = UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        return self.bytes[self.position...].starts(with: text)
    }

    @discardableResult private mutating func skip(_ text: StaticString) -> Bool {
        guard self.starts(with: text) else { return false }
        self.position += text.utf8CodeUnitCount
        return true
    }

    private mutating func expect(_ text: StaticString) throws(BlobError) {
        guard self.skip(text) else { throw self.invalidMarkupError("'\(text)' is missing") }
    }

    @discardableResult private mutating func skipSpace() -> Bool {
        let start = self.position
        while let next = self.nextByte, next == 0x20 || next == 0x09 || next == 0x0A || next == 0x0D {
            self.position += 1
        }
        return self.position > start
    }

    private mutating func skip(through end: StaticString) throws(BlobError) {
        while !self.skip(end) {
            guard self.position < self.bytes.count else { throw self.invalidMarkupError("'\(end)' is missing") }
            self.position += 1
        }
    }

    private func string(_ bytes: some Collection<UInt8>) throws(BlobError) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw self.invalidMarkupError("the text is not valid UTF-8")
        }
        return text
    }

    // MARK: Elements

    private mutating func skipBetweenElements() throws(BlobError) {
        while true {
            self.skipSpace()
            if try self.skipCommentOrInstruction() { continue }
            guard self.skip("<!DOCTYPE") else { return }
            while let next = self.nextByte, next != UInt8(ascii: ">") {
                guard next != UInt8(ascii: "[") else {
                    throw self.invalidMarkupError("a document type with declarations is not supported")
                }
                self.position += 1
            }
            try self.expect(">")
        }
    }

    /// Skips a comment or a processing instruction; returns false for anything else.
    private mutating func skipCommentOrInstruction() throws(BlobError) -> Bool {
        if self.skip("<!--") {
            try self.skip(through: "-->")
        } else if self.skip("<?") {
            try self.skip(through: "?>")
        } else {
            return false
        }
        return true
    }

    private mutating func parseElement(depth: Int) throws(BlobError) -> MarkupElement {
        guard depth <= MarkupElement.maximumDepth else {
            throw BlobError(
                .limitExceeded,
                "The XML document has more than \(MarkupElement.maximumDepth) levels of nested elements.")
        }
        let start = self.position
        try self.expect("<")
        try self.countNode()
        let qualified = try self.parseName()
        // A table of prefixes per element would make the time quadratic, so the element's changes are undone instead.
        var hidden: [(prefix: String, namespace: String?)] = []
        var raw: [(name: String, value: String, range: Range<Int>)] = []
        while self.skipSpace(), let next = self.nextByte, next != UInt8(ascii: ">"), next != UInt8(ascii: "/") {
            try self.countNode()
            let attributeStart = self.position
            let name = try self.parseName()
            self.skipSpace()
            try self.expect("=")
            self.skipSpace()
            let value = try self.parseQuotedValue()
            if name == "xmlns" || name.hasPrefix("xmlns:") {
                let prefix = String(name.dropFirst("xmlns:".count))
                guard prefix != "xml" else { continue }
                hidden.append((prefix, self.namespaces.updateValue(value, forKey: prefix)))
            } else {
                raw.append((name, value, attributeStart..<self.position))
            }
        }
        let fallback = self.namespaces[""] ?? ""
        var element = MarkupElement(name: try self.resolve(qualified, fallback: fallback), range: start..<start)
        for (name, value, range) in raw {
            element.attributes.append(.init(name: try self.resolve(name, fallback: ""), value: value, range: range))
        }
        if !self.skip("/>") {
            try self.expect(">")
            try self.readContent(of: &element, depth)
            guard try self.parseName() == qualified else {
                throw self.invalidMarkupError("an element is closed with a different name")
            }
            self.skipSpace()
            try self.expect(">")
        }
        for (prefix, namespace) in hidden.reversed() { self.namespaces[prefix] = namespace }
        element.range = start..<self.position
        return element
    }

    /// Reads up to the name in the closing tag.
    private mutating func readContent(of element: inout MarkupElement, _ depth: Int) throws(BlobError) {
        var text: [UInt8] = []
        while let next = self.nextByte {
            if next == UInt8(ascii: "&") {
                text += try self.parseReference()
            } else if next != UInt8(ascii: "<") {
                text.append(next)
                self.position += 1
            } else if self.skip("</") {
                element.text = try self.string(text)
                return
            } else if self.skip("<![CDATA[") {
                let start = self.position
                try self.skip(through: "]]>")
                text += self.bytes[start..<(self.position - 3)]
            } else if try !self.skipCommentOrInstruction() {
                element.children.append(try self.parseElement(depth: depth + 1))
            }
        }
        throw self.invalidMarkupError("an element is not closed")
    }

    private mutating func countNode() throws(BlobError) {
        self.remainingNodeCount -= 1
        guard self.remainingNodeCount >= 0 else {
            throw BlobError(
                .limitExceeded,
                "The XML document has more than \(MarkupElement.maximumNodeCount) elements and attributes.")
        }
    }

    private func resolve(_ name: String, fallback: String) throws(BlobError) -> MarkupElement.Name {
        guard let colon = name.firstIndex(of: ":") else { return .init(namespace: fallback, local: name) }
        let prefix = String(name[..<colon])
        guard let namespace = self.namespaces[prefix] else {
            throw self.invalidMarkupError("no namespace is declared for the prefix '\(prefix)'")
        }
        return .init(namespace: namespace, local: String(name[name.index(after: colon)...]))
    }

    private mutating func parseName() throws(BlobError) -> String {
        let start = self.position
        while let next = self.nextByte, next > 0x20, !"<>/=&'\"?!".utf8.contains(next) { self.position += 1 }
        guard self.position > start else { throw self.invalidMarkupError("a name is missing") }
        return try self.string(self.bytes[start..<self.position])
    }

    private mutating func parseQuotedValue() throws(BlobError) -> String {
        guard let mark = self.nextByte, mark == UInt8(ascii: "\"") || mark == UInt8(ascii: "'") else {
            throw self.invalidMarkupError("a quotation mark is missing")
        }
        self.position += 1
        var text: [UInt8] = []
        while let next = self.nextByte, next != mark {
            guard next != UInt8(ascii: "<") else { throw self.invalidMarkupError("an attribute contains '<'") }
            if next == UInt8(ascii: "&") {
                text += try self.parseReference()
            } else {
                text.append(next)
                self.position += 1
            }
        }
        guard self.nextByte == mark else { throw self.invalidMarkupError("an attribute is not closed") }
        self.position += 1
        return try self.string(text)
    }

    /// Reads a character reference or one of the predefined entities.
    private mutating func parseReference() throws(BlobError) -> [UInt8] {
        let rest = self.bytes[self.position...].dropFirst().prefix(10)
        guard let end = rest.firstIndex(of: UInt8(ascii: ";")) else {
            throw self.invalidMarkupError("an entity is not closed")
        }
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
        guard let scalar else { throw self.invalidMarkupError("unknown entity '\(name)'") }
        self.position = end + 1
        return Array(String(scalar).utf8)
    }
}
