/// A stream that reads another reader, which may block, on threads of a pool, ahead of the consumer.
///
/// When it is closed during a call, the calling thread closes the blocking reader after the call returns.
///
/// `isBusy` limits the use of the reader to one thread at a time; only the consumer has `currentWindow`.
package final class ReadAheadStream: LateStream, @unchecked Sendable {  // Safe: `isBusy` gives `reader` one thread.
    /// The sizes of the first and of the largest window in bytes.
    package static let windowByteCounts = (64 * 1024)...(1024 * 1024)

    private enum Next {
        case window(BlobBytes)
        case end
        case notYet
    }

    private struct State {
        /// The facts; nil until they are known.
        var info: BlobInfo?
        var windows: [BlobBytes] = []
        var ending: Result<Void, BlobError>?
        /// True while a job is running or scheduled; only that job uses the reader. Otherwise there are windows or an
        /// ending, or a reader that never blocks and has not been read yet.
        var isBusy = true
        var isClosed = false
        var windowByteCount: Int
    }

    /// The number of windows: one can be filled while another is consumed.
    private static let windowCount = 2

    private let slot = BlobWakerSlot()
    private let state: Locked<State>
    private let windowByteCounts: ClosedRange<Int>
    private let context: BlobContext
    private let open: @Sendable (BlobContext) throws -> BlobReader
    private var reader: BlobReader?
    /// The window that is being delivered.
    private var currentWindow: BlobBytes?

    /// Starts to open the blocking reader.
    ///
    /// - Parameters:
    ///   - windowByteCounts: The sizes of the first and of the largest window in bytes.
    ///   - context: The context of the job; `open` receives a child of it, which is cancelled when this stream is
    ///     closed.
    ///   - open: A closure that opens the blocking reader, on a thread of the pool.
    package init(
        windowByteCounts: ClosedRange<Int> = ReadAheadStream.windowByteCounts,
        _ context: BlobContext, open: @escaping @Sendable (BlobContext) throws -> BlobReader
    ) {
        self.state = Locked(State(windowByteCount: windowByteCounts.lowerBound))
        (self.windowByteCounts, self.context, self.open) = (windowByteCounts, context.makeChild(), open)
        self.start()
    }

    // No job is running, because each retains this object.
    deinit { self.reader?.close() }

    // MARK: The consumer's side

    /// The facts; nil until they are known.
    package var info: BlobInfo? {
        get throws {
            try self.state.withLock { state in
                if state.info == nil, case .failure(let error) = state.ending { throw error }
                return state.info
            }
        }
    }

    package var neverBlocks: Bool { true }
    package var readiness: BlobWakerSlot? { self.slot }

    package func read(at byteOffset: Int64, into output: inout OutputRawSpan) throws -> BlobReadResult {
        if self.currentWindow == nil {
            switch try self.next() {
            case .window(let bytes): self.currentWindow = bytes
            case .end: return .end
            case .notYet: return .notYet
            }
        }
        self.currentWindow?.move(to: &output)
        if self.currentWindow?.isEmpty == true { self.currentWindow = nil }
        return .bytes
    }

    package func readBytes(at byteOffset: Int64, atMost byteCount: Int) throws -> BlobBytes? {
        if self.currentWindow == nil { self.currentWindow = try self.nextWindow() }
        let first = self.currentWindow?.removeFirst(atMost: byteCount)
        if self.currentWindow?.isEmpty == true { self.currentWindow = nil }
        return first
    }

    private func next() throws -> Next {
        let (next, mustFill) = try self.state.withLock { state throws -> (Next, Bool) in
            let window = state.windows.isEmpty ? nil : state.windows.removeFirst()
            if let ending = state.ending {
                if let window { return (.window(window), false) }
                try ending.get()
                return (.end, false)
            }
            defer { state.isBusy = true }
            // The consumer is faster than the reads: larger reads cost less per byte.
            if window == nil, state.info != nil, state.isBusy {
                state.windowByteCount = min(state.windowByteCount * 2, self.windowByteCounts.upperBound)
            }
            return (window.map { .window($0) } ?? .notYet, !state.isBusy)
        }
        if mustFill { self.run(on: .reads) { self.fill() } }
        return next
    }

    /// Returns the next window, if any.
    private func nextWindow() throws -> BlobBytes? {
        guard self.state.withLock({ !$0.windows.isEmpty }), case .window(let window) = try self.next() else {
            return nil
        }
        return window
    }

    /// Hands over an inner reader that turned out never to block; it is read in place of this stream.
    package func successor(isOpening: Bool) -> StartedStream? {
        let isDirect = self.state.withLock { state in
            guard !state.isBusy, !state.isClosed, state.windows.isEmpty, state.ending == nil else { return false }
            state.isClosed = true
            return true
        }
        guard isDirect else { return nil }
        defer { self.reader = nil }
        return self.reader?.takeStream()
    }

    package func close() {
        self.currentWindow = nil
        let wasIdle = self.state.withLock { state -> Bool? in
            guard !state.isClosed else { return nil }
            (state.isClosed, state.windows) = (true, [])
            defer { state.isBusy = true }
            return !state.isBusy
        }
        guard let wasIdle else { return }
        self.context.cancellation.cancel()
        guard wasIdle else { return }
        // A reader that never blocks is closed in place; closing others may take long.
        if self.reader?.neverBlocks ?? true { return self.closeReader() }
        BlockingPool.openings.run { self.closeReader() }
    }

    // MARK: Jobs

    private func start() {
        self.run(on: .openings) {
            do {
                let reader = try self.open(self.context)
                self.reader = reader
                let isBusy = !reader.neverBlocks
                // A reader that never blocks is read in place, and its info is requested there.
                let info = isBusy ? try reader.knownInfo() : nil
                let goesOn = self.publish { state in
                    (state.info, state.isBusy) = (info, isBusy)
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
                let result = try window.fill { try reader.read(into: &$0) }
                window.trim()
                try self.publishInfo(of: reader)
                switch result {
                case .end: return self.end(.success(()))
                case .bytes:
                    let goesOn = self.publish { state in
                        state.windows.append(BlobBytes(window.bytes, ownedBy: window, isExclusive: true))
                        state.isBusy = state.windows.count < Self.windowCount
                        return state.isBusy
                    }
                    guard goesOn else { return }
                case .notYet:
                    // The closure is called twice, here and by the waker; the second call starts the next job. This
                    // limits the reader to one call at a time.
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

    /// Publishes the facts, which may become known late.
    private func publishInfo(of reader: BlobReader) throws {
        guard self.state.withLock({ $0.info == nil }), let info = try reader.knownInfo() else { return }
        _ = self.publish { state in
            state.info = info
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

    /// Changes the state and fires the slot; closes the reader if the consumer has closed the stream.
    private func publish(_ change: (inout State) -> Bool) -> Bool {
        let result = self.state.withLock { state in state.isClosed ? nil : change(&state) }
        if result == nil { self.closeReader() } else { self.slot.fire() }
        return result ?? false
    }

    private func closeReader() {
        self.reader?.close()
        self.reader = nil
    }

    private func run(on pool: BlockingPool, _ job: @escaping @Sendable () -> Void) {
        if !pool.run(job) { self.context.report(BlobEvent(.waitingForThread)) }
    }
}
