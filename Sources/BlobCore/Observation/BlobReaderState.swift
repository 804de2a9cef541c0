/// What an event-driven ``BlobReader`` publishes about itself.
///
/// While ``hasBytesAvailable`` is true a read is worth it: it appends something, or changes this state. ``isAtEnd``
/// becomes true when all bytes have been read, not when the last one has arrived. ``isAtEnd`` and ``error`` are final.
public struct BlobReaderState: Equatable, Sendable {
    /// The source is open and its info is final.
    public var isOpenCompleted: Bool

    /// A read would not be in vain now.
    public var hasBytesAvailable: Bool

    /// All bytes were read and there will be no more.
    public var isAtEnd: Bool

    /// Why there will be no more, if it is not the end; the next read throws it.
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

    /// True when waiting for an event would be pointless: a read brings bytes, the end or an error.
    package var isReady: Bool { self.hasBytesAvailable || self.isAtEnd || self.error != nil }
}
