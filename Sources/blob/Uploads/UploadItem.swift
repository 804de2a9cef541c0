import BlobPlatform
import BlobStreamsStandard

/// A source to upload, which is opened when its turn comes.
struct UploadItem: Sendable {
    enum Origin: Sendable {
        case argument
        /// A regular file found in a folder, by the bytes of its path.
        case file([UInt8])
    }

    /// The argument, or the path in its place.
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
}

/// The sources of an upload, each with its URL, known before the first byte is sent.
struct UploadItems {
    private static let maximumListByteCount = 64 << 20

    private(set) var items: [UploadItem] = []
    /// The errors of sources that are not there.
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
    /// - Parameter naming: Returns an error with the place of the argument.
    /// - Throws: ``BlobError/Code/invalidArgument`` for a name that an earlier source has, and when the job is over.
    mutating func add(_ argument: String, naming: (BlobError) -> BlobError = { $0 }) throws(BlobError) {
        try self.context.check()
        do throws(BlobError) {
            if let path = self.sources.registry.folderPath(argument) { return try self.addFiles(in: path, argument) }
            // As of a folder, the paths of what is found in any depth belong to the names.
            let keepsPaths = self.sources.registry.memberSelection(argument)?.pattern.hasAnyPath ?? false
            for argument in try self.sources.registry.expanding([argument], self.context) {
                let source = try self.sources.source(argument, self.context)
                if self.folder == nil { _ = try source.info(self.context) }
                let folders = keepsPaths ? source.locator?.memberFolders ?? [] : []
                let url = try self.folder?.url(for: source, below: folders, argument: argument, self.context)
                self.items.append(UploadItem(name: argument, url: url ?? self.url))
            }
        } catch {
            // A mistake in the names sends nothing at all.
            guard error.code != .invalidArgument else { throw naming(error) }
            try self.context.check()
            self.errors.append(naming(error))
        }
    }

    /// Returns the lines of a list of at most 64 MiB that are not empty, with their numbers from 1; if it has a NUL,
    /// that ends each line.
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
