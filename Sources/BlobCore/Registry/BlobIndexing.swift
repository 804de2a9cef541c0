/// A source or container that can build an index, so that any part of it is found at once the next time.
///
/// ``BlobContext/index`` determines where indexes are kept.
public protocol BlobIndexing: Sendable {
    /// Builds the index, reading as much as is needed, unless there is already a valid one.
    ///
    /// Reports the bytes that it reads of its base as ``BlobEvent/Kind/bytes``, and the index as
    /// ``BlobEvent/Kind/indexBuilt``.
    ///
    /// - Returns: True when there is an index now; false when an index is of no use or not wanted.
    /// - Throws: The errors of reading and of writing the index, even those that ``BlobIndexPolicy/automatic``
    ///   otherwise ignores, because the index was requested.
    func buildIndex(_ context: BlobContext) throws -> Bool
}
