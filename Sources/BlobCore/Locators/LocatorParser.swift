/// A parser of the parts of a locator, which are parsed in their order.
struct LocatorParser {
    /// The maximum number of bytes of a locator in a message.
    private static let maximumShownByteCount = 1024

    private let bytes: [UInt8]
    private var position = 0

    init(_ text: String) {
        self.bytes = Array(text.utf8)
    }

    /// Parses the scheme: `ALPHA *( ALPHA / DIGIT / "+" / "-" / "." )` (RFC 3986, section 3.1), with no empty part
    /// between its `+`.
    mutating func scheme() throws(BlobError) -> String {
        guard let end = self.bytes.firstIndex(of: UInt8(ascii: ":")) else {
            throw self.failure("no scheme, as in file:///path", at: 0)
        }
        // By byte: the lower case of some letters beyond ASCII is an ASCII letter.
        let scheme = self.bytes[..<end].map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 }
        var isPartStart = true
        for (offset, byte) in scheme.enumerated() {
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
        return String(decoding: scheme, as: UTF8.self)
    }

    /// Parses a scheme with nothing after its colon.
    mutating func wholeScheme() throws(BlobError) -> String {
        let scheme = try self.scheme()
        guard self.position == self.bytes.count else {
            throw self.failure("something behind the scheme", at: self.position - 1)
        }
        return scheme
    }

    mutating func schemeSpecificPart() throws(BlobError) -> String {
        let end = self.bytes[self.position...].firstIndex(of: UInt8(ascii: "#")) ?? self.bytes.count
        let part = self.bytes[self.position..<end]
        _ = try self.decoded(part, of: PercentEncoding.schemeSpecificCharacters)
        self.position = end
        return String(decoding: part, as: UTF8.self)
    }

    mutating func selectors() throws(BlobError) -> [BlobLocator.Selector] {
        guard self.position < self.bytes.count else { return [] }
        let marks = self.bytes[self.position...].lazy.filter { $0 == UInt8(ascii: "!") }
        // Nothing opens more of them, and each is decoded at its own cost.
        guard marks.prefix(BlobLocator.maximumDepth).count < BlobLocator.maximumDepth else {
            throw self.failure("more than \(BlobLocator.maximumDepth) selectors", at: self.position)
        }
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
        let name = try self.decoded(bytes, of: PercentEncoding.selectorCharacters)
        guard bytes.first == UInt8(ascii: "@") else { return .name(name) }
        let digits = String(decoding: bytes.dropFirst(), as: UTF8.self)
        guard digits.utf8.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains), let index = Int(digits) else {
            throw self.failure("an '@' with no number behind it; in a name it is %40", at: bytes.startIndex)
        }
        return .index(index)
    }

    /// Decodes a part, in which only `characters` may stand unencoded.
    private func decoded(_ part: ArraySlice<UInt8>, of characters: ByteSet) throws(BlobError) -> [UInt8] {
        let percent = UInt8(ascii: "%")
        if let offset = part.firstIndex(where: { $0 != percent && !characters.contains($0) }) {
            throw self.failure("a character that must be percent-encoded", at: offset)
        }
        if let bytes = PercentEncoding.decode(part) { return bytes }
        let malformed = part.indices.first {
            part[$0] == percent && PercentEncoding.decode(part[$0...].prefix(3)) == nil
        }
        throw self.failure("a '%' with no two hexadecimal digits behind it", at: malformed ?? part.startIndex)
    }

    private func failure(_ what: String, at offset: Int) -> BlobError {
        // An invalid locator may still hold secrets, in places where a valid one has none: all text before the last '@'
        // is omitted, and all from the first '?', also where a path has it. Selectors of a source of this machine stay.
        // By byte: an '@' with a combining character is not an '@' to a string.
        let text = String(decoding: self.bytes, as: UTF8.self)
        var rest = Array((isLocal(text) || text.hasPrefix("#") ? text : printableURL(text)).utf8)[...]
        let at = rest.lastIndex(of: UInt8(ascii: "@"))
        rest = rest[(at ?? 0)...]
        let end = rest.count > Self.maximumShownByteCount ? "..." : ""
        let shown =
            (at == nil ? "" : "...") + String(decoding: rest.prefix(Self.maximumShownByteCount), as: UTF8.self) + end
        return BlobError(
            .invalidLocator, "'\(shown)' has \(what).", operation: "resolve", byteOffset: Int64(offset))
    }
}
