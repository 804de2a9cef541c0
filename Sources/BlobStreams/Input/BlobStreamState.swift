/// The observable state of a ``BlobInputStream``.
///
/// Every observer sees each phase, error, interruption and recovery. While an observer is slow, waiting changes of
/// ``byteOffset`` and ``hasBytesAvailable`` alone are coalesced into the last one.
public struct BlobStreamState: Equatable, Sendable {
    /// The phases of a stream's life. ``closed`` is final.
    public enum Phase: Sendable {
        /// Not opened yet.
        case notOpen
        /// Being opened.
        case opening
        /// Open; reads return bytes.
        case open
        /// All bytes were read and every check at the end passed. Opening again or setting the offset leaves this
        /// phase.
        case atEnd
        /// Failed permanently; see ``BlobStreamState/error``.
        case failed
        /// Closed permanently.
        case closed
    }

    /// The stages of an interruption, after which the source continues, or the stream fails.
    public enum Interruption: Sendable {
        /// The content or its place changed; whether it is still the same content is not known yet.
        case invalidated
        /// The source is looking for the content, or waits before it tries again.
        case recovering
    }

    /// The current phase of the stream.
    public var phase = Phase.notOpen

    /// True once the source was opened; also at the end, after an error and after closing. Opening again resets it.
    public var isOpenCompleted = false

    /// True when a read would return bytes without waiting. In synchronous mode over a source that blocks: true until
    /// the end is reached.
    public var hasBytesAvailable = false

    /// True when all bytes were read.
    public var isAtEnd = false

    /// The error that ended the stream; nil unless it failed.
    public var error: BlobError?

    /// The offset of the next byte, from the start of the blob.
    public var byteOffset: Int64 = 0

    /// The length of the blob in bytes; nil while it is unknown.
    public var byteCount: Int64?

    /// The number of times that the source recovered after its content was unreachable for a while.
    public var recoveries = 0

    /// The stage of an interruption; nil while there is none, and once the stream was moved, failed, ended or closed.
    ///
    /// Reported as soon as the source notices it, also while nobody reads.
    public var interruption: Interruption?

    /// True from the loss of the content until reading resumes.
    public var isRecovering: Bool { self.interruption != nil }

    package init() {}

    /// True when `other` differs at most in the offset and in whether bytes are available.
    func differsOnlyInProgress(from other: Self) -> Bool {
        var copy = self
        copy.byteOffset = other.byteOffset
        copy.hasBytesAvailable = other.hasBytesAvailable
        return copy == other
    }
}
