import BlobStreamsStandard

/// Prints the locators of a list in its order, and reads the members of an archive without random access in one pass.
///
/// Members whose turn has not come wait in a temporary file without a name. Those that do not fit in the limit of
/// copies, ``BlobContext/spoolLimit``, are read on their own, as are those that cannot be read, when their turn comes.
/// A source of which no byte can be read is reported, and the others are printed.
struct ListCopier {
    private let list: ArgumentList
    private let arguments: [String]
    private let sources: ArgumentSources
    private let context: BlobContext
    private var groups: ArchiveGroups
    private var spool: UnlinkedFile?
    /// The parts of the spool, by the positions of their arguments.
    private var parts: [Int: Range<Int64>] = [:]
    /// The position of the next argument to print.
    private var next = 0
    private var openedAhead: OpenedAhead

    init(_ list: ArgumentList, _ sources: ArgumentSources, _ context: BlobContext) {
        let arguments = list.texts
        (self.list, self.arguments) = (list, arguments)
        self.sources = sources
        self.context = context
        self.groups = ArchiveGroups(arguments, sources.registry)
        self.openedAhead = OpenedAhead(sources.decodes ? [] : arguments, sources.registry, context)
    }

    mutating func copyAll(
        to copier: inout Copier<some ByteOutput>, _ containers: inout SharedContainers,
        _ failures: inout SourceFailures
    ) throws {
        while self.next < self.arguments.count {
            let (position, byteCount) = (self.next, copier.written)
            do {
                if let group = self.groups.remove(of: position), try self.copy(group, to: &copier, &failures) {
                    continue
                }
                if let selection = self.sources.registry.pipedSelection(self.arguments[position], self.context) {
                    try self.copy(selection, to: &copier)
                    continue
                }
                if !copier.isThrottled { self.openedAhead.open(from: position) }
                if let (source, reader) = self.openedAhead.take(position) {
                    try self.copyNext(source, reader, to: &copier, &failures)
                } else {
                    let source = try containers.source(self.arguments[position], self.context)
                    try self.copyNext(source, to: &copier, &failures)
                }
            } catch {
                // A part of a source must not be followed by another one, nor must an error be reported twice.
                guard copier.written == byteCount, self.next == position else { throw error }
                try failures.note(self.list.naming(BlobError(wrapping: error), position))
                self.next += 1
            }
        }
    }

    /// Reads the members of an archive without random access; returns false, and reads nothing, if it has that.
    private mutating func copy(
        _ group: ArchiveGroups.Group, to copier: inout Copier<some ByteOutput>, _ failures: inout SourceFailures
    ) throws -> Bool {
        let (registry, locator) = (self.sources.registry, group.archive)
        let archive = try registry.openArchive(at: locator, self.context)
        guard try archive.isSequential(self.context) else { return false }
        let start = self.next
        try archive.forEachSource(of: group.members.map(\.selector), self.context) { number, source in
            let (position, selector) = group.members[number]
            let source = try self.sources.member(selector, source, self.context) {
                try registry.openContainer(for: locator, $0)
            }
            if position == self.next {
                try self.copyNext(source, to: &copier, &failures)
            } else {
                try self.keep(source, position)
            }
        }
        return self.next > start
    }

    /// Prints the members of a pattern, as the next argument.
    private mutating func copy(
        _ selection: BlobRegistry.MemberSelection, to copier: inout Copier<some ByteOutput>
    ) throws {
        try self.sources.registry.forEachMember(of: selection, self.context) { _, source in
            try copier.copy(self.sources.decoded(source, self.context), matching: nil)
        }
        self.next += 1
    }

    /// Prints the next argument, and those after it that wait.
    private mutating func copyNext(
        _ source: any BlobInputStreamDataSource, _ opened: BlobReader? = nil,
        to copier: inout Copier<some ByteOutput>, _ failures: inout SourceFailures
    ) throws {
        let byteCount = copier.written
        do {
            try copier.copy(source, matching: nil, opened: opened)
        } catch {
            let error = self.list.naming(BlobError(wrapping: error), self.next)
            guard copier.written == byteCount else { throw error }
            try failures.note(error)
        }
        self.next += 1
        while let spool, let part = self.parts.removeValue(forKey: self.next) {
            try copier.copy(Self.source(of: part, in: spool), matching: nil)
            self.next += 1
        }
    }

    private static func source(of part: Range<Int64>, in spool: UnlinkedFile) -> any BlobInputStreamDataSource {
        let whole = ClosureSource(info: BlobInfo(byteCount: spool.byteCount, isRandomAccess: true)) {
            byteOffset, output, _ in
            try spool.read(into: &output, at: byteOffset)
        }
        return whole.slice(part)
    }

    /// Copies a member to the spool, unless it cannot be read or does not fit.
    private mutating func keep(_ source: any BlobInputStreamDataSource, _ position: Int) throws {
        let spool = try self.spool ?? UnlinkedFile()
        self.spool = spool
        let start = spool.byteCount
        do {
            let reader = try source.open(context: self.context)
            defer { reader.close() }
            guard reader.info.byteCount ?? 0 <= self.context.spoolLimit - start else { return }
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Copying.bufferByteCount, alignment: 4096)
            defer { buffer.deallocate() }
            while case let count = try reader.readWaiting(into: buffer), count > 0 {
                guard spool.byteCount + Int64(count) <= self.context.spoolLimit else { return }
                try spool.append(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            }
            self.parts[position] = start..<spool.byteCount
        } catch {
            // The turn of this member has not come: its own reading reports the error.
            try self.context.check()
        }
    }
}
