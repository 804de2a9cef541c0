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
        /// The member at this place in the container's order, from 0; written `@N`.
        case index(Int)

        /// The member with this name.
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
        self.scheme = try parser.scheme()
        self.schemeSpecificPart = try parser.schemeSpecificPart()
        self.selectors = try parser.selectors()
    }

    /// Creates the locator of a file.
    ///
    /// - Parameter path: A path as bytes, as the system has it, in no particular encoding. A relative path is resolved
    ///   against the current folder at this moment.
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

    /// Returns the locator of the container of the last selector; nil without selectors.
    package var container: BlobLocator? {
        guard !self.selectors.isEmpty else { return nil }
        var locator = self
        locator.selectors.removeLast()
        return locator
    }

    /// Returns this locator in one more wrapper, the outermost: `file:///x` in `gzip` is `gzip+file:///x`.
    ///
    /// - Throws: ``BlobError/Code/invalidLocator`` when `wrapper` is not a valid scheme.
    public func wrapped(in wrapper: String) throws(BlobError) -> BlobLocator {
        var parser = LocatorParser(wrapper + ":")
        var locator = self
        locator.scheme = try parser.wholeScheme() + "+" + self.scheme
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

    /// The path of a `file` base as bytes, percent-decoded; nil when the base is something else or names a host.
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

    /// The complete text of the locator: parsing it gives an equal locator. May hold secrets; ``description`` does not.
    public var text: String { self.text(schemeSpecificPart: self.schemeSpecificPart) }

    private func text(schemeSpecificPart: String) -> String {
        guard !self.selectors.isEmpty else { return "\(self.scheme):\(schemeSpecificPart)" }
        return "\(self.scheme):\(schemeSpecificPart)#\(self.selectors.map(\.text).joined(separator: "!/"))"
    }
}

extension BlobLocator: CustomStringConvertible, CustomReflectable {
    /// The text of the locator, with `***` in place of user and password, and of a query, which may be a secret, unless
    /// the scheme is `file` or `assets-library`.
    public var description: String { printableLocator(self.text) }

    /// The description alone.
    public var customMirror: Mirror { Mirror(self, children: ["description": self.description]) }

    /// The text that tells this locator from others, without a password. May hold secrets: neither printed nor stored
    /// where others can read it.
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
