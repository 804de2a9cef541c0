#if Command
import BlobStreamsStandard

/// Prints the sources of a list in order; reads the members of an archive without random access in one pass.
///
/// Members whose turn has not come are stored in an unnamed temporary file. Members that exceed the limit for copies,
/// ``BlobContext/spoolLimit``, or that cannot be read are read separately when their turn comes. If a source fails
/// before its first byte, the error is reported and the other sources are still printed.
struct ListCopier {
    private let list: ArgumentList
    private let arguments: [String]
    private let sources: ArgumentSources
    private let containers: SharedContainers
    private let copier: Copier
    private let failures: SourceFailures
    private let context: BlobContext
    private var groups: ArchiveGroups
    private var spool: UnlinkedFile?
    /// The ranges in the spool, keyed by the positions of their arguments.
    private var parts: [Int: Range<Int64>] = [:]
    /// The position of the next argument to print.
    private var nextPosition = 0

    init(
        _ list: ArgumentList, _ containers: SharedContainers, _ copier: Copier, _ failures: SourceFailures,
        _ context: BlobContext
    ) {
        containers.sources.prefetched = PrefetchedSources(list.texts, containers.sources.registry)
        (self.list, self.arguments, self.sources) = (list, list.texts, containers.sources)
        (self.containers, self.copier, self.failures, self.context) = (containers, copier, failures, context)
        self.groups = ArchiveGroups(list.texts, self.sources.registry)
    }

    mutating func copyAll() throws {
        while self.nextPosition < self.arguments.count {
            let (position, byteCount) = (self.nextPosition, self.copier.writtenByteCount)
            do {
                if let group = self.groups.remove(of: position), try self.copy(group) { continue }
                if let selection = self.sources.registry.pipedSelection(self.arguments[position], self.context) {
                    try self.copy(selection)
                    continue
                }
                try self.copyNext(self.containers.source(self.arguments[position]))
            } catch {
                // Another source must not follow a partly printed one, and no error may be reported twice.
                guard self.copier.writtenByteCount == byteCount, self.nextPosition == position else { throw error }
                try self.failures.record(self.list.naming(error, position))
                self.nextPosition += 1
            }
        }
    }

    /// Reads the members of an archive in one pass; returns false without reading anything if the archive has random
    /// access.
    private mutating func copy(_ group: ArchiveGroups.Group) throws -> Bool {
        let archive = try self.sources.registry.openArchive(at: group.archive, self.context)
        guard try archive.isSequential(self.context) else {
            try self.containers.prepare(group)
            return false
        }
        let start = self.nextPosition
        try group.forEachSource(in: archive, self.sources, self.context) { position, makeSource in
            if position == self.nextPosition {
                try self.copyNext(makeSource())
            } else {
                try self.keep(makeSource(), position)
            }
        }
        return self.nextPosition > start
    }

    /// Prints the members that a pattern selects, as the next argument.
    private mutating func copy(_ selection: BlobRegistry.MemberSelection) throws {
        try self.sources.registry.forEachMember(of: selection, self.context) { _, source in
            try self.copier.copy(self.sources.decoded(source, self.context))
        }
        self.nextPosition += 1
    }

    /// Prints the next argument and the stored arguments that follow it.
    private mutating func copyNext(_ source: any BlobInputStreamDataSource) throws {
        let byteCount = self.copier.writtenByteCount
        do {
            try self.copier.copy(source)
        } catch {
            let error = self.list.naming(error, self.nextPosition)
            guard self.copier.writtenByteCount == byteCount else { throw error }
            try self.failures.record(error)
        }
        self.nextPosition += 1
        while let spool, let part = self.parts.removeValue(forKey: self.nextPosition) {
            try self.copier.copy(Self.source(of: part, in: spool))
            self.nextPosition += 1
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
            let room = self.context.spoolLimit - start
            guard try source.info(self.context).byteCount ?? 0 <= room else { return }
            try Copier(spool, limit: room, self.context).copy(source)
            self.parts[position] = start..<spool.byteCount
        } catch {
            // This member's turn has not come; reading it then will report the error.
            try self.context.check()
        }
    }
}

extension UnlinkedFile: ByteOutput {
    func write(_ bytes: UnsafeRawBufferPointer) throws(BlobError) { try self.append(bytes) }
}
#endif
