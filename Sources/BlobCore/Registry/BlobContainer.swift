/// A source with members in it, as a plugin of kind container makes it.
public protocol BlobContainer: Sendable {
    /// The member that `selector` names, as a source.
    ///
    /// Need not look: a member that is not there may also be an error of the source's info and opening.
    ///
    /// - Throws: ``BlobError/Code/notFound``, ``BlobError/Code/ambiguousMember``, and what reading the container
    ///   throws.
    func member(_ selector: BlobLocator.Selector, context: BlobContext) throws -> any BlobInputStreamDataSource

    /// Calls `body` with each member, in the container's order, as they are found.
    ///
    /// Memory does not grow with what was listed. Returning means that the listing is whole, and that every check on
    /// the way passed, or that `body` ended it.
    ///
    /// - Parameters:
    ///   - context: The terms.
    ///   - body: Gets a member; returns whether to go on.
    /// - Throws: What reading the container throws, after the members before it; and what `body` throws.
    func forEachMember(_ context: BlobContext, _ body: (BlobMember) throws -> Bool) throws
}
