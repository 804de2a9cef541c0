/// The facts that a ``BlobOutputStream`` publishes about itself.
public struct BlobOutputStreamState: Equatable, Sendable {
    /// The steps of a stream's life. ``closed`` is final.
    public enum Phase: Sendable {
        /// Not opened yet.
        case notOpen
        /// Open; takes bytes.
        case open
        /// Failed, for good; see ``BlobOutputStreamState/error``.
        case failed
        /// Closed, for good.
        case closed
    }

    /// The step that the stream is in.
    public var phase = Phase.notOpen

    /// True when a write would not wait.
    public var hasSpaceAvailable = false

    /// Why the stream takes no more bytes, if it was not closed.
    public var error: BlobError?

    /// How many bytes were written.
    public var byteOffset: Int64 = 0

    /// Creates the state of a stream that was not opened yet.
    public init() {}

    /// True when `other` is the same but for how far the writing got, and whether it could go on at once.
    func differsOnlyInProgress(from other: Self) -> Bool {
        var copy = self
        (copy.byteOffset, copy.hasSpaceAvailable) = (other.byteOffset, other.hasSpaceAvailable)
        return copy == other
    }
}
