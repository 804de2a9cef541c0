import BlobPlatform

extension BlobRegistry {
    /// Returns the locator for a user-supplied text: a locator, a path, or `-` for standard input, preceded by wrappers
    /// of this registry and followed by `#MEMBER`.
    ///
    ///     photo.jpg    gzip+log.gz    backup.tgz#etc/hosts    tar+backup.tar#@0    -#first.txt    file:///x.tgz#a.txt
    ///
    /// An existing file of that name takes precedence over any other interpretation. Relative paths are resolved
    /// against the current folder. Characters of members that a locator must percent-encode may be written unencoded.
    ///
    /// - Throws: ``BlobError/Code/invalidLocator`` with the offset of the error in bytes.
    /// - Complexity: A few calls of `lstat(2)`; opens nothing.
    public func locator(for text: String) throws(BlobError) -> BlobLocator {
        // Without these marks, there is neither a wrapper, nor a scheme, nor a member: the text is a path.
        if !text.isEmpty, text != "-", !text.utf8.contains(where: marks.contains) {
            return BlobLocator(filePath: text.utf8)
        }
        var wrappers: [String] = []
        var rest = text
        var isExisting = isFile(rest)
        while !isExisting, !hasScheme(rest), let (wrapper, base) = self.splitWrapper(rest) {
            wrappers.append(wrapper)
            rest = base
            isExisting = isFile(rest)
        }
        // By convention, the name '-' is standard input, even if a file has this name.
        var locator = try isExisting && rest != "-" ? BlobLocator(filePath: rest.utf8) : Self.locatorWithoutFile(rest)
        for wrapper in wrappers.reversed() { locator = try locator.wrapped(in: wrapper) }
        return locator
    }

    /// Returns the locator for a text that is not the name of a file and has no wrappers.
    private static func locatorWithoutFile(_ text: String) throws(BlobError) -> BlobLocator {
        guard !text.isEmpty else {
            throw BlobError(.invalidLocator, "The locator is empty.", operation: "resolve")
        }
        if text == "-" { return try BlobLocator("stdin:") }
        let mark = memberMark(text)
        let isFileWithMember = mark.map { isFile(String(text[..<$0])) } ?? false
        guard isFileWithMember || !hasScheme(text) else { return try BlobLocator(text) }
        guard let mark else { return BlobLocator(filePath: text.utf8) }
        let path = text[..<mark]
        guard !path.isEmpty else {
            throw BlobError(.invalidLocator, "No file name before the '#'.", operation: "resolve", locator: text)
        }
        var locator = try path == "-" ? BlobLocator("stdin:") : BlobLocator(filePath: path.utf8)
        let selectors = PercentEncoding.encode(
            text[mark...].dropFirst().utf8, leaving: PercentEncoding.selectorCharacters.union("!%".utf8))
        var parser = LocatorParser("#" + selectors)
        locator.selectors = try parser.parseSelectors()
        return locator
    }

    private func splitWrapper(_ text: String) -> (wrapper: String, base: String)? {
        guard let plus = text.firstIndex(of: "+") else { return nil }
        let name = text[..<plus].lowercased()
        let base = String(text[text.index(after: plus)...])
        if name == Self.signatureWrapper { return (name, base) }
        switch self.provider(for: name)?.kind {
        case .filter, .container: return (name, base)
        case .origin, nil: return nil
        }
    }
}

/// The characters after a wrapper, after a scheme and before a member.
private let marks = ByteSet("+:#".utf8)

/// PATH_MAX of Linux, in bytes.
private let maximumPathByteCount = 4096

private func isFile(_ path: String) -> Bool { FileStatus(at: path, followingLinks: false) != nil }

/// Returns true for a text that begins with a scheme, whose first character is a letter (RFC 3986, section 3.1), and
/// its colon.
private func hasScheme(_ text: String) -> Bool {
    guard let first = text.utf8.first, (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(first | 0x20) else {
        return false
    }
    return originScheme(of: Array(text.utf8)) != nil
}

/// Returns the index at which a path ends and members begin: the first `#` after the name of a file, or else the first
/// one.
private func memberMark(_ text: String) -> String.Index? {
    // By byte: a '#' with a combining character is a mark, too. A longer path cannot name a file.
    let marks = text.utf8.prefix(maximumPathByteCount).indices.filter { text.utf8[$0] == UInt8(ascii: "#") }
    return marks.first { isFile(String(text[..<$0])) } ?? marks.first ?? text.utf8.firstIndex(of: UInt8(ascii: "#"))
}
