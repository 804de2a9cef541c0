/// A stream over an origin that publishes its readiness as a ``BlobObservable``, as data sources based on key-value
/// observing do.
///
/// The origin updates its state when bytes arrive, at the end and after an error; the stream never blocks.
private final class ObservedStream: BlobByteStream {
    private let state: BlobObservable<BlobReaderState>
    private let knownInfo: () -> BlobInfo
    private let readBytes: (inout OutputRawSpan) throws -> Void
    private let onClose: () -> Void
    private let slot = BlobWakerSlot()
    private let observation: BlobRegistration

    init(
        observing state: BlobObservable<BlobReaderState>, info: @escaping () -> BlobInfo,
        read: @escaping (inout OutputRawSpan) throws -> Void, close: @escaping () -> Void
    ) {
        self.state = state
        self.knownInfo = info
        self.readBytes = read
        self.onClose = close
        self.observation = state.onChange { [slot] in slot.fire() }
    }

    var info: BlobInfo? {
        get throws {
            let (isKnown, error) = self.state.withValue {
                ($0.isOpenCompleted || $0.hasBytesAvailable || $0.isAtEnd, $0.error)
            }
            if !isKnown, let error { throw error }
            return isKnown ? self.knownInfo() : nil
        }
    }

    var neverBlocks: Bool { true }
    var readiness: BlobWakerSlot? { self.slot }

    func read(at byteOffset: Int64, into output: inout OutputRawSpan) throws -> BlobReadResult {
        let before = self.state.value
        if try output.append(atMost: .max, self.readBytes) > 0 { return .bytes }
        if let error = before.error { throw error }
        return before.isAtEnd ? .end : .notYet
    }

    func close() {
        self.observation.cancel()
        self.onClose()
    }
}

extension BlobObservable<BlobReaderState> {
    /// Returns a body over an origin that publishes its readiness as this state. Reading it never blocks.
    ///
    /// The origin updates the state when bytes arrive, at the end and after an error.
    ///
    /// - Parameters:
    ///   - byteOffset: The offset of the first byte that `read` appends.
    ///   - info: The facts known now; final once `isOpenCompleted` of the state is true.
    ///   - read: A closure that appends bytes of the origin, on the reading thread: at least one while
    ///     `hasBytesAvailable` is true, none otherwise.
    ///   - close: A closure that is called once, when the reader closes.
    public func makeBody(
        startingAt byteOffset: Int64 = 0, info: @autoclosure @escaping () -> BlobInfo,
        read: @escaping (inout OutputRawSpan) throws -> Void, close: @escaping () -> Void = {}
    ) -> BlobBody {
        .stream(ObservedStream(observing: self, info: info, read: read, close: close), startingAt: byteOffset)
    }
}

/// The observable state of an event-driven origin, from which a body is created.
///
/// While ``hasBytesAvailable`` is true, a read appends bytes or changes this state. ``isAtEnd`` becomes true when all
/// bytes have been read, not when the last one has arrived. ``isAtEnd`` and ``error`` are final.
public struct BlobReaderState: Equatable, Sendable {
    /// True if the source is open and its info is final.
    public var isOpenCompleted: Bool

    /// True if a read would return bytes or the end.
    public var hasBytesAvailable: Bool

    /// True if all bytes have been read and no more will follow.
    public var isAtEnd: Bool

    /// The error that ended the bytes, which the next read throws; nil if no error occurred.
    public var error: BlobError?

    /// Creates a state; the default describes a reader that is still opening.
    public init(
        isOpenCompleted: Bool = false, hasBytesAvailable: Bool = false, isAtEnd: Bool = false, error: BlobError? = nil
    ) {
        self.isOpenCompleted = isOpenCompleted
        self.hasBytesAvailable = hasBytesAvailable
        self.isAtEnd = isAtEnd
        self.error = error
    }

    /// True if waiting for an event would be pointless: a read returns bytes or the end, or throws.
    package var isReady: Bool { self.hasBytesAvailable || self.isAtEnd || self.error != nil }
}
