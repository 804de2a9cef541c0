import BlobPlatform

/// The text form of a source: wrappers, a base URL, and selectors into containers.
///
///     file:///x.bin    gzip+file:///x.gz    tar+gzip+file:///x.tgz#dir/a.txt
///     zip+tar+gzip+file:///x.tgz#dir/in.zip!/a.txt
///
/// ```swift
/// let locator = try BlobLocator("tar+gzip+file:///x.tgz#dir/a.txt")
/// print(locator.scheme, locator.selectors.count)  // tar+gzip+file 1
/// ```
///
/// A valid URL (RFC 3986): its scheme consists of the wrappers, outermost first, and the scheme of the base, joined by
/// `+`; its fragment consists of the selectors, innermost container first, joined by `!/`. A ``BlobRegistry``
/// determines which wrappers exist.
public struct BlobLocator: Hashable, Sendable {
    /// The selection of one member of a container.
    public enum Selector: Hashable, Sendable {
        /// The member with exactly these bytes as its name; they need not be UTF-8.
        case name([UInt8])
        /// The member at this index in the container's order, starting at 0; written `@N`.
        case index(Int)

        /// Returns the selector of the member with this name, encoded as UTF-8.
        public static func name(_ name: String) -> Selector { .name(Array(name.utf8)) }
    }

    /// The maximum number of nested containers in a locator.
    static let maximumDepth = 8

    /// The wrappers and the scheme of the base, in lower case: `tar+gzip+file`.
    public private(set) var scheme: String

    /// The part after the scheme and its colon, up to the selectors; percent-encoded: `///x.tgz`.
    public let schemeSpecificPart: String

    /// The path into containers, innermost container first.
    public internal(set) var selectors: [Selector]

    /// Parses a locator.
    ///
    /// - Throws: ``BlobError/Code/invalidLocator`` with the offset of the fault in bytes.
    public init(_ text: String) throws(BlobError) {
        var parser = LocatorParser(text)
        self.scheme = try parser.parseScheme()
        self.schemeSpecificPart = try parser.parseSchemeSpecificPart()
        self.selectors = try parser.parseSelectors()
    }

    /// Creates the locator of a file.
    ///
    /// - Parameter path: A path as bytes, as the system reports it, in no particular encoding. A relative path is
    ///   resolved against the current folder when the locator is created.
    public init(filePath path: some Sequence<UInt8>) {
        var path = Array(path)
        if path.first != UInt8(ascii: "/"), let folder = getcwd(nil, 0) {
            defer { free(folder) }
            let bytes = UnsafeBufferPointer(start: folder, count: strlen(folder)).map(UInt8.init(bitPattern:))
            path = bytes + (bytes.last == UInt8(ascii: "/") ? [] : [UInt8(ascii: "/")]) + path
        }
        self.scheme = "file"
        self.schemeSpecificPart = "//" + PercentEncoding.encode(path, leaving: PercentEncoding.pathCharacters)
        self.selectors = []
    }

    /// Returns the locator of the container of the last selector; nil if there are no selectors.
    package var container: BlobLocator? {
        guard !self.selectors.isEmpty else { return nil }
        var locator = self
        locator.selectors.removeLast()
        return locator
    }

    /// Returns this locator with one more wrapper, the outermost: `file:///x` in `gzip` is `gzip+file:///x`.
    ///
    /// - Throws: ``BlobError/Code/invalidLocator`` if `wrapper` is not a valid scheme.
    public func wrapped(in wrapper: String) throws(BlobError) -> BlobLocator {
        var parser = LocatorParser(wrapper + ":")
        var locator = self
        locator.scheme = try parser.parseWholeScheme() + "+" + self.scheme
        return locator
    }

    /// Returns this locator with one more selector, the last step.
    public func selecting(_ selector: Selector) -> BlobLocator {
        var locator = self
        locator.selectors.append(selector)
        return locator
    }

    /// Returns this locator without its first wrappers and without selectors.
    func base(droppingWrappers count: Int) -> BlobLocator {
        var base = self
        base.scheme = self.scheme.split(separator: "+").dropFirst(count).joined(separator: "+")
        base.selectors = []
        return base
    }

    /// The locator of the origin, without wrappers and selectors.
    package var origin: BlobLocator {
        self.base(droppingWrappers: self.scheme.split(separator: "+").count - 1)
    }

    /// The path of a `file` base as bytes, percent-decoded; nil if the base has another scheme or names a host.
    public var filePath: [UInt8]? {
        guard self.scheme == "file" || self.scheme.hasSuffix("+file") else { return nil }
        let slash = UInt8(ascii: "/")
        var path = self.schemeSpecificPart.utf8[...]
        if path.starts(with: "//".utf8) {
            let host = path.dropFirst(2).prefix { $0 != slash }
            guard host.isEmpty || host.elementsEqual("localhost".utf8) else { return nil }
            path = path[host.endIndex...]
        }
        guard path.first == slash, !path.contains(UInt8(ascii: "?")) else { return nil }
        return PercentEncoding.decode(path)
    }

    /// The complete text of the locator; parsing it produces an equal locator. May hold secrets; ``description`` does
    /// not.
    public var text: String { self.text(schemeSpecificPart: self.schemeSpecificPart) }

    private func text(schemeSpecificPart: String) -> String {
        guard !self.selectors.isEmpty else { return "\(self.scheme):\(schemeSpecificPart)" }
        return "\(self.scheme):\(schemeSpecificPart)#\(self.selectors.map(\.text).joined(separator: "!/"))"
    }
}

extension BlobLocator: CustomStringConvertible, CustomReflectable {
    /// The text of the locator. `***` replaces the user and password, and the query, which may be a secret, unless the
    /// origin has one of the schemes `assets-library`, `data`, `file` and `stdin`.
    public var description: String { printableLocator(self.text) }

    /// A mirror that shows only the description.
    public var customMirror: Mirror { Mirror(self, children: ["description": self.description]) }

    /// The text that distinguishes this locator from others, without a password. May hold secrets; never print it, or
    /// store it where others can read it.
    package var identity: String {
        let rest = self.schemeSpecificPart
        guard rest.hasPrefix("//") else { return self.text }
        let authority = rest.dropFirst(2).prefix { $0 != "/" && $0 != "?" }
        guard let at = authority.lastIndex(of: "@"), let colon = authority[..<at].firstIndex(of: ":") else {
            return self.text
        }
        return self.text(schemeSpecificPart: "\(rest[...colon])***\(rest[at...])")
    }
}

extension BlobLocator.Selector {
    /// The selector as written in a locator: percent-encoded, including every `!`, `#`, `%` and a leading `@`.
    public var text: String {
        switch self {
        case .index(let index): "@\(index)"
        case .name(let name) where name.first == UInt8(ascii: "@"):
            "%40" + PercentEncoding.encode(name.dropFirst(), leaving: PercentEncoding.selectorCharacters)
        case .name(let name): PercentEncoding.encode(name, leaving: PercentEncoding.selectorCharacters)
        }
    }
}

/// A parser of the parts of a locator; its methods must be called in the order of the parts.
struct LocatorParser {
    /// The maximum number of bytes of a locator in a message.
    private static let maximumShownByteCount = 1024

    private let bytes: [UInt8]
    private var position = 0

    init(_ text: String) {
        self.bytes = Array(text.utf8)
    }

    /// Parses the scheme: `ALPHA *( ALPHA / DIGIT / "+" / "-" / "." )` (RFC 3986, section 3.1), with no empty part
    /// between its `+` signs.
    mutating func parseScheme() throws(BlobError) -> String {
        guard let end = self.bytes.firstIndex(of: UInt8(ascii: ":")) else {
            throw self.failure("no scheme, such as 'file:' in file:///path", at: 0)
        }
        // Byte by byte, because lowercasing turns some letters beyond ASCII into ASCII letters.
        let scheme = self.bytes[..<end].map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 }
        var isPartStart = true
        for (offset, byte) in scheme.enumerated() {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"): isPartStart = false
            case UInt8(ascii: "0")...UInt8(ascii: "9") where !isPartStart: break
            case UInt8(ascii: "-") where !isPartStart, UInt8(ascii: ".") where !isPartStart: break
            case UInt8(ascii: "+") where !isPartStart: isPartStart = true
            default: throw self.failure("a scheme with an invalid character", at: offset)
            }
        }
        guard !isPartStart else { throw self.failure("a scheme with an empty part", at: end) }
        self.position = end + 1
        return String(decoding: scheme, as: UTF8.self)
    }

    /// Parses a scheme with nothing after its colon.
    mutating func parseWholeScheme() throws(BlobError) -> String {
        let scheme = try self.parseScheme()
        guard self.position == self.bytes.count else {
            throw self.failure("text after the scheme", at: self.position - 1)
        }
        return scheme
    }

    mutating func parseSchemeSpecificPart() throws(BlobError) -> String {
        let end = self.bytes[self.position...].firstIndex(of: UInt8(ascii: "#")) ?? self.bytes.count
        let part = self.bytes[self.position..<end]
        _ = try self.decode(part, of: PercentEncoding.schemeSpecificCharacters)
        self.position = end
        return String(decoding: part, as: UTF8.self)
    }

    mutating func parseSelectors() throws(BlobError) -> [BlobLocator.Selector] {
        guard self.position < self.bytes.count else { return [] }
        let marks = self.bytes[self.position...].lazy.filter { $0 == UInt8(ascii: "!") }
        // Deeper nesting cannot be opened, and each selector costs time to decode.
        guard marks.prefix(BlobLocator.maximumDepth).count < BlobLocator.maximumDepth else {
            throw self.failure("more than \(BlobLocator.maximumDepth) selectors", at: self.position)
        }
        var selectors: [BlobLocator.Selector] = []
        var rest = self.bytes[(self.position + 1)...]
        while let mark = rest.firstIndex(of: UInt8(ascii: "!")) {
            guard mark + 1 < rest.endIndex, rest[mark + 1] == UInt8(ascii: "/") else {
                throw self.failure("a '!' that is not followed by '/'; in a name, write it as %21", at: mark)
            }
            selectors.append(try self.selector(rest[..<mark]))
            rest = rest[(mark + 2)...]
        }
        selectors.append(try self.selector(rest))
        return selectors
    }

    private func selector(_ bytes: ArraySlice<UInt8>) throws(BlobError) -> BlobLocator.Selector {
        let name = try self.decode(bytes, of: PercentEncoding.selectorCharacters)
        guard bytes.first == UInt8(ascii: "@") else { return .name(name) }
        let digits = String(decoding: bytes.dropFirst(), as: UTF8.self)
        guard digits.utf8.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains), let index = Int(digits) else {
            throw self.failure(
                "an '@' that is not followed by a number; in a name, write it as %40", at: bytes.startIndex)
        }
        return .index(index)
    }

    /// Decodes a part in which only `characters` may stand unencoded.
    private func decode(_ part: ArraySlice<UInt8>, of characters: ByteSet) throws(BlobError) -> [UInt8] {
        let percent = UInt8(ascii: "%")
        if let offset = part.firstIndex(where: { $0 != percent && !characters.contains($0) }) {
            throw self.failure("a character that must be percent-encoded", at: offset)
        }
        if let bytes = PercentEncoding.decode(part) { return bytes }
        let malformed = part.indices.first {
            part[$0] == percent && PercentEncoding.decode(part[$0...].prefix(3)) == nil
        }
        throw self.failure("a '%' that is not followed by two hexadecimal digits", at: malformed ?? part.startIndex)
    }

    private func failure(_ what: String, at offset: Int) -> BlobError {
        // An invalid locator may hold secrets even in places where a valid one has none: all text before the last '@'
        // is omitted, and all text from the first '?', even in a path. Selectors of a local source are kept. The search
        // is by byte, because an '@' with a combining character is a different `Character`.
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
