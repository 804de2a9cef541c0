/// A container of members, created by a provider of kind ``BlobProvider/Kind/container(_:)``.
///
/// ```swift
/// let container = try registry.container(for: BlobLocator("file:///backup.tgz"))
/// try container.forEachMember(context) { member in
///     print(member.index, String(decoding: member.name, as: UTF8.self))
///     return true
/// }
/// let first = try container.member(.index(0), context: context)
/// ```
public protocol BlobContainer: Sendable {
    /// Returns the member that `selector` names, as a source.
    ///
    /// An implementation need not look it up: it may also report a missing member when the source is described or
    /// opened.
    ///
    /// - Throws: ``BlobError/Code/notFound``, ``BlobError/Code/ambiguousMember``, and the errors of reading the
    ///   container.
    func member(_ selector: BlobLocator.Selector, context: BlobContext) throws -> any BlobInputStreamDataSource

    /// Calls `body` with each member, in the container's order, as it is found.
    ///
    /// Memory does not grow with the number of members. When this returns, either the listing is complete and every
    /// check so far passed, or `body` ended it.
    ///
    /// - Parameters:
    ///   - context: The context of the job.
    ///   - body: A closure that receives a member, and returns true to continue.
    /// - Throws: The errors of reading the container, after the members before them; and the errors of `body`.
    func forEachMember(_ context: BlobContext, _ body: (BlobMember) throws -> Bool) throws
}

extension BlobContainer {
    /// Returns the member that `selector` names, as ``forEachMember(_:_:)`` lists it.
    ///
    /// - Throws: ``BlobError/Code/notFound``; ``BlobError/Code/ambiguousMember`` if several members have the name; the
    ///   errors of listing.
    /// - Complexity: Lists the members up to the one with the index, and all members for a name.
    public func findMember(
        _ selector: BlobLocator.Selector, _ context: BlobContext = BlobContext()
    ) throws -> BlobMember {
        var (found, count): (BlobMember?, Int) = (nil, 0)
        try self.forEachMember(context) { member in
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
        guard count <= 1 else { throw BlobError.ambiguousMemberError(found.name, count: count, first: found.index) }
        return found
    }
}

extension BlobError {
    /// The error for a member that a container does not have.
    public init(notFound selector: BlobLocator.Selector) {
        switch selector {
        case .name(let name): self.init(.notFound, "No member is named '\(BlobMember.printable(name))'.")
        case .index(let index): self.init(.notFound, "No member has the index \(index).")
        }
    }

    package static func ambiguousMemberError(_ name: [UInt8], count: Int, first: Int) -> BlobError {
        BlobError(
            .ambiguousMember,
            "\(count) members are named '\(BlobMember.printable(name))'; select one by its index, as in '@\(first)'."
        )
    }
}

/// A source with facts that ``BlobInfo`` does not cover, such as the number of members of a gzip or the permissions of
/// a file in an archive.
public protocol BlobDescribing: BlobInputStreamDataSource {
    /// Returns the facts in display order, without reading more than headers and indexes.
    ///
    /// - Returns: Names of a few words in lower case, the same for every blob of the format, with the unit if the fact
    ///   has one ("members", "restart point spacing in bytes"), and values: `String`, `Int64`, `Bool` or `Date`.
    /// - Throws: The errors of ``BlobInputStreamDataSource/describe(_:)``.
    func facts(_ context: BlobContext) throws -> [(name: String, value: any Encodable & Sendable)]
}

/// A source or container that can build an index, so that any part of it is found at once in later reads.
///
/// ``BlobContext/index`` determines where indexes are stored.
public protocol BlobIndexing: Sendable {
    /// Builds the index, reading as much as is needed, unless a valid index already exists.
    ///
    /// Reports the bytes that it reads from its base as ``BlobEvent/Kind/bytes``, and the index as
    /// ``BlobEvent/Kind/indexBuilt``.
    ///
    /// - Returns: True if an index exists now; false if an index is useless or not wanted.
    /// - Throws: The errors of reading and of writing the index, even those that ``BlobIndexPolicy/automatic``
    ///   otherwise ignores, because the index was requested.
    func buildIndex(_ context: BlobContext) throws -> Bool
}
