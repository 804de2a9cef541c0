import BlobStreams

/// An archive that is listed, looked up in and opened, from several threads at once.
///
/// What was learnt of it is kept as long as a copy of this value: the second look-up in a tar makes a table of its
/// members in memory, some 30 bytes each, and from then on any member costs a look-up and one seek. The same table is
/// used from, and left in, an index file, as ``BlobIndexPolicy`` says.
///
/// ```swift
/// let archive = try BlobArchive(BlobLocator("file:///logs.tar.gz"), registry: .standard)
/// let bytes = try archive.source(.name("2026/11/21.log")).data(upTo: 1 << 20)
/// ```
public struct BlobArchive: Sendable {
    /// How many members ``members(atMost:_:)`` gives unless it is told otherwise.
    public static let defaultMaximumCount = 1_000_000

    private let container: any BlobContainer

    /// The archive at a locator, whatever is around it.
    ///
    /// - Parameters:
    ///   - locator: Of the archive, with or without `archive+` and the like, and without a selector in it.
    ///   - registry: What is known of formats.
    ///   - context: The terms of finding out what it is; its index policy is that of the archive.
    /// - Throws: ``BlobError/Code/unsupported`` when it is no archive, and what reading its beginning throws.
    public init(
        _ locator: BlobLocator, registry: BlobRegistry, context: BlobContext = BlobContext()
    ) throws(BlobError) {
        self.container = try registry.container(for: locator, context: context)
    }

    /// The archive that a source is; nothing is read yet.
    public init(
        _ source: any BlobInputStreamDataSource, format: ArchiveFormat, index: BlobIndexPolicy = .none
    ) {
        self.container = ArchiveContainer(source, format: format, index: index)
    }

    /// Calls `body` with each member, in the archive's order, until it returns false.
    ///
    /// - Throws: What reading the archive throws, after the members before it; and what `body` throws.
    public func forEachMember(
        _ context: BlobContext = BlobContext(), _ body: (BlobMember) throws -> Bool
    ) throws {
        try self.container.forEachMember(context, body)
    }

    /// All members, in the archive's order.
    ///
    /// - Throws: ``BlobError/Code/limitExceeded`` when there are more than `limit`, and what reading throws.
    public func members(
        atMost limit: Int = defaultMaximumCount, _ context: BlobContext = BlobContext()
    ) throws -> [BlobMember] {
        var members: [BlobMember] = []
        try self.container.forEachMember(context) { member in
            guard members.count < limit else {
                throw BlobError(.limitExceeded, "There are more members than the limit of \(limit).")
            }
            members.append(member)
            return true
        }
        return members
    }

    /// What the archive says of one member, of any kind.
    ///
    /// - Throws: ``BlobError/Code/notFound``, ``BlobError/Code/ambiguousMember``, and what reading throws.
    public func member(
        _ selector: BlobLocator.Selector, _ context: BlobContext = BlobContext()
    ) throws -> BlobMember {
        let table = try (self.container as? ArchiveContainer)?.searchedTable(context)
        if let known = try? table?.record(of: selector) { return known.member }
        var (found, count): (BlobMember?, Int) = (nil, 0)
        try self.container.forEachMember(context) { member in
            switch selector {
            case .index(let index):
                found = member.index == index ? member : nil
                return found == nil
            case .name(let name):
                guard member.name == name else { return true }
                found = found ?? member
                count += 1
                return true
            }
        }
        guard let found else { throw BlobError(notFound: selector) }
        guard count <= 1 else { throw BlobError.ambiguous(found.name, count: count, first: found.index) }
        return found
    }

    /// The bytes of one member, as a source.
    ///
    /// - Throws: What ``BlobContainer/member(_:context:)`` throws; whether there is such a member may also show only
    ///   when the source is opened.
    public func source(
        _ selector: BlobLocator.Selector, _ context: BlobContext = BlobContext()
    ) throws -> any BlobInputStreamDataSource {
        try self.container.member(selector, context: context)
    }
}
