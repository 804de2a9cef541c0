/// The observable state of a `BlobOutputStream`.
package struct BlobOutputStreamState: Equatable, Sendable {
    /// The phases of a stream's life. `closed` is final.
    package enum Phase: Sendable {
        /// Not opened yet.
        case notOpen
        /// Open; accepts bytes.
        case open
        /// Failed permanently; see `error`.
        case failed
        /// Closed permanently.
        case closed
    }

    /// The current phase of the stream.
    package var phase = Phase.notOpen

    /// True when a write would not wait.
    package var hasSpaceAvailable = false

    /// The error that ended the stream; nil unless it failed.
    package var error: BlobError?

    /// The number of bytes written.
    package var byteOffset: Int64 = 0

    package init() {}

    /// True when `other` differs at most in the number of bytes written and in whether space is available.
    func differsOnlyInProgress(from other: Self) -> Bool {
        var copy = self
        (copy.byteOffset, copy.hasSpaceAvailable) = (other.byteOffset, other.hasSpaceAvailable)
        return copy == other
    }
}
