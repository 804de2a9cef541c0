/// A reader over an origin that publishes its readiness as a ``BlobObservable``, as data sources based on key-value
/// observing do.
///
/// The origin updates its state when bytes arrive, at the end and after an error; the reader never blocks.
final class ObservedReader: BlobPluginReader {
    private let state: BlobObservable<BlobReaderState>
    private let knownInfo: () -> BlobInfo
    private let readBytes: (inout OutputRawSpan) throws -> Void
    private let onClose: () -> Void
    private let waker = Locked<BlobWaker?>(nil)
    private var observation: BlobRegistration?
    private var isClosed = false

    init(
        observing state: BlobObservable<BlobReaderState>, info: @escaping () -> BlobInfo,
        read: @escaping (inout OutputRawSpan) throws -> Void, close: @escaping () -> Void
    ) {
        self.state = state
        self.knownInfo = info
        self.readBytes = read
        self.onClose = close
        let waker = self.waker
        self.observation = state.onChange { waker.take()?.wake() }
    }

    deinit { self.close() }

    /// The facts known now.
    var info: BlobInfo { self.knownInfo() }

    /// True once the state shows that opening is completed.
    var isOpen: Bool { self.state.withValue { $0.isOpenCompleted || $0.hasBytesAvailable || $0.isAtEnd } }

    /// True: the state shows when bytes are available.
    var neverBlocks: Bool { true }

    /// Reads the available bytes.
    func read(into output: inout OutputRawSpan) throws -> BlobReadResult {
        guard !self.isClosed else { throw BlobError(.closed, "The reader is closed.") }
        let before = self.state.value
        if try output.append(atMost: .max, self.readBytes) > 0 { return .bytes }
        if let error = before.error { throw error }
        return before.isAtEnd ? .end : .notYet
    }

    /// Registers a waker that is called at the next change of the state, or at once when a read is worth trying
    /// already.
    func whenReadable(_ waker: BlobWaker) {
        self.waker.withLock { $0 = self.isClosed ? nil : waker }
        // Checked after the waker was stored, so that no change in between is missed.
        if self.state.withValue({ $0.isReady }) { self.waker.take()?.wake() }
    }

    /// Ends the observation and closes the origin.
    func close() {
        guard !self.isClosed else { return }
        self.isClosed = true
        self.observation?.cancel()
        self.waker.withLock { $0 = nil }
        self.onClose()
    }
}

extension BlobObservable<BlobReaderState> {
    /// Returns a reader over an origin that publishes its readiness as this state. It never blocks.
    ///
    /// The origin updates the state when bytes arrive, at the end and after an error.
    ///
    /// - Parameters:
    ///   - info: The facts known now; final once `isOpenCompleted` of the state is true.
    ///   - read: A closure that appends bytes of the origin, on the reading thread: at least one while
    ///     `hasBytesAvailable` is true, none otherwise.
    ///   - close: A closure that is called once, when the reader closes.
    public func makeReader(
        info: @autoclosure @escaping () -> BlobInfo, read: @escaping (inout OutputRawSpan) throws -> Void,
        close: @escaping () -> Void = {}
    ) -> any BlobPluginReader {
        ObservedReader(observing: self, info: info, read: read, close: close)
    }
}
