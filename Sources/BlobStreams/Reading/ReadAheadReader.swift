/// Reads a reader that may block on threads of the pool, ahead of its consumer.
///
/// Closing during a call leaves the blocking reader to the thread that runs it, which closes it when its call returns. A
/// reader that turns out never to block is read in place.
final class ReadAheadReader: BlobLendingReader {
    private let ahead: ReadAhead
    private var direct: (any BlobReader)?
    private var current: Window?

    /// Starts to open the reader.
    ///
    /// - Parameters:
    ///   - info: The facts known before the reader is open.
    ///   - windowByteCounts: The size of the first window and of the largest.
    ///   - context: Its cancellation also ends a call that is no longer wanted.
    ///   - open: Makes the blocking reader, on a thread of the pool.
    init(
        info: BlobInfo = BlobInfo(), windowByteCounts: ClosedRange<Int> = ReadAheadSource.windowByteCounts,
        _ context: BlobContext, open: @escaping @Sendable (BlobContext) throws -> any BlobReader
    ) {
        self.ahead = ReadAhead(info, windowByteCounts, context.makeChild(), open)
        self.ahead.start()
    }

    deinit { self.close() }

    var info: BlobInfo { self.direct?.info ?? self.ahead.info }
    var isOpen: Bool { self.direct?.isOpen ?? self.ahead.isOpen }
    var neverBlocks: Bool { true }

    func read(into output: inout OutputRawSpan) throws -> BlobReadResult {
        if let direct { return try direct.read(into: &output) }
        switch try self.nextWindow() {
        case .window(let window):
            window.move(to: &output)
            if window.isEmpty { self.current = nil }
            return .bytes
        case .direct(let reader): return try reader.read(into: &output)
        case .end: return .end
        case .notYet: return .notYet
        }
    }

    func lend() -> BlobLentBytes? {
        guard self.direct == nil, case .window(let window) = try? self.nextWindow() else { return nil }
        return BlobLentBytes(window.bytes, ownedBy: window)
    }

    func consume(_ byteCount: Int) {
        self.current?.drop(byteCount)
        if self.current?.isEmpty ?? false { self.current = nil }
    }

    func whenReadable(_ waker: BlobWaker) {
        if let direct { direct.whenReadable(waker) } else { self.ahead.whenReadable(waker) }
    }

    func close() {
        self.current = nil
        self.ahead.close()
    }

    private func nextWindow() throws -> ReadAhead.Next {
        if let current { return .window(current) }
        let next = try self.ahead.next()
        switch next {
        case .window(let window): self.current = window
        case .direct(let reader): self.direct = reader
        case .end, .notYet: break
        }
        return next
    }
}

/// The part of a ``ReadAheadReader`` that threads share.
private final class ReadAhead: @unchecked Sendable {  // Safe: `reader` is used by the one job that runs; see `state`.
    enum Next {
        case window(Window)
        case direct(any BlobReader)
        case end
        case notYet
    }

    private struct State {
        var info: BlobInfo
        var isOpen = false
        var isDirect = false
        var windows: [Window] = []
        var ending: Result<Void, BlobError>?
        /// A job runs, or will: it alone uses the reader.
        var isBusy = true
        var isClosed = false
        var windowByteCount: Int
        var waker: BlobWaker?

        mutating func takeWaker() -> BlobWaker? {
            defer { self.waker = nil }
            return self.waker
        }
    }

    /// So that one can be read into while another is taken from.
    private static let windowCount = 2

    private let state: Locked<State>
    private let windowByteCounts: ClosedRange<Int>
    private let context: BlobContext
    private let open: @Sendable (BlobContext) throws -> any BlobReader
    private var reader: (any BlobReader)?

    init(
        _ info: BlobInfo, _ windowByteCounts: ClosedRange<Int>, _ context: BlobContext,
        _ open: @escaping @Sendable (BlobContext) throws -> any BlobReader
    ) {
        self.state = Locked(State(info: info, windowByteCount: windowByteCounts.lowerBound))
        self.windowByteCounts = windowByteCounts
        self.context = context
        self.open = open
    }

    // No job runs any more, because each holds this object.
    deinit { self.reader?.close() }

    var info: BlobInfo { self.state.withLock { $0.info } }
    var isOpen: Bool { self.state.withLock { $0.isOpen } }

    // MARK: The consumer's side

    func next() throws -> Next {
        let (next, mustFill) = try self.state.withLock { state throws -> (Next, Bool) in
            guard !state.isClosed else { throw BlobError(.closed, "The reader is closed.") }
            if state.isDirect, let reader = self.reader { return (.direct(reader), false) }
            guard !state.windows.isEmpty else {
                if let ending = state.ending {
                    try ending.get()
                    return (.end, false)
                }
                return (.notYet, false)
            }
            let window = state.windows.removeFirst()
            let mustFill = !state.isBusy && state.ending == nil
            if mustFill { state.isBusy = true }
            return (.window(window), mustFill)
        }
        if mustFill { self.run(on: .reads) { self.fill() } }
        return next
    }

    func whenReadable(_ waker: BlobWaker) {
        let isReadable = self.state.withLock { state in
            if state.isClosed { return false }
            let isReadable = !state.windows.isEmpty || state.ending != nil || state.isDirect
            state.waker = isReadable ? nil : waker
            // The consumer is faster than the calls: larger ones cost less for each byte.
            if !isReadable, state.isOpen {
                state.windowByteCount = min(state.windowByteCount * 2, self.windowByteCounts.upperBound)
            }
            return isReadable
        }
        if isReadable { waker.wake() }
    }

    func close() {
        let mustClose = self.state.withLock { state in
            guard !state.isClosed else { return false }
            (state.isClosed, state.windows, state.waker) = (true, [], nil)
            defer { state.isBusy = true }
            return !state.isBusy
        }
        self.context.cancellation.cancel()
        guard mustClose else { return }
        // One that never blocks is closed in place; others may take their time.
        if self.reader?.neverBlocks ?? true { return self.closeReader() }
        BlockingPool.openings.run { self.closeReader() }
    }

    // MARK: Jobs

    func start() {
        self.run(on: .openings) {
            do {
                let reader = try self.open(self.context)
                self.reader = reader
                let (info, isOpen) = (reader.info, reader.isOpen)
                let goesOn = self.publish { state in
                    (state.info, state.isOpen, state.isDirect) = (info, isOpen, reader.neverBlocks)
                    state.isBusy = !state.isDirect
                    return state.isBusy
                }
                if goesOn { self.run(on: .reads) { self.fill() } }
            } catch {
                self.end(.failure(BlobError(wrapping: error)))
            }
        }
    }

    /// Reads until the windows are full, or there is nothing more.
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
                    // The next job begins once this call and the waker have both been: a reader is in one call at a time.
                    let isFirst = Locked(false)
                    let goOn: @Sendable () -> Void = {
                        if !isFirst.takeOnce() { self.run(on: .reads) { self.fill() } }
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

    /// The base may open late, which consumers are told of.
    private func noteOpening(of reader: any BlobReader) {
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

    /// Changes what the consumer sees, and wakes it; closes the reader when nobody wants it any more.
    private func publish(_ change: (inout State) -> Bool) -> Bool {
        let (result, waker, mustClose) = self.state.withLock { state in
            guard !state.isClosed else { return (false, BlobWaker?.none, true) }
            return (change(&state), state.takeWaker(), false)
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
        if !pool.run(job) { self.context.eventSink?(.waitingForThread) }
    }
}
