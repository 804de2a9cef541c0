/// The part of a ``ReadAheadReader`` that its threads share.
final class ReadAhead: @unchecked Sendable {  // Safe: `isBusy` gives `reader` to one thread at a time.
    enum Next {
        case window(Window)
        case end
        case notYet
    }

    private struct State {
        var info: BlobInfo
        var isOpen = false
        var windows: [Window] = []
        var ending: Result<Void, BlobError>?
        /// True while a job runs or is scheduled, which alone uses the reader. Otherwise there are windows or an
        /// ending, or a reader that never blocks and has not been read yet.
        var isBusy = true
        var isClosed = false
        var windowByteCount: Int
        var waker: BlobWaker?
    }

    /// The number of windows: one can be filled while another is consumed.
    private static let windowCount = 2

    private let state: Locked<State>
    private let windowByteCounts: ClosedRange<Int>
    private let context: BlobContext
    private let open: @Sendable (BlobContext) throws -> any BlobPluginReader
    private var reader: (any BlobPluginReader)?

    init(
        _ info: BlobInfo, _ windowByteCounts: ClosedRange<Int>, _ context: BlobContext,
        _ open: @escaping @Sendable (BlobContext) throws -> any BlobPluginReader
    ) {
        self.state = Locked(State(info: info, windowByteCount: windowByteCounts.lowerBound))
        self.windowByteCounts = windowByteCounts
        self.context = context
        self.open = open
    }

    // No job is running, because each retains this object.
    deinit { self.reader?.close() }

    var info: BlobInfo { self.state.withLock { $0.info } }
    var isOpen: Bool { self.state.withLock { $0.isOpen } }

    // MARK: The consumer's side

    func next() throws -> Next {
        let (next, mustFill) = try self.state.withLock { state throws -> (Next, Bool) in
            guard !state.isClosed else { throw BlobError(.closed, "The reader is closed.") }
            let window = state.windows.isEmpty ? nil : state.windows.removeFirst()
            if let ending = state.ending {
                if let window { return (.window(window), false) }
                try ending.get()
                return (.end, false)
            }
            defer { state.isBusy = true }
            return (window.map { .window($0) } ?? .notYet, !state.isBusy)
        }
        if mustFill { self.run(on: .reads) { self.fill() } }
        return next
    }

    func whenReadable(_ waker: BlobWaker) {
        let isReadable = self.state.withLock { state in
            if state.isClosed { return false }
            let isReadable = !state.windows.isEmpty || state.ending != nil || !state.isBusy
            state.waker = isReadable ? nil : waker
            // The consumer is faster than the reads: larger reads cost less for each byte.
            if !isReadable, state.isOpen {
                state.windowByteCount = min(state.windowByteCount * 2, self.windowByteCounts.upperBound)
            }
            return isReadable
        }
        if isReadable { waker.wake() }
    }

    func takeDirect() -> (any BlobPluginReader)? {
        let isDirect = self.state.withLock { state in
            guard !state.isBusy, !state.isClosed, state.windows.isEmpty, state.ending == nil else { return false }
            state.isClosed = true
            return true
        }
        guard isDirect else { return nil }
        defer { self.reader = nil }
        return self.reader
    }

    func close() {
        let wasIdle = self.state.withLock { state -> Bool? in
            guard !state.isClosed else { return nil }
            (state.isClosed, state.windows, state.waker) = (true, [], nil)
            defer { state.isBusy = true }
            return !state.isBusy
        }
        guard let wasIdle else { return }
        self.context.cancellation.cancel()
        guard wasIdle else { return }
        // A reader that never blocks is closed in place; others may take their time.
        if self.reader?.neverBlocks ?? true { return self.closeReader() }
        BlockingPool.openings.run { self.closeReader() }
    }

    // MARK: Jobs

    func start() {
        self.run(on: .openings) {
            do {
                let reader = try self.open(self.context)
                self.reader = reader
                let (info, isOpen, isBusy) = (reader.info, reader.isOpen, !reader.neverBlocks)
                let goesOn = self.publish { state in
                    (state.info, state.isOpen, state.isBusy) = (info, isOpen, isBusy)
                    return isBusy
                }
                if goesOn { self.run(on: .reads) { self.fill() } }
            } catch {
                self.end(.failure(BlobError(wrapping: error)))
            }
        }
    }

    /// Reads until the windows are full, or no more bytes are available.
    private func fill() {
        while let reader, !self.isClosed {
            do {
                let window = Window(self.state.withLock { $0.windowByteCount })
                let result = try window.fill(from: reader)
                self.noteOpening(of: reader)
                switch result {
                case .end: return self.end(.success(()))
                case .bytes:
                    let goesOn = self.publish { state in
                        state.windows.append(window)
                        state.isBusy = state.windows.count < Self.windowCount
                        return state.isBusy
                    }
                    guard goesOn else { return }
                case .notYet:
                    // The next job begins once this call and the waker's have both been made: a reader is in one call
                    // at a time.
                    let isFirst = Locked(false)
                    let goOn: @Sendable () -> Void = {
                        if isFirst.exchange(true) { self.run(on: .reads) { self.fill() } }
                    }
                    reader.whenReadable(BlobWaker(goOn))
                    return goOn()
                }
            } catch {
                return self.end(.failure(BlobError(wrapping: error)))
            }
        }
        self.closeReader()
    }

    /// Publishes that the reader is open, which may happen late.
    private func noteOpening(of reader: any BlobPluginReader) {
        guard !self.isOpen, reader.isOpen else { return }
        let info = reader.info
        _ = self.publish { state in
            (state.info, state.isOpen) = (info, true)
            return true
        }
    }

    private var isClosed: Bool { self.state.withLock { $0.isClosed } }

    private func end(_ ending: Result<Void, BlobError>) {
        _ = self.publish { state in
            (state.ending, state.isBusy) = (ending, false)
            return false
        }
    }

    /// Changes the state and wakes the consumer; closes the reader if the consumer has closed.
    private func publish(_ change: (inout State) -> Bool) -> Bool {
        let (result, waker, mustClose) = self.state.withLock { state in
            guard !state.isClosed else { return (false, BlobWaker?.none, true) }
            return (change(&state), state.waker.take(), false)
        }
        if mustClose { self.closeReader() }
        waker?.wake()
        return result
    }

    private func closeReader() {
        self.reader?.close()
        self.reader = nil
    }

    private func run(on pool: BlockingPool, _ job: @escaping @Sendable () -> Void) {
        if !pool.run(job) { self.context.eventSink?(BlobEvent(.waitingForThread)) }
    }
}
