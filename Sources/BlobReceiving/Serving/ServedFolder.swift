import BlobCore
import BlobPlatform

/// Bytes that are served at a path.
struct ServedBlob: Sendable {
    let source: any BlobInputStreamDataSource
    let name: [UInt8]
    /// The status of the local file with the bytes; nil for a source without a local file.
    let file: FileStatus?
}

/// A folder that is served at a path: on disk, or in a container.
protocol ServedFolder: Sendable {
    /// Returns the total number of entries of a folder in this one, and the entries in a part of the list sorted by name.
    ///
    /// - Throws: ``BlobError/Code/notFound`` if there is no such folder.
    func list(_ path: ArraySlice<[UInt8]>, _ part: Range<Int>, _ context: BlobContext) throws -> (
        count: Int, entries: [ServedEntry]
    )

    /// Returns the blob at a path, or the first one on the way; nil for a folder.
    ///
    /// - Throws: ``BlobError/Code/notFound`` if there is neither.
    func find(_ path: ArraySlice<[UInt8]>, _ context: BlobContext) throws -> (
        blob: ServedBlob, rest: ArraySlice<[UInt8]>
    )?
}

/// An entry of a served folder.
struct ServedEntry: Sendable {
    enum Kind: String, Sendable {
        case file, folder, link, other
    }

    let name: [UInt8]
    let kind: Kind
    var byteCount: Int64?
    /// The time in seconds since 1970.
    var modificationTime: Int64?
    /// The last component of the path if the name does not identify the entry.
    var component: [UInt8]?
}

extension BlobError {
    static let noSuchPath = BlobError(.notFound, "There is nothing at this path.")
}

/// A folder on disk. Links in it are listed but never followed, even if they are created during a request.
struct DiskFolder: ServedFolder {
    private let folder: Descriptor
    private let path: [UInt8]
    private let registry: BlobRegistry

    /// Opens the folder, following links in its own path.
    ///
    /// - Parameter registry: Resolves the locators of the files.
    init(_ path: [UInt8], _ registry: BlobRegistry) throws(BlobError) {
        (self.path, self.registry) = (path, registry)
        self.folder = try Descriptor(
            String(decoding: path, as: UTF8.self), O_RDONLY | O_DIRECTORY, doing: "Could not open the folder")
    }

    func list(_ path: ArraySlice<[UInt8]>, _ part: Range<Int>, _ context: BlobContext) throws -> (
        count: Int, entries: [ServedEntry]
    ) {
        let folder = try self.openFolder(path)
        let names = try folderEntries(".", in: folder.rawValue, doing: "Could not read the folder").map(\.name)
            .sorted { $0.lexicographicallyPrecedes($1) }
        let entries = names[part.clamped(to: names.indices)].compactMap { name in
            FileStatus(at: name.cString, in: folder.rawValue, followingLinks: false).map { status in
                let kind: ServedEntry.Kind =
                    status.isRegular ? .file : status.isFolder ? .folder : status.type == S_IFLNK ? .link : .other
                return ServedEntry(
                    name: name, kind: kind, byteCount: status.isRegular ? status.byteCount : nil,
                    modificationTime: status.modificationTime / 1_000_000_000)
            }
        }
        return (names.count, entries)
    }

    func find(_ path: ArraySlice<[UInt8]>, _ context: BlobContext) throws -> (
        blob: ServedBlob, rest: ArraySlice<[UInt8]>
    )? {
        var folder = self.folder
        for index in path.indices {
            try Self.check(path[index])
            guard let status = FileStatus(at: path[index].cString, in: folder.rawValue, followingLinks: false) else {
                throw BlobError.noSuchPath
            }
            if status.isFolder {
                folder = try Self.open(path[index], in: folder, O_DIRECTORY)
                continue
            }
            guard status.isRegular else { throw BlobError.noSuchPath }
            // The name may refer to another file by now, such as a FIFO.
            let file = try Self.open(path[index], in: folder, O_NONBLOCK)
            let opened = try file.status(named: "the file")
            guard opened.isRegular else { throw BlobError.noSuchPath }
            let whole = path[...index].reduce(self.path) { $0 + [UInt8(ascii: "/")] + $1 }
            let source = try OpenedFile(file, BlobLocator(filePath: whole), named: path[index], self.registry, context)
            return (ServedBlob(source: source, name: path[index], file: opened), path[(index + 1)...])
        }
        return nil
    }

    private func openFolder(_ path: ArraySlice<[UInt8]>) throws(BlobError) -> Descriptor {
        var folder = self.folder
        for name in path {
            try Self.check(name)
            folder = try Self.open(name, in: folder, O_DIRECTORY)
        }
        return folder
    }

    /// Checks that a component of a path is the name of an entry.
    private static func check(_ name: [UInt8]) throws(BlobError) {
        guard !name.contains(0), !name.contains(UInt8(ascii: "/")), !name.elementsEqual(".".utf8),
            !name.elementsEqual("..".utf8)
        else { throw BlobError.noSuchPath }
    }

    private static func open(_ name: [UInt8], in folder: Descriptor, _ flags: CInt) throws(BlobError) -> Descriptor {
        let descriptor = retryingOnInterrupt {
            openat(folder.rawValue, name.cString, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | flags)
        }
        if descriptor < 0, [ENOENT, ENOTDIR, ELOOP, ENAMETOOLONG].contains(errno) { throw BlobError.noSuchPath }
        return try Descriptor(descriptor, doing: "Could not open the file")
    }
}

/// A file that was found without following links, and stays the same file when it is opened again.
private struct OpenedFile: ForwardingSource {
    let base: any BlobInputStreamDataSource
    /// The locator of the file's path, under which indexes are stored.
    let locator: BlobLocator?
    private let file: Descriptor
    private let name: String

    init(
        _ file: Descriptor, _ locator: BlobLocator, named name: [UInt8], _ registry: BlobRegistry,
        _ context: BlobContext
    ) throws {
        // Opens the file of the descriptor, whatever is at its path by now.
        let path = BlobLocator(filePath: "/dev/fd/\(file.rawValue)".utf8)
        self.base = try registry.source(for: path, context: context)
        (self.file, self.locator, self.name) = (file, locator, String(decoding: name, as: UTF8.self))
    }

    func info(over base: BlobInfo) -> BlobInfo {
        var info = base
        info.name = self.name
        return info
    }

    func inspector(_ opening: BlobOpening) -> (any BlobInspector)? { NamedBytes { self.info(over: $0) } }
}

/// An inspector that passes all bytes and changes their info.
private struct NamedBytes: BlobInspector {
    let change: (BlobInfo) -> BlobInfo

    func info(of base: BlobInfo) -> BlobInfo { self.change(base) }
    func pass(_ bytes: RawSpan, at byteOffset: Int64, isLast: Bool) -> Range<Int> { 0..<bytes.byteCount }
}

/// The members of a container, as folders by the slashes in their names.
final class ContainerFolder: ServedFolder {
    /// A member, by the components of its name.
    private struct Member {
        let path: [UInt8]
        let index: Int
        let kind: ServedEntry.Kind
        let byteCount: Int64?
        let modificationTime: Int64?
        /// True if another member has the same path.
        var isAmbiguous = false
    }

    /// The maximum number of members.
    private static let maximumMemberCount = 10_000_000

    /// The maximum number of sources to keep. Beyond it, all are discarded.
    private static let maximumSourceCount = 256

    private let container: any BlobContainer
    private let file: FileStatus?
    /// The members in the order of their paths; nil until they are first needed.
    private let members = Locked<[Member]?>(nil)
    /// The sources of members by index, which know where their members are once they were read.
    private let sources = Locked<[Int: any BlobInputStreamDataSource]>([:])

    /// - Parameter file: The status of the local file with the container; nil for a container without a local file.
    init(_ container: any BlobContainer, _ file: FileStatus?) { (self.container, self.file) = (container, file) }

    func list(_ path: ArraySlice<[UInt8]>, _ part: Range<Int>, _ context: BlobContext) throws -> (
        count: Int, entries: [ServedEntry]
    ) {
        let members = try self.allMembers(context)
        var prefix = Array(path.joined(separator: [UInt8(ascii: "/")]))
        if !prefix.isEmpty { prefix.append(UInt8(ascii: "/")) }
        var (entries, index): ([ServedEntry], Int) = ([], Self.start(of: prefix, in: members))
        guard path.isEmpty || Self.hasFolder(prefix, in: members) else { throw BlobError.noSuchPath }
        var count = 0
        while index < members.count, members[index].path.starts(with: prefix) {
            let member = members[index]
            index += 1
            let rest = member.path.dropFirst(prefix.count)
            guard !rest.isEmpty else { continue }
            let isWanted = part.contains(count)
            if let slash = rest.firstIndex(of: UInt8(ascii: "/")) {
                let name = Array(rest[..<slash])
                if isWanted { entries.append(ServedEntry(name: name, kind: .folder)) }
                count += 1
                // Skips the other members of this folder: '0' follows '/'.
                index = Self.start(of: prefix + name + [UInt8(ascii: "0")], in: members)
                continue
            }
            if isWanted {
                var entry = ServedEntry(
                    name: Array(rest), kind: member.kind, byteCount: member.byteCount,
                    modificationTime: member.modificationTime)
                if member.isAmbiguous { entry.component = Array("@\(member.index)".utf8) }
                entries.append(entry)
            }
            count += 1
        }
        return (count, entries)
    }

    func find(_ path: ArraySlice<[UInt8]>, _ context: BlobContext) throws -> (
        blob: ServedBlob, rest: ArraySlice<[UInt8]>
    )? {
        guard !path.isEmpty else { return nil }
        let members = try self.allMembers(context)
        var end = path.endIndex
        while end > path.startIndex {
            let name = Array(path[..<end].joined(separator: [UInt8(ascii: "/")]))
            let place = Self.start(of: name, in: members)
            if place < members.count, members[place].path == name, members[place].kind == .file {
                guard !members[place].isAmbiguous else {
                    throw BlobError(.ambiguousMember, "Several members have this name; see the listing.")
                }
                return (try self.blob(members[place].index, path[end - 1], context), path[end...])
            }
            if end == path.endIndex, Self.hasFolder(name + [UInt8(ascii: "/")], in: members) { return nil }
            end -= 1
        }
        // A member whose name is not unique is named by its index, in place of the last component.
        if let last = path.last, last.first == UInt8(ascii: "@"),
            let index = Int(String(decoding: last.dropFirst(), as: UTF8.self)),
            let member = members.first(where: { $0.index == index }), member.kind == .file
        {
            let name = member.path.split(separator: UInt8(ascii: "/")).last.map { Array($0) } ?? last
            return (try self.blob(index, name, context), [])
        }
        throw BlobError.noSuchPath
    }

    private func blob(_ index: Int, _ name: [UInt8], _ context: BlobContext) throws -> ServedBlob {
        if let known = self.sources.withLock({ $0[index] }) {
            return ServedBlob(source: known, name: name, file: self.file)
        }
        let source = try self.container.member(.index(index), context: context)
        guard source.traits.contains([.repeatable, .concurrentReaders]) else {
            return ServedBlob(source: source, name: name, file: self.file)
        }
        self.sources.withLock { sources in
            if sources.count >= Self.maximumSourceCount { sources = [:] }
            sources[index] = source
        }
        return ServedBlob(source: source, name: name, file: self.file)
    }

    private static func hasFolder(_ prefix: [UInt8], in members: [Member]) -> Bool {
        let place = self.start(of: prefix, in: members)
        return place < members.count && members[place].path.starts(with: prefix)
    }

    /// Returns the index of the first member whose path is not before another path.
    private static func start(of path: [UInt8], in members: [Member]) -> Int {
        var range = 0..<members.count
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            range =
                members[middle].path.lexicographicallyPrecedes(path)
                ? middle + 1..<range.upperBound : range.lowerBound..<middle
        }
        return range.lowerBound
    }

    private func allMembers(_ context: BlobContext) throws -> [Member] {
        // Other requests wait for the first listing, outside the pool that it may need.
        try BlockingPool.runOutside {
            try self.members.withLock { members in
                if let members { return members }
                let listed = try self.listMembers(context)
                members = listed
                return listed
            }
        }
    }

    private func listMembers(_ context: BlobContext) throws -> [Member] {
        var members: [Member] = []
        try self.container.forEachMember(context) { member in
            guard members.count < Self.maximumMemberCount else {
                throw BlobError(
                    .limitExceeded, "The container has more members than the limit of \(Self.maximumMemberCount).")
            }
            let kind: ServedEntry.Kind =
                switch member.kind {
                case .file, .hardLink: .file
                case .directory: .folder
                case .symbolicLink: .link
                case .special: .other
                }
            var path = Self.path(of: member.name)
            // The container's own folder, as `./` in many tar archives.
            guard !path.isEmpty else { return true }
            if kind == .folder { path.append(UInt8(ascii: "/")) }
            members.append(
                Member(
                    path: path, index: member.index, kind: kind, byteCount: member.byteCount,
                    modificationTime: member.modificationTime.flatMap {
                        Int64(exactly: $0.timeIntervalSince1970.rounded())
                    }))
            return true
        }
        members.sort { $0.path == $1.path ? $0.index < $1.index : $0.path.lexicographicallyPrecedes($1.path) }
        for index in members.indices.dropFirst()
        where members[index].path == members[index - 1].path && members[index].kind != .folder {
            (members[index].isAmbiguous, members[index - 1].isAmbiguous) = (true, true)
        }
        return members
    }

    /// Returns a name without `.` and empty components, such as the beginning of `./etc/hosts`. A component `..`, which
    /// a URL cannot contain, is written as `%2E%2E`.
    private static func path(of name: [UInt8]) -> [UInt8] {
        let parts = name.split(separator: UInt8(ascii: "/")).filter { !$0.elementsEqual(".".utf8) }
        let names = parts.map { $0.elementsEqual("..".utf8) ? Array("%2E%2E".utf8) : Array($0) }
        return Array(names.joined(separator: [UInt8(ascii: "/")]))
    }
}
