/// The facts that a ``BlobInputStream`` publishes about itself.
///
/// Every observer sees each phase, error and recovery. While it is slow, of the changes of nothing but ``byteOffset`` and
/// ``hasBytesAvailable`` only the last waits for it.
public struct BlobStreamState: Equatable, Sendable {
    /// The steps of a stream's life. ``closed`` is final.
    public enum Phase: Sendable {
        /// Not opened yet.
        case notOpen
        /// Being opened.
        case opening
        /// Open; reads bring bytes.
        case open
        /// All bytes were read and every check of the end passed. Opening again or setting the offset leaves it.
        case atEnd
        /// Failed, for good; see ``BlobStreamState/error``.
        case failed
        /// Closed, for good.
        case closed
    }

    /// The step that the stream is in.
    public var phase = Phase.notOpen

    /// The source was opened. Stays true at the end, after an error and after closing.
    public var isOpenCompleted = false

    /// A read would bring something without waiting for it. In synchronous mode over a source that blocks: the end has
    /// not been reached.
    public var hasBytesAvailable = false

    /// All bytes were read.
    public var isAtEnd = false

    /// Why there will be no more bytes, if it is not the end.
    public var error: BlobError?

    /// The offset of the next byte, from the start of the blob.
    public var byteOffset: Int64 = 0

    /// The length of the blob in bytes; nil as long as it is not known.
    public var byteCount: Int64?

    /// How often the source went on after its content became unreachable for a while.
    public var recoveries = 0

    /// The interruption that reading is in, if it is in one.
    public var interruption: Interruption?

    /// The steps from a loss of the content to its recovery.
    public enum Interruption: Sendable {
        /// The content changed under the reader, or went away.
        case invalidated
        /// Reading is being taken up again.
        case recovering
    }

    /// Creates the state of a stream that was not opened yet.
    public init() {}

    /// True when `other` is the same but for how far the reading got, and whether it could go on at once.
    func differsOnlyInProgress(from other: Self) -> Bool {
        var copy = self
        copy.byteOffset = other.byteOffset
        copy.hasBytesAvailable = other.hasBytesAvailable
        return copy == other
    }
}
