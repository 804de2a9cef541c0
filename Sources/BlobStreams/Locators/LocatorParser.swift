/// Parses the parts of a locator, in their order.
struct LocatorParser {
    private let text: String
    private let bytes: [UInt8]
    private var position = 0

    init(_ text: String) {
        self.text = text
        self.bytes = Array(text.utf8)
    }

    /// `ALPHA *( ALPHA / DIGIT / "+" / "-" / "." )` (RFC 3986, section 3.1), with no empty part between its `+`.
    mutating func scheme() throws(BlobError) -> String {
        guard let end = self.bytes.firstIndex(of: UInt8(ascii: ":")) else {
            throw self.failure("no scheme, as in file:///path", at: 0)
        }
        let scheme = String(decoding: self.bytes[..<end], as: UTF8.self).lowercased()
        var isPartStart = true
        for (offset, byte) in scheme.utf8.enumerated() {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"): isPartStart = false
            case UInt8(ascii: "0")...UInt8(ascii: "9") where !isPartStart: break
            case UInt8(ascii: "-") where !isPartStart, UInt8(ascii: ".") where !isPartStart: break
            case UInt8(ascii: "+") where !isPartStart: isPartStart = true
            default: throw self.failure("a scheme with a character that it cannot have", at: offset)
            }
        }
        guard !isPartStart else { throw self.failure("a scheme with an empty part", at: end) }
        self.position = end + 1
        return scheme
    }

    mutating func schemeSpecificPart() throws(BlobError) -> String {
        let end = self.bytes[self.position...].firstIndex(of: UInt8(ascii: "#")) ?? self.bytes.count
        let part = self.bytes[self.position..<end]
        try self.checkCharacters(part, in: PercentEncoding.schemeSpecificCharacters)
        self.position = end
        return String(decoding: part, as: UTF8.self)
    }

    mutating func selectors() throws(BlobError) -> [BlobLocator.Selector] {
        guard self.position < self.bytes.count else { return [] }
        var selectors: [BlobLocator.Selector] = []
        var rest = self.bytes[(self.position + 1)...]
        while let mark = rest.firstIndex(of: UInt8(ascii: "!")) {
            guard mark + 1 < rest.endIndex, rest[mark + 1] == UInt8(ascii: "/") else {
                throw self.failure("a '!' that does not separate selectors as in '!/'; in a name it is %21", at: mark)
            }
            selectors.append(try self.selector(rest[..<mark]))
            rest = rest[(mark + 2)...]
        }
        selectors.append(try self.selector(rest))
        return selectors
    }

    private func selector(_ bytes: ArraySlice<UInt8>) throws(BlobError) -> BlobLocator.Selector {
        try self.checkCharacters(bytes, in: PercentEncoding.selectorCharacters)
        if bytes.first == UInt8(ascii: "@") {
            let digits = String(decoding: bytes.dropFirst(), as: UTF8.self)
            guard digits.utf8.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains), let index = Int(digits)
            else {
                throw self.failure("an '@' with no number behind it; in a name it is %40", at: bytes.startIndex)
            }
            return .index(index)
        }
        guard let name = PercentEncoding.decode(bytes) else {
            throw self.failure("a '%' with no two hexadecimal digits behind it", at: bytes.startIndex)
        }
        return .name(name)
    }

    private func checkCharacters(_ bytes: ArraySlice<UInt8>, in characters: Set<UInt8>) throws(BlobError) {
        let percent = UInt8(ascii: "%")
        if let offset = bytes.firstIndex(where: { $0 != percent && !characters.contains($0) }) {
            throw self.failure("a character that must be percent-encoded", at: offset)
        }
        guard PercentEncoding.decode(bytes) != nil else {
            throw self.failure(
                "a '%' with no two hexadecimal digits behind it", at: bytes.firstIndex(of: percent) ?? bytes.startIndex)
        }
    }

    private func failure(_ what: String, at offset: Int) -> BlobError {
        // A text that is no locator may still hold a password; the part before an '@' is left out.
        let shown = self.text.firstIndex(of: "@").map { "..." + self.text[$0...] } ?? self.text
        return BlobError(
            .invalidLocator, "'\(shown)' has \(what).", operation: .resolve, byteOffset: Int64(offset))
    }
}
