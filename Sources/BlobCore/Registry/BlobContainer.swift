/// A container of members, which a provider of kind ``BlobProvider/Kind/container(_:)`` makes.
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
    /// An implementation need not look it up: a missing member may also be reported when the source is described or
    /// opened.
    ///
    /// - Throws: ``BlobError/Code/notFound``, ``BlobError/Code/ambiguousMember``, and the errors of reading the
    ///   container.
    func member(_ selector: BlobLocator.Selector, context: BlobContext) throws -> any BlobInputStreamDataSource

    /// Calls `body` with each member, in the container's order, as they are found.
    ///
    /// Memory does not grow with the number of members. When this returns, either the listing is complete and every
    /// check on the way passed, or `body` ended it.
    ///
    /// - Parameters:
    ///   - context: The context of the job.
    ///   - body: A closure that receives a member, and returns true to continue.
    /// - Throws: The errors of reading the container, after the members before them; and the errors of `body`.
    func forEachMember(_ context: BlobContext, _ body: (BlobMember) throws -> Bool) throws
}
