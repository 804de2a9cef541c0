/// A source or container that can keep an index of its content, so that any place in it is found at once.
public protocol BlobIndexing {
    /// Makes the index and writes it where ``BlobContext/index`` says; one that is there already and up to date stays.
    ///
    /// - Returns: Whether there is an index now. False when the policy keeps none, or the content cannot have one: it has
    ///   no random access, length or validator.
    /// - Throws: What reading and writing bring; what is wrong with the content, of which there is no index then.
    /// - Complexity: One pass over the content.
    func buildIndex(_ context: BlobContext) throws -> Bool
}
