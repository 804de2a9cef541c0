import BlobCore

/// An element of the XML with which a store answers, with its text and the elements in it.
///
/// The documents of S3 need elements and text alone. Attributes, comments and instructions are skipped; a type
/// declaration, a CDATA section and an unknown entity are errors, as is anything that is not well-formed.
struct S3Document: Equatable {
    /// The maximum depth of elements; those of S3 have four.
    private static let maximumDepth = 16

    let name: String
    /// The text directly in the element, without white space around it.
    private(set) var text = ""
    private(set) var children: [S3Document] = []

    /// Returns the text of the first element of a name directly in this one; nil without one.
    func text(of name: String) -> String? { self.children.first { $0.name == name }?.text }

    /// - Throws: ``BlobError/Code/corrupted`` for bytes that are no such document, or not all of it.
    init(_ bytes: [UInt8]) throws(BlobError) {
        guard let text = String(validating: bytes, as: UTF8.self) else { throw Self.corrupted("is not UTF-8") }
        var scanner = Scanner(rest: text.utf8[...])
        self = try scanner.document()
    }

    private init(name: String) { self.name = name }

    private static func corrupted(_ fault: String) -> BlobError {
        BlobError(.corrupted, "The store answered with a document that \(fault).", operation: "write")
    }

    private struct Scanner {
        private static let entities: [String: String] = ["lt": "<", "gt": ">", "amp": "&", "quot": "\"", "apos": "'"]
        private static let whiteSpace = Set(" \t\r\n".utf8)
        /// The delimiters that end a name.
        private static let delimiters = Set(" \t\r\n/>=\"'<&".utf8)

        var rest: Substring.UTF8View

        mutating func document() throws(BlobError) -> S3Document {
            var open: [S3Document] = []
            while true {
                let text = self.take { $0 != UInt8(ascii: "<") }
                if open.isEmpty {
                    guard text.allSatisfy(Self.whiteSpace.contains) else { throw corrupted("has text around it") }
                } else {
                    open[open.count - 1].text += try self.decoded(text)
                }
                guard self.rest.popFirst() != nil else { throw corrupted("ends too early") }
                if self.skip("?") {
                    try self.skipThrough("?>")
                } else if self.skip("!--") {
                    try self.skipThrough("-->")
                } else if self.skip("/") {
                    guard let element = try self.close(&open) else { continue }
                    try self.end()
                    return element
                } else {
                    guard try self.begin(&open), let element = Self.pop(&open) else { continue }
                    try self.end()
                    return element
                }
            }
        }

        /// Begins an element.
        ///
        /// - Returns: True when it is empty, and has ended.
        private mutating func begin(_ open: inout [S3Document]) throws(BlobError) -> Bool {
            let name = try self.name()
            guard open.count < S3Document.maximumDepth else { throw corrupted("has too many levels") }
            open.append(S3Document(name: name))
            while true {
                let space = self.take(Self.whiteSpace.contains)
                if self.skip("/>") { return true }
                if self.skip(">") { return false }
                guard !space.isEmpty else { throw corrupted("has a broken tag") }
                _ = try self.name()
                guard self.skip("="), let quote = self.rest.popFirst(), "\"'".utf8.contains(quote) else {
                    throw corrupted("has a broken attribute")
                }
                let value = self.take { $0 != quote }
                guard self.rest.popFirst() != nil, !value.contains(UInt8(ascii: "<")) else {
                    throw corrupted("has a broken attribute")
                }
            }
        }

        /// Ends an element by its tag.
        ///
        /// - Returns: The root when it has ended.
        private mutating func close(_ open: inout [S3Document]) throws(BlobError) -> S3Document? {
            let name = try self.name()
            _ = self.take(Self.whiteSpace.contains)
            guard self.skip(">"), open.last?.name == name else { throw corrupted("has a tag in the wrong place") }
            return Self.pop(&open)
        }

        private static func pop(_ open: inout [S3Document]) -> S3Document? {
            guard var element = open.popLast() else { return nil }
            element.text = element.text.trimmed(of: Self.whiteSpace)
            guard !open.isEmpty else { return element }
            open[open.count - 1].children.append(element)
            return nil
        }

        /// Checks that nothing follows the root.
        private mutating func end() throws(BlobError) {
            guard self.rest.allSatisfy(Self.whiteSpace.contains) else { throw corrupted("has something behind it") }
        }

        private mutating func name() throws(BlobError) -> String {
            let name = self.take { !Self.delimiters.contains($0) }
            guard let first = name.first, first >= 0x41 else { throw corrupted("has a tag without a name") }
            return String(Substring(name))
        }

        private func decoded(_ text: Substring.UTF8View) throws(BlobError) -> String {
            let parts = Substring(text).split(separator: "&", omittingEmptySubsequences: false)
            var decoded = String(parts[0])
            for part in parts.dropFirst() {
                let name = String(part.prefix { $0 != ";" })
                guard name.count < part.count, let character = Self.character(name) else {
                    throw corrupted("has an unknown entity")
                }
                decoded += character + part.dropFirst(name.count + 1)
            }
            return decoded
        }

        private static func character(_ entity: String) -> String? {
            guard entity.hasPrefix("#") else { return self.entities[entity] }
            let number =
                entity.hasPrefix("#x") ? UInt32(entity.dropFirst(2), radix: 16) : UInt32(entity.dropFirst())
            return number.flatMap(Unicode.Scalar.init).map { String(Character($0)) }
        }

        private mutating func take(_ condition: (UInt8) -> Bool) -> Substring.UTF8View {
            let taken = self.rest.prefix(while: condition)
            self.rest = self.rest[taken.endIndex...]
            return taken
        }

        private mutating func skip(_ text: StaticString) -> Bool {
            let text = text.description.utf8
            guard self.rest.starts(with: text) else { return false }
            self.rest = self.rest.dropFirst(text.count)
            return true
        }

        private mutating func skipThrough(_ text: StaticString) throws(BlobError) {
            while !self.skip(text) {
                guard self.rest.popFirst() != nil else { throw corrupted("ends too early") }
            }
        }

        private func corrupted(_ fault: String) -> BlobError { S3Document.corrupted(fault) }
    }
}

extension String {
    fileprivate func trimmed(of characters: Set<UInt8>) -> String {
        var text = self.utf8[...]
        while let first = text.first, characters.contains(first) { text.removeFirst() }
        while let last = text.last, characters.contains(last) { text.removeLast() }
        return String(Substring(text))
    }
}
