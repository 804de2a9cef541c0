public import BlobCore

/// An archive that can be listed, searched and opened from several threads at once.
///
/// Copies of this value share the cached information about the archive. The second look-up in a tar builds a table of
/// its members in memory, about 30 bytes each; from then on, opening any member takes a look-up and one seek. The table
/// is also read from and written to an index file, according to ``BlobIndexPolicy``.
///
/// ```swift
/// let archive = try BlobArchive(BlobLocator("file:///logs.tar.gz"), registry: .standard)
/// let bytes = try archive.source(.name("2026/11/21.log")).data(upTo: 1 << 20)
/// ```
public struct BlobArchive: Sendable {
    /// The default limit of ``members(atMost:_:)``: 1,000,000 members.
    public static let defaultMaximumCount = 1_000_000

    private let container: any BlobContainer

    /// Creates the archive at a locator, applying the layers that the locator names.
    ///
    /// - Parameters:
    ///   - locator: The locator of the archive, with or without a prefix such as `archive+`, and without a selector.
    ///   - registry: The registry of formats.
    ///   - context: The context in which the format is detected; its index policy applies to the archive.
    /// - Throws: ``BlobError/Code/unsupported`` if the blob is not an archive; any error reading its beginning.
    public init(
        _ locator: BlobLocator, registry: BlobRegistry, context: BlobContext = BlobContext()
    ) throws(BlobError) {
        self.container = try registry.container(for: locator, context: context)
    }

    /// Creates an archive from a container.
    package init(_ container: any BlobContainer) { self.container = container }

    /// Creates an archive over its source, without reading anything.
    public init(
        _ source: any BlobInputStreamDataSource, format: ArchiveFormat, index: BlobIndexPolicy = .none,
        isolation: ArchiveIsolation = .helper
    ) {
        self.container = ArchiveContainer(source, format: format, index: index, isolation: isolation)
    }

    /// Calls `body` with each member, in the archive's order, until it returns false.
    ///
    /// - Throws: Any error reading the archive, after the members before it; any error thrown by `body`.
    public func forEachMember(
        _ context: BlobContext = BlobContext(), _ body: (BlobMember) throws -> Bool
    ) throws {
        try self.container.forEachMember(context, body)
    }

    /// Returns all members, in the archive's order.
    ///
    /// - Throws: ``BlobError/Code/limitExceeded`` if the archive has more than `limit` members; any error while
    ///   reading.
    public func members(
        atMost limit: Int = defaultMaximumCount, _ context: BlobContext = BlobContext()
    ) throws -> [BlobMember] {
        var members: [BlobMember] = []
        try self.container.forEachMember(context) { member in
            guard members.count < limit else {
                throw BlobError(.limitExceeded, "The archive has more members than the limit of \(limit).")
            }
            members.append(member)
            return true
        }
        return members
    }

    /// Returns the description of one member, of any kind.
    ///
    /// - Throws: ``BlobError/Code/notFound`` if no member matches; ``BlobError/Code/ambiguousMember`` if several
    ///   members share the name; any error while reading.
    public func member(
        _ selector: BlobLocator.Selector, _ context: BlobContext = BlobContext()
    ) throws -> BlobMember {
        let table = try (self.container as? ArchiveContainer)?.searchedTable(context)
        if let known = try? table?.record(of: selector) { return known.member }
        return try self.container.findMember(selector, context)
    }

    /// Returns a source of the bytes of one member.
    ///
    /// - Throws: Any error thrown by ``BlobContainer/member(_:context:)``; a missing member may throw only when the
    ///   source is opened.
    public func source(
        _ selector: BlobLocator.Selector, _ context: BlobContext = BlobContext()
    ) throws -> any BlobInputStreamDataSource {
        try self.container.member(selector, context: context)
    }

    /// Calls `body` with a source for each of several members, in the order of the archive.
    ///
    /// Members that are not found, and hard links to earlier members, come last.
    ///
    /// Makes one pass over an archive that is read from beginning to end, such as an archive in a filter. The checks at
    /// the end of the archive run once for all members, before this method returns, and not at the end of each source.
    /// Between two members, the method keeps the reader positioned after the first: an open base with its decoder, a
    /// buffer of 256 KiB, and about 50 bytes for each member passed over.
    ///
    /// ```swift
    /// let archive = try BlobArchive(BlobLocator("file:///logs.tar.gz"), registry: .standard)
    /// var names: [Int: Data] = [:]
    /// try archive.forEachSource(of: [.name("a.txt"), .name("b.txt")]) { position, source in
    ///     names[position] = try source.data(upTo: 1 << 20)
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - selectors: The members, in any order.
    ///   - context: The context of the job, in which the sources are opened.
    ///   - body: A closure that receives a position in `selectors` and the source, which is opened within the closure.
    /// - Throws: Any error thrown by `body`; any error reading the archive to its end, which casts doubt on all bytes
    ///   read; ``BlobError/Code/ambiguousMember`` if several members share one of the names.
    public func forEachSource(
        of selectors: [BlobLocator.Selector], _ context: BlobContext = BlobContext(),
        _ body: (_ position: Int, _ source: any BlobInputStreamDataSource) throws -> Void
    ) throws {
        guard let archive = self.container as? ArchiveContainer else {
            for (position, selector) in selectors.enumerated() {
                try body(position, self.container.member(selector, context: context))
            }
            return
        }
        try archive.read(selectors, context, body)
    }

    /// Calls `body` with each member and its source, in the order of the archive.
    ///
    /// Makes one pass over an archive that is read from beginning to end. The checks at the end of the archive run
    /// before this method returns. The source is valid only within `body`, and only for hard links and members of the
    /// kind ``BlobMember/Kind/file``.
    ///
    /// - Parameter isWanted: Returns true for the members that will be read, whose bytes are then requested in advance;
    ///   nil if most members will be read, so that the archive is read from beginning to end if possible.
    /// - Throws: Any error thrown by `body`; any error reading the archive, after the members before it.
    package func forEachSource(
        where isWanted: ((BlobMember) -> Bool)? = nil, _ context: BlobContext,
        _ body: (BlobMember, any BlobInputStreamDataSource) throws -> Void
    ) throws {
        if let archive = self.container as? ArchiveContainer {
            return try archive.forEachSource(where: isWanted, context, body)
        }
        try self.container.forEachMember(context) { member in
            try body(member, self.container.member(.index(member.index), context: context))
            return true
        }
    }

    /// True if several members are read fastest in one pass from the beginning of the archive to its end.
    package func isSequential(_ context: BlobContext) throws(BlobError) -> Bool {
        try (self.container as? ArchiveContainer)?.isSequential(context) ?? false
    }
}
