import BlobStreamsStandard

/// Prints the locators of a list in its order, and reads the members of an archive without random access in one pass.
///
/// Members whose turn has not come wait in a temporary file without a name. Those that do not fit in the limit of
/// copies, ``BlobContext/spoolLimit``, are read on their own, as are those that cannot be read, when their turn comes.
struct ListCopier {
    private let arguments: [String]
    private let registry: BlobRegistry
    private let context: BlobContext
    private var groups: ArchiveGroups
    private var spool: UnlinkedFile?
    /// The parts of the spool, by the positions of their arguments.
    private var parts: [Int: Range<Int64>] = [:]
    /// The position of the next argument to print.
    private var next = 0
    private var openedAhead: OpenedAhead

    init(_ arguments: [String], _ registry: BlobRegistry, _ context: BlobContext) {
        self.arguments = arguments
        self.registry = registry
        self.context = context
        self.groups = ArchiveGroups(arguments, registry)
        self.openedAhead = OpenedAhead(arguments, registry, context)
    }

    mutating func copyAll(
        to copier: inout Copier<some ByteOutput>, _ containers: inout SharedContainers
    ) throws {
        while self.next < self.arguments.count {
            if let group = self.groups.remove(of: self.next), try self.copy(group, to: &copier) { continue }
            if !copier.isThrottled { self.openedAhead.open(from: self.next) }
            if let (source, reader) = self.openedAhead.take(self.next) {
                try self.copyNext(source, reader, to: &copier)
            } else {
                try self.copyNext(containers.source(self.arguments[self.next], self.context), to: &copier)
            }
        }
    }

    /// Reads the members of an archive without random access; returns false, and reads nothing, if it has that.
    private mutating func copy(
        _ group: ArchiveGroups.Group, to copier: inout Copier<some ByteOutput>
    ) throws -> Bool {
        let archive = try BlobArchive(group.archive, registry: self.registry, context: self.context)
        guard try archive.isSequential(self.context) else { return false }
        let start = self.next
        try archive.forEachSource(of: group.members.map(\.selector), self.context) { number, source in
            let position = group.members[number].position
            if position == self.next {
                try self.copyNext(source, to: &copier)
            } else {
                try self.keep(source, position)
            }
        }
        return self.next > start
    }

    /// Prints the next argument, and those after it that wait.
    private mutating func copyNext(
        _ source: any BlobInputStreamDataSource, _ opened: BlobGuardedReader? = nil,
        to copier: inout Copier<some ByteOutput>
    ) throws {
        try copier.copy(source, matching: nil, opened: opened)
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
            guard start + (reader.info.byteCount ?? 0) <= self.context.spoolLimit else { return }
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
