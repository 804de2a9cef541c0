/// What a job reports on its way, besides bytes. New cases may come: give a `switch` a `default`.
public enum BlobEvent: Hashable, Sendable {
    /// This many more bytes passed a ``CountingSource``, or were read to make an index.
    case bytes(Int)
    /// The content changed under the reader at this byte offset.
    case invalidated(byteOffset: Int64)
    /// Reading goes on after an interruption, from this byte offset.
    case recovered(byteOffset: Int64)
    /// An index for random access was built; its size in bytes.
    case indexBuilt(byteCount: Int64)
    /// Reading is being taken up again after an interruption, at this byte offset.
    case recovering(byteOffset: Int64)
    /// A call that may block waits for a thread: as many as there may be are blocked by others.
    case waitingForThread
}
