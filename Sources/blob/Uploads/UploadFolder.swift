import BlobStreamsStandard

/// A URL that ends with '/', to which the name of each source is appended, as by `curl -T`.
struct UploadFolder {
    private static let nameCharacters = PercentEncoding.pathCharacters.subtracting("/".utf8)

    /// The URL up to its query or fragment, and the rest.
    private let (path, rest): (String, String)
    private var arguments: [String: String] = [:]  // The arguments by URL.

    /// Creates a folder; nil when the path of `url` does not end with '/'.
    init?(_ url: String) {
        let path = url.prefix { $0 != "?" && $0 != "#" }
        guard path.hasSuffix("/") else { return nil }
        (self.path, self.rest) = (String(path), String(url[path.endIndex...]))
    }

    /// Returns the URL for a source.
    ///
    /// - Parameters:
    ///   - folders: The folders in which it is, below this one.
    ///   - argument: The argument that names the source.
    /// - Throws: ``BlobError/Code/invalidArgument`` for a source without a name, and for one with the name of an
    ///   earlier source, which it would replace.
    mutating func url(
        for source: any BlobInputStreamDataSource, below folders: [ArraySlice<UInt8>] = [], argument: String,
        _ context: BlobContext
    ) throws(BlobError) -> String {
        guard let name = try source.info(context).name, !name.isEmpty else {
            throw BlobError(
                .invalidArgument, "This source has no name to put behind the '/' of the URL.",
                locator: source.locator?.description)
        }
        let components = folders + [Self.bytes(of: name, source.locator)[...]]
        let encoded = components.map { PercentEncoding.encode($0, leaving: Self.nameCharacters) }
        return try self.url(forEncoded: encoded.joined(separator: "/"), argument)
    }

    /// Returns the URL for a name that no other source has.
    func url(appending name: String) -> String { self.path + name + self.rest }

    /// Returns the URL for a path below this one, which is percent-encoded.
    ///
    /// - Throws: ``BlobError/Code/invalidArgument`` for the path of an earlier source.
    mutating func url(forPath path: [UInt8], argument: String) throws(BlobError) -> String {
        try self.url(forEncoded: PercentEncoding.encode(path, leaving: PercentEncoding.pathCharacters), argument)
    }

    private mutating func url(forEncoded relative: String, _ argument: String) throws(BlobError) -> String {
        let url = self.path + relative + self.rest
        if let other = self.arguments.updateValue(argument, forKey: url) {
            throw BlobError(
                .invalidArgument,
                "Two sources would be uploaded as '\(relative)', the second in place of the first: "
                    + "\(printableArgument(other)) and \(printableArgument(argument)).")
        }
        return url
    }

    /// Returns the bytes of a name; if it is not UTF-8, from the locator, since the text has replacement characters.
    private static func bytes(of name: String, _ locator: BlobLocator?) -> [UInt8] {
        guard name.unicodeScalars.contains("\u{FFFD}"), let path = locator?.lastPath else { return Array(name.utf8) }
        let raw = path.split(separator: UInt8(ascii: "/")).last ?? []
        // A filter may have removed or changed the extension; the bytes before it are unchanged.
        for end in raw.indices.reversed() {
            let beginning = String(decoding: raw[...end], as: UTF8.self)
            if name.utf8.starts(with: beginning.utf8) {
                return Array(raw[...end]) + name.utf8.dropFirst(beginning.utf8.count)
            }
        }
        return Array(name.utf8)
    }
}

extension BlobLocator {
    /// The names of the folders in which a member is; none when its name leads out of a folder.
    var memberFolders: [ArraySlice<UInt8>] {
        guard case .name(let name) = self.selectors.last else { return [] }
        let components = name.split(separator: UInt8(ascii: "/")).filter { !$0.elementsEqual(".".utf8) }
        return components.contains { $0.elementsEqual("..".utf8) } ? [] : components.dropLast()
    }

    /// The bytes of the name of the member, or of the path of the file; nil for a member selected by index.
    fileprivate var lastPath: [UInt8]? {
        switch self.selectors.last {
        case .name(let name): name
        case .index: nil
        case nil: self.filePath
        }
    }
}
