#if Command
import BlobPlatform
import BlobStreamsStandard

/// A source to upload, which is opened when its upload begins.
struct UploadItem: Sendable {
    enum Origin: Sendable {
        case argument
        /// A regular file found in a folder, specified by the bytes of its path.
        case file([UInt8])
    }

    /// The argument, or the path of a file in its folder.
    let name: String
    let url: String
    var origin = Origin.argument

    func source(
        _ sources: ArgumentSources, _ context: BlobContext
    ) throws(BlobError) -> any BlobInputStreamDataSource {
        switch self.origin {
        case .argument: try sources.source(self.name, context)
        case .file(let path): FileSource(pathOfRegularFile: path)
        }
    }

    /// Returns the length of a local file; nil for any other source.
    func fileByteCount(_ registry: BlobRegistry) -> Int64? {
        if case .file(let path) = self.origin { return BlobLocator(filePath: path).fileByteCount }
        guard let locator = try? registry.locator(for: self.name), locator.scheme == "file", locator.selectors.isEmpty
        else { return nil }
        return locator.fileByteCount
    }
}

/// The sources of an upload and their URLs, all known before the first byte is sent.
struct UploadItems {
    private static let maximumListByteCount = 64 << 20

    private(set) var items: [UploadItem] = []
    /// The errors for sources that do not exist.
    private(set) var errors: [BlobError] = []
    private let url: String
    private var folder: UploadFolder?
    let sources: ArgumentSources
    private let context: BlobContext

    init(_ url: String, _ sources: ArgumentSources, _ context: BlobContext) {
        (self.url, self.sources, self.context) = (url, sources, context)
        self.folder = UploadFolder(url)
    }

    /// Adds the source of an argument, the files in its folder, or the members that its pattern selects.
    ///
    /// - Parameter naming: Returns an error that includes the location of the argument.
    /// - Throws: ``BlobError/Code/invalidArgument`` for an invalid name, or a name that an earlier source already has;
    ///   an error if the job has ended.
    mutating func add(_ argument: String, naming: (BlobError) -> BlobError = { $0 }) throws(BlobError) {
        try self.context.check()
        do throws(BlobError) {
            if let path = self.sources.registry.folderPath(argument) { return try self.addFiles(in: path, argument) }
            // As for a folder, members at any depth keep their paths in the names.
            let keepsPaths = self.sources.registry.memberSelection(argument)?.pattern.hasAnyPath ?? false
            for argument in try self.sources.registry.expanding([argument], self.context) {
                let source = try self.sources.source(argument, self.context)
                if self.folder == nil { _ = try source.info(self.context) }
                let folders = keepsPaths ? source.locator?.memberFolders ?? [] : []
                let url = try self.folder?.url(for: source, below: folders, argument: argument, self.context)
                self.items.append(UploadItem(name: argument, url: url ?? self.url))
            }
        } catch {
            // Nothing must be sent if a name is invalid.
            guard error.code != .invalidArgument else { throw naming(error) }
            try self.context.check()
            self.errors.append(naming(error))
        }
    }

    /// Returns the nonempty lines of a list of at most 64 MiB, with their line numbers, starting at 1.
    ///
    /// If the list contains a NUL character, NUL ends each line.
    static func lines(
        of source: any BlobInputStreamDataSource, _ context: BlobContext
    ) throws(BlobError) -> [(number: Int, text: String)] {
        let bytes = try source.data(upTo: self.maximumListByteCount, context: context)
        let end = bytes.contains(0) ? 0 : UInt8(ascii: "\n")
        return bytes.split(separator: end, omittingEmptySubsequences: false).enumerated()
            .filter { !$0.element.isEmpty }
            .map { ($0.offset + 1, RawArguments.decoded(Array($0.element))) }
    }

    private mutating func addFiles(in path: [UInt8], _ argument: String) throws(BlobError) {
        let slash = UInt8(ascii: "/")
        let last = path.split(separator: slash).last ?? []
        let isNamed = !argument.hasSuffix("/") && !["", ".", ".."].contains { last.elementsEqual($0.utf8) }
        let prefix = isNamed ? last + [slash] : []
        var base = argument.hasPrefix("file:") ? path : Array(argument.utf8)
        if base.last != slash { base.append(slash) }
        let files = FolderFiles(in: path)
        self.errors += files.errors
        for file in files.paths {
            let name = RawArguments.decoded(base + file)
            let url = try self.folder?.url(forPath: prefix + file, argument: name) ?? self.url
            self.items.append(UploadItem(name: name, url: url, origin: .file(path + [slash] + file)))
        }
    }
}

/// A URL that ends with '/', to which the name of each source is appended, as in `curl -T`.
struct UploadFolder {
    private static let nameCharacters = PercentEncoding.pathCharacters.subtracting("/".utf8)

    /// The URL up to its query or fragment, and the remainder.
    private let (path, rest): (String, String)
    private var arguments: [String: String] = [:]  // The arguments, keyed by URL.

    /// Creates a folder; fails if the path of `url` does not end with '/'.
    init?(_ url: String) {
        let path = url.prefix { $0 != "?" && $0 != "#" }
        guard path.hasSuffix("/") else { return nil }
        (self.path, self.rest) = (String(path), String(url[path.endIndex...]))
    }

    /// Returns the URL for a source.
    ///
    /// - Parameters:
    ///   - folders: The folders below this one that contain the source.
    ///   - argument: The argument that names the source.
    /// - Throws: ``BlobError/Code/invalidArgument`` for a source without a name, or with the name of an earlier source,
    ///   which it would replace; the errors of the source's info.
    mutating func url(
        for source: any BlobInputStreamDataSource, below folders: [ArraySlice<UInt8>] = [], argument: String,
        _ context: BlobContext
    ) throws(BlobError) -> String {
        guard let name = try source.info(context).name, !name.isEmpty else {
            throw BlobError(
                .invalidArgument, "The source has no name that could be appended to the URL.",
                locator: source.locator?.description)
        }
        let components = folders + [Self.bytes(of: name, source.locator)[...]]
        let encoded = components.map { PercentEncoding.encode($0, leaving: Self.nameCharacters) }
        return try self.url(forEncoded: encoded.joined(separator: "/"), argument)
    }

    /// Returns the URL for a name, which must be unique.
    func url(appending name: String) -> String { self.path + name + self.rest }

    /// Returns the URL for a path below this one; the path is percent-encoded.
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
                "Two sources would be uploaded under the same name '\(relative)': "
                    + "\(printableArgument(other)) and \(printableArgument(argument)).")
        }
        return url
    }

    /// Returns the bytes of a name. A name that is not UTF-8 is taken from the locator, because the text contains
    /// replacement characters.
    private static func bytes(of name: String, _ locator: BlobLocator?) -> [UInt8] {
        guard name.unicodeScalars.contains("\u{FFFD}"), let path = locator?.lastPath else { return Array(name.utf8) }
        let raw = path.split(separator: UInt8(ascii: "/")).last ?? []
        // A filter may have removed or changed the extension; the bytes before the extension are unchanged.
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
    /// The names of the folders that contain a member; empty if the name leads outside the folder.
    var memberFolders: [ArraySlice<UInt8>] {
        guard case .name(let name) = self.selectors.last else { return [] }
        let components = name.split(separator: UInt8(ascii: "/")).filter { !$0.elementsEqual(".".utf8) }
        return components.contains { $0.elementsEqual("..".utf8) } ? [] : components.dropLast()
    }

    /// The bytes of the member's name, or of the file's path; nil for a member selected by index.
    fileprivate var lastPath: [UInt8]? {
        switch self.selectors.last {
        case .name(let name): name
        case .index: nil
        case nil: self.filePath
        }
    }
}
#endif
