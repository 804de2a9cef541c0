#if Command
import BlobPlatform
import BlobStreamsStandard
import ZipArchive

/// A zip of the sources that arguments name.
struct ZipArguments {
    private(set) var composer = ZipComposer()
    private let sources: ArgumentSources
    private let options: SourceOptions
    private let context: BlobContext
    /// The members of the containers from which single members were taken, by the container and by name.
    private var members: [BlobLocator: [[UInt8]: BlobMember]] = [:]

    /// Creates the zip of arguments and of the lines of a list.
    init(
        _ arguments: some Sequence<String>, list: String?, _ listed: ListedLocatorOptions, _ options: SourceOptions,
        _ context: BlobContext
    ) throws(BlobError) {
        (self.sources, self.options, self.context) = (options.makeSources(), options, context)
        for argument in arguments { try self.append(argument) }
        guard let list else { return }
        for (number, line) in try UploadItems.lines(of: self.sources.source(list, context), context) {
            do throws(BlobError) {
                try listed.check(Self.parts(of: line, self.sources.registry).locator, self.sources.registry)
                try self.append(line)
            } catch {
                throw error.inLine(number, of: list)
            }
        }
    }

    /// Splits an argument at its first `=`, unless the argument is the path of a file or begins like a locator.
    private static func parts(of argument: String, _ registry: BlobRegistry) -> (name: [UInt8]?, locator: String) {
        guard let end = argument.firstIndex(of: "="), end > argument.startIndex,
            case let beginning = argument[..<end], !beginning.contains("#"), !beginning.contains(":"),
            (try? registry.locator(for: argument))?.filePath.flatMap({ FileStatus(at: $0.cString) }) == nil,
            let name = PercentEncoding.decode(beginning.utf8)
        else { return (nil, argument) }
        return (name, String(argument[argument.index(after: end)...]))
    }

    /// Adds the source of an argument, the files in its folder, or the members that its pattern selects.
    mutating func append(_ argument: String) throws(BlobError) {
        try self.context.check()
        let registry = self.sources.registry
        let (name, locator) = Self.parts(of: argument, registry)
        if let path = registry.folderPath(locator) {
            let last = path.split(separator: UInt8(ascii: "/")).last ?? []
            let isNamed = !locator.hasSuffix("/") && !["", ".", ".."].contains { last.elementsEqual($0.utf8) }
            return try self.composer.appendFiles(in: path, below: name ?? (isNamed ? Array(last) : []))
        }
        if let prefix = try? registry.locator(for: locator).s3Prefix {
            return try self.append(below: prefix, name ?? [])
        }
        if let selection = registry.memberSelection(locator) {
            let container = try registry.openContainer(for: selection.container, self.context)
            let isName = (try? container.findMember(.name(selection.name), self.context)) != nil
            if !isName { return try self.append(selection, of: container, below: name ?? []) }
        }
        let source = try self.sources.source(locator, self.context)
        let known: [UInt8]? = if let name { name } else { try source.info(self.context).name.map { Array($0.utf8) } }
        guard let name = known else {
            throw BlobError(
                .invalidArgument, "The source has no name: write NAME=LOCATOR.",
                locator: source.locator?.description)
        }
        try self.composer.appendEntry(self.entry(name, try? registry.locator(for: locator)), source: source)
    }

    /// Adds the objects below a prefix, named by the rest of their keys.
    private mutating func append(below prefix: BlobLocator, _ folder: [UInt8]) throws(BlobError) {
        try BlobError.wrapping {
            try self.options.forEachObject(below: prefix, self.context) { object in
                let rest = object.locator.dropFirst(prefix.text.count).drop { $0 == "/" }
                // Some tools store an object for a folder.
                guard let name = PercentEncoding.decode(rest.utf8), !name.isEmpty, name.last != UInt8(ascii: "/")
                else { return }
                var entry = ZipEntry(name: (folder.isEmpty ? [] : folder + [UInt8(ascii: "/")]) + name)
                entry.modificationTime = object.modificationTime
                try self.composer.appendEntry(entry, source: self.sources.source(object.locator, self.context))
            }
        }
    }

    private mutating func append(
        _ selection: BlobRegistry.MemberSelection, of container: any BlobContainer, below folder: [UInt8]
    ) throws(BlobError) {
        let count = self.composer.entryCount
        try self.composer.appendMembers(of: container, context: self.context) { member in
            let isFolder = member.name.last == UInt8(ascii: "/")
            guard selection.pattern.matches(isFolder ? member.name.dropLast() : member.name) else { return nil }
            var entry = ZipEntry(member)
            entry.name = (folder.isEmpty ? [] : folder + [UInt8(ascii: "/")]) + entry.name
            if self.sources.decodes { entry.checksum = nil }
            return entry
        }
        guard self.composer.entryCount > count else { throw selection.noMatchError }
    }

    /// Returns an entry with the attributes of the file or the member.
    private mutating func entry(_ name: [UInt8], _ locator: BlobLocator?) throws(BlobError) -> ZipEntry {
        let entry = ZipEntry(name: name)
        guard let locator else { return entry }
        guard let (container, selector) = self.sources.registry.member(at: locator) else {
            return entry.completed(by: locator.filePath)
        }
        guard case .name(let member) = selector else { return entry }
        if self.members[container] == nil {
            var members: [[UInt8]: BlobMember] = [:]
            let found = try self.sources.registry.openContainer(for: container, self.context)
            try BlobError.wrapping {
                try found.forEachMember(self.context) { member in
                    // Of several members of one name, reading reports an error.
                    members[member.name] = member
                    return true
                }
            }
            self.members[container] = members
        }
        guard let found = self.members[container]?[member] else { return entry }
        var known = ZipEntry(found)
        known.name = name
        if self.sources.decodes { known.checksum = nil }
        return known
    }
}

extension ZipComposer {
    /// Appends the files and folders in a folder.
    ///
    /// - Parameter prefix: The path of the folder in the zip; empty for none.
    mutating func appendFiles(in folder: [UInt8], below prefix: [UInt8]) throws(BlobError) {
        let files = FolderFiles(in: folder)
        if let error = files.errors.first { throw error }
        let slash = [UInt8(ascii: "/")]
        let (base, prefix) = (folder + slash, prefix.isEmpty ? [] : prefix + slash)
        if !prefix.isEmpty { try self.appendFolder(ZipEntry(name: prefix).completed(by: folder)) }
        for path in files.folders {
            try self.appendFolder(ZipEntry(name: prefix + path).completed(by: base + path))
        }
        for path in files.paths {
            let entry = ZipEntry(name: prefix + path).completed(by: base + path)
            try self.appendEntry(entry, source: FileSource(pathOfRegularFile: base + path))
        }
    }
}

extension BlobProvider {
    /// The scheme `zipped+`: the zip of the files in a folder, or of the members of an archive.
    ///
    /// - Parameter registry: Opens the archive.
    static func zipped(_ registry: BlobRegistry) -> BlobProvider {
        BlobProvider(
            .filter { source, context in
                var zip = ZipComposer()
                let path = source.locator?.filePath
                if let path, FileStatus(at: path.cString)?.isFolder == true {
                    try zip.appendFiles(in: path, below: [])
                } else {
                    try zip.appendMembers(of: registry.container(of: source, context: context), context: context)
                }
                let folder = path?.split(separator: UInt8(ascii: "/")).last.map { String(decoding: $0, as: UTF8.self) }
                let name = try? source.info(context).name ?? folder
                return try zip.body(name: (name ?? folder).map { "\($0).zip" }, context: context)
            }, schemes: ["zipped"])
    }
}
#endif
