/// A source or container that can make an index, so that any part of it is found at once the next time.
///
/// ``BlobContext/index`` says where indexes are kept.
public protocol BlobIndexing: Sendable {
    /// Makes the index, reading as much as is needed, unless there is one already that is valid.
    ///
    /// Reports how many bytes of its base it has read as ``BlobEvent/bytes(_:)``, and what it made as
    /// ``BlobEvent/indexBuilt(byteCount:)``.
    ///
    /// - Returns: Whether there is an index now; false when none is of use, or none is wanted.
    /// - Throws: What reading throws, and what writing the index throws, also when ``BlobIndexPolicy/automatic`` would
    ///   have it ignored: somebody asked for it.
    func buildIndex(_ context: BlobContext) throws -> Bool
}
