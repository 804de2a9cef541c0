/// The observable state of an event-driven origin, from which a body is made.
///
/// While ``hasBytesAvailable`` is true, a read appends bytes or changes this state. ``isAtEnd`` becomes true when all
/// bytes have been read, not when the last one has arrived. ``isAtEnd`` and ``error`` are final.
public struct BlobReaderState: Equatable, Sendable {
    /// True when the source is open and its info is final.
    public var isOpenCompleted: Bool

    /// True when a read would return bytes or the end.
    public var hasBytesAvailable: Bool

    /// True when all bytes were read and there will be no more.
    public var isAtEnd: Bool

    /// The error that ended the bytes, which the next read throws; nil when there is none.
    public var error: BlobError?

    /// Creates a state; the default is a reader that is still opening.
    public init(
        isOpenCompleted: Bool = false, hasBytesAvailable: Bool = false, isAtEnd: Bool = false, error: BlobError? = nil
    ) {
        self.isOpenCompleted = isOpenCompleted
        self.hasBytesAvailable = hasBytesAvailable
        self.isAtEnd = isAtEnd
        self.error = error
    }

    /// True when waiting for an event would be pointless: a read returns bytes or the end, or throws.
    package var isReady: Bool { self.hasBytesAvailable || self.isAtEnd || self.error != nil }
}
