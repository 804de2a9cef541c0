#if Command
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
    private let containers: SharedContainers
    private let copier: Copier
    private let failures: SourceFailures
    private let context: BlobContext
    private var groups: ArchiveGroups
    private var spool: UnlinkedFile?
    /// The parts of the spool, by the positions of their arguments.
    private var parts: [Int: Range<Int64>] = [:]
    /// The position of the next argument to print.
    private var next = 0
    private var openedAhead: OpenedAhead

    init(
        _ list: ArgumentList, _ containers: SharedContainers, _ copier: Copier, _ failures: SourceFailures,
        _ context: BlobContext
    ) {
        (self.list, self.arguments, self.sources) = (list, list.texts, containers.sources)
        (self.containers, self.copier, self.failures, self.context) = (containers, copier, failures, context)
        self.groups = ArchiveGroups(list.texts, self.sources.registry)
        self.openedAhead = OpenedAhead(self.sources.decodes ? [] : list.texts, self.sources.registry, context)
    }

    mutating func copyAll() throws {
        while self.next < self.arguments.count {
            let (position, byteCount) = (self.next, self.copier.written)
            do {
                if let group = self.groups.remove(of: position), try self.copy(group) { continue }
                if let selection = self.sources.registry.pipedSelection(self.arguments[position], self.context) {
                    try self.copy(selection)
                    continue
                }
                if !self.copier.isThrottled { self.openedAhead.open(from: position) }
                if let (source, reader) = self.openedAhead.take(position) {
                    try self.copyNext(source, reader)
                } else {
                    try self.copyNext(self.containers.source(self.arguments[position]))
                }
            } catch {
                // A part of a source must not be followed by another one, nor must an error be reported twice.
                guard self.copier.written == byteCount, self.next == position else { throw error }
                try self.failures.note(self.list.naming(error, position))
                self.next += 1
            }
        }
    }

    /// Reads the members of an archive without random access; returns false, and reads nothing, if it has that.
    private mutating func copy(_ group: ArchiveGroups.Group) throws -> Bool {
        let archive = try self.sources.registry.openArchive(at: group.archive, self.context)
        guard try archive.isSequential(self.context) else { return false }
        let start = self.next
        try group.forEachSource(in: archive, self.sources, self.context) { position, makeSource in
            if position == self.next {
                try self.copyNext(makeSource())
            } else {
                try self.keep(makeSource(), position)
            }
        }
        return self.next > start
    }

    /// Prints the members of a pattern, as the next argument.
    private mutating func copy(_ selection: BlobRegistry.MemberSelection) throws {
        try self.sources.registry.forEachMember(of: selection, self.context) { _, source in
            try self.copier.copy(self.sources.decoded(source, self.context))
        }
        self.next += 1
    }

    /// Prints the next argument, and those after it that wait.
    private mutating func copyNext(_ source: any BlobInputStreamDataSource, _ opened: BlobReader? = nil) throws {
        let byteCount = self.copier.written
        do {
            try self.copier.copy(source, opened: opened)
        } catch {
            let error = self.list.naming(error, self.next)
            guard self.copier.written == byteCount else { throw error }
            try self.failures.note(error)
        }
        self.next += 1
        while let spool, let part = self.parts.removeValue(forKey: self.next) {
            try self.copier.copy(Self.source(of: part, in: spool))
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
            let room = self.context.spoolLimit - start
            guard try source.info(self.context).byteCount ?? 0 <= room else { return }
            try Copier(spool, limit: room, progress: .never, self.context).copy(source)
            self.parts[position] = start..<spool.byteCount
        } catch {
            // The turn of this member has not come: its own reading reports the error.
            try self.context.check()
        }
    }
}

/// The next sources of a list that are on the network: their requests are under way while others are printed.
///
/// A source that cannot be opened yet is opened when its turn comes, which reports the error.
struct OpenedAhead {
    /// The number of sources that are opened at once: each keeps a connection and one window of 64 KiB.
    private static let maximumCount = 48

    /// The age at which a reader is closed, and another source is opened: the server may have lost patience.
    private static let maximumAge = Duration.seconds(5)

    private let arguments: [String]
    private let registry: BlobRegistry
    private let context: BlobContext
    private var readers: [Int: (source: any BlobInputStreamDataSource, reader: BlobReader, since: Moment)] = [:]
    /// The position of the next argument to look at.
    private var next = 0

    init(_ arguments: [String], _ registry: BlobRegistry, _ context: BlobContext) {
        (self.arguments, self.registry, self.context) = (arguments, registry, context)
    }

    /// Opens the sources from a position on.
    mutating func open(from position: Int) {
        self.next = max(self.next, position)
        while self.next < min(position + Self.maximumCount, self.arguments.count) {
            if let source = self.source(self.next), let reader = try? source.open(context: self.context) {
                reader.whenReadable(BlobWaker {})  // Makes the request.
                self.readers[self.next] = (source, reader, .now)
            }
            self.next += 1
        }
    }

    /// Returns the source of an argument with its reader; nil when it is to be opened now.
    mutating func take(_ position: Int) -> (any BlobInputStreamDataSource, BlobReader)? {
        guard let (source, reader, since) = self.readers.removeValue(forKey: position) else { return nil }
        guard since.instant + Self.maximumAge < .now else { return (source, reader) }
        reader.close()
        return nil
    }

    /// Returns the source of an argument, if its readers do not block, and an unused reader leaves no trace.
    private func source(_ position: Int) -> (any BlobInputStreamDataSource)? {
        // A path has no scheme.
        guard self.arguments[position].utf8.contains(UInt8(ascii: ":")),
            let locator = try? self.registry.locator(for: self.arguments[position]), locator.selectors.isEmpty,
            let source = try? self.registry.source(for: locator, context: self.context),
            source.traits.isSuperset(of: [.neverBlocks, .repeatable, .concurrentReaders])
        else { return nil }
        return source
    }
}

extension UnlinkedFile: ByteOutput {
    func write(_ bytes: UnsafeRawBufferPointer) throws(BlobError) { try self.append(bytes) }
}
#endif
