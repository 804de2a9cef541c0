import BlobStreamsStandard
import Foundation

extension BlobLocator {
    /// Creates a locator from an argument: a locator, `-`, or a path, with wrappers before and `#MEMBER` after it.
    ///
    /// A file with exactly this name takes precedence over any other reading.
    ///
    /// - Throws: ``BlobError/Code/invalidLocator``.
    init(argument: String, registry: BlobRegistry) throws(BlobError) {
        guard !argument.isEmpty else {
            throw BlobError(.invalidLocator, "An empty argument names nothing.", operation: .resolve)
        }
        if argument == "-" {
            self = try BlobLocator("stdin:")
        } else if Self.isFile(argument) {
            self = Self.file(argument)
        } else if Self.hasScheme(argument) {
            self = try BlobLocator(argument)
        } else if let (wrapper, rest) = Self.wrapper(argument, registry) {
            self = try BlobLocator(argument: rest, registry: registry).unwrappedFromArchive().wrapped(in: wrapper)
        } else if let mark = Self.memberMark(argument) {
            let selectors = Self.leniently(argument[argument.index(after: mark)...])
            let path = String(argument[..<mark])
            let base = path == "-" ? "stdin:" : Self.file(path).text
            self = try BlobLocator("archive+\(base)#\(selectors)")
        } else {
            self = Self.file(argument)
        }
    }

    private static func file(_ path: String) -> BlobLocator {
        BlobLocator(filePath: RawArguments.absolutePath(Array(path.utf8)))
    }

    private static func isFile(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }

    /// True for an argument that begins with a scheme and its colon.
    private static func hasScheme(_ argument: String) -> Bool {
        let end = argument.utf8.firstIndex { character in
            switch character {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): false
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."): false
            default: true
            }
        }
        guard let end, argument.utf8[end] == UInt8(ascii: ":") else { return false }
        return end != argument.startIndex
    }

    private static func wrapper(_ argument: String, _ registry: BlobRegistry) -> (wrapper: String, rest: String)? {
        guard let plus = argument.firstIndex(of: "+") else { return nil }
        let name = argument[..<plus].lowercased()
        let rest = String(argument[argument.index(after: plus)...])
        if name == "archive" { return (name, rest) }
        switch registry.provider(for: name)?.kind {
        case .filter, .container: return (name, rest)
        case .origin, nil: return nil
        }
    }

    /// Returns the `#` between the path and the members: the first one after the path of a file, or else the first.
    private static func memberMark(_ argument: String) -> String.Index? {
        let marks = argument.indices.filter { argument[$0] == "#" }
        return marks.first { self.isFile(String(argument[..<$0])) } ?? marks.first
    }

    /// Returns selectors as typed, with the percent-encoding that a locator needs.
    private static func leniently(_ selectors: Substring) -> String {
        PercentEncoding.encode(
            selectors.utf8, leaving: PercentEncoding.selectorCharacters.union("!%".utf8))
    }

    /// Removes `archive+` from `tar+PATH#MEMBER`: the container is named, so it need not be found by signature.
    private func unwrappedFromArchive() throws(BlobError) -> BlobLocator {
        guard self.scheme.hasPrefix("archive+") else { return self }
        return try BlobLocator(String(self.text.dropFirst("archive+".count)))
    }
}
