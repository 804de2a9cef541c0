import BlobPlatform

/// The text form of where bytes come from: wrappers, a base URL, and selectors into containers.
///
///     file:///x.bin    gzip+file:///x.gz    tar+gzip+file:///x.tgz#dir/a.txt
///     zip+tar+gzip+file:///x.tgz#dir/in.zip!/a.txt
///
/// ```swift
/// let locator = try BlobLocator("tar+gzip+file:///x.tgz#dir/a.txt")
/// print(locator.scheme, locator.selectors.count)  // tar+gzip+file 1
/// ```
///
/// A legal URL (RFC 3986): the scheme is the wrappers, outermost first, and the scheme of the base, joined by `+`; the
/// fragment is the selectors, innermost container first, joined by `!/`. Which wrappers there are is for a
/// ``BlobRegistry`` to say.
public struct BlobLocator: Hashable, Sendable {
    /// Names one member of a container.
    public enum Selector: Hashable, Sendable {
        /// The member with exactly these bytes as its name; they need not be UTF-8.
        case name([UInt8])
        /// The member at this place in the container's order, from 0; written `@N`.
        case index(Int)

        /// The member with this name.
        public static func name(_ name: String) -> Selector { .name(Array(name.utf8)) }
    }

    /// Wrappers and the scheme of the base, in lower case: `tar+gzip+file`.
    public private(set) var scheme: String

    /// What follows the scheme and its colon, up to the selectors; percent-encoded: `///x.tgz`.
    public let schemeSpecificPart: String

    /// The path into containers, innermost container first.
    public internal(set) var selectors: [Selector]

    /// Parses a locator.
    ///
    /// - Throws: ``BlobError/Code/invalidLocator`` with the offset in bytes of what is wrong.
    public init(_ text: String) throws(BlobError) {
        var parser = LocatorParser(text)
        self.scheme = try parser.scheme()
        self.schemeSpecificPart = try parser.schemeSpecificPart()
        self.selectors = try parser.selectors()
    }

    /// Creates the locator of a file.
    ///
    /// - Parameter path: A path as the system has it: bytes, in no particular encoding. A relative one is resolved against
    ///   the current folder at this moment.
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

    /// This locator inside of one more wrapper, the outermost: `gzip` before `file:///x` is `gzip+file:///x`.
    ///
    /// - Throws: ``BlobError/Code/invalidLocator`` when `wrapper` is not the name of a scheme.
    public func wrapped(in wrapper: String) throws(BlobError) -> BlobLocator {
        var parser = LocatorParser(wrapper + ":")
        var locator = self
        locator.scheme = try parser.wholeScheme() + "+" + self.scheme
        return locator
    }

    /// This locator with one more selector, the last step.
    public func selecting(_ selector: Selector) -> BlobLocator {
        var locator = self
        locator.selectors.append(selector)
        return locator
    }

    /// The base alone, without its first wrappers and without selectors.
    func base(droppingWrappers count: Int) -> BlobLocator {
        var base = self
        base.scheme = self.scheme.split(separator: "+").dropFirst(count).joined(separator: "+")
        base.selectors = []
        return base
    }

    /// Where the bytes come from in the end: without any wrapper and selector.
    package var origin: BlobLocator {
        self.base(droppingWrappers: self.scheme.split(separator: "+").count - 1)
    }

    /// The path of a `file` base as bytes, percent-decoded; nil when the base is something else or names a host.
    public var filePath: [UInt8]? {
        guard self.scheme.split(separator: "+").last == "file" else { return nil }
        var path = self.schemeSpecificPart[...]
        if path.hasPrefix("//") {
            let host = path.dropFirst(2).prefix { $0 != "/" }
            guard host.isEmpty || host == "localhost" else { return nil }
            path = path[host.endIndex...]
        }
        guard path.hasPrefix("/"), !path.contains("?") else { return nil }
        return PercentEncoding.decode(path.utf8)
    }
}

extension BlobLocator {
    /// The locator as text, whole: parsing it gives an equal locator. May hold a password; ``description`` does not.
    public var text: String { self.text(schemeSpecificPart: self.schemeSpecificPart) }

    private func text(schemeSpecificPart: String) -> String {
        guard !self.selectors.isEmpty else { return "\(self.scheme):\(schemeSpecificPart)" }
        return "\(self.scheme):\(schemeSpecificPart)#\(self.selectors.map(\.text).joined(separator: "!/"))"
    }
}

extension BlobLocator: CustomStringConvertible {
    /// The locator as text, with `***` for a password in it.
    public var description: String {
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
    /// As it is written in a locator: percent-encoded, `!`, `#`, `%` and a leading `@` always.
    public var text: String {
        switch self {
        case .index(let index): "@\(index)"
        case .name(let name) where name.first == UInt8(ascii: "@"):
            "%40" + PercentEncoding.encode(name.dropFirst(), leaving: PercentEncoding.selectorCharacters)
        case .name(let name): PercentEncoding.encode(name, leaving: PercentEncoding.selectorCharacters)
        }
    }
}
