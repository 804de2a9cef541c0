import Foundation

/// Reads one chunk for each demand of an asynchronous consumer.
final class ChunkPump: @unchecked Sendable {  // Safe: `reader` is used by the one step that runs, the rest is locked.
    typealias Demand = CheckedContinuation<Data?, any Error>

    private struct State {
        var demand: Demand?
        var isStepping = false  // A thread is in `step`, and it alone uses the reader.
        var isOver = false
        var observation: BlobObservation?
        var timer: DispatchWorkItem?
    }

    private let state = Locked(State())
    private let context: BlobContext
    private let maximumByteCount: Int
    private let open: @Sendable (BlobContext) throws -> BlobGuardedReader
    private var reader: BlobGuardedReader?

    init(
        _ context: BlobContext, ofAtMost byteCount: Int,
        open: @escaping @Sendable (BlobContext) throws -> BlobGuardedReader
    ) {
        self.context = context
        self.maximumByteCount = byteCount
        self.open = open
    }

    // No step runs any more, because each holds this object.
    deinit { self.reader?.close() }

    func demand(_ demand: Demand) {
        let isOver = self.state.withLock { state in
            if !state.isOver { state.demand = demand }
            return state.isOver
        }
        guard !isOver else {
            // After an error or the end, like any iterator; after a cancellation it says so.
            let isCancelled = self.context.cancellation.isCancelled
            return isCancelled ? demand.resume(throwing: Self.cancelled) : demand.resume(returning: nil)
        }
        if self.hasEventDrivenReader {
            self.step()
        } else {
            BlockingPool.shared.run { self.step() }
        }
    }

    func cancel() {
        self.context.cancellation.cancel()
        self.answer(.failure(Self.cancelled))
        self.closeIfIdle()
    }

    private static let cancelled = BlobError(.cancelled, "The task was cancelled.", operation: .read)

    private var hasEventDrivenReader: Bool {
        self.state.withLock { state in !state.isStepping && self.reader?.readiness != nil }
    }

    /// One attempt to answer the demand.
    private func step() {
        let mayStep = self.state.withLock { state in
            guard !state.isStepping, state.demand != nil else { return false }
            state.isStepping = true
            return true
        }
        guard mayStep else { return }
        var isWaiting = false
        let result = Result {
            let reader = try self.reader ?? self.open(self.context)
            self.reader = reader
            let version = reader.readiness?.versioned.version
            let chunk = try Data(readingAtMost: self.maximumByteCount, from: reader)
            isWaiting = chunk.isEmpty && self.isWaiting(reader)
            if isWaiting { self.stepAgain(after: version, reader) }
            return chunk
        }
        self.state.withLock { $0.isStepping = false }
        if !isWaiting { self.answer(result.map { $0.isEmpty ? nil : $0 }) }
        self.closeIfIdle()
        // What became ready while this step still ran found it running and went away.
        if isWaiting, self.reader?.readiness?.value.isReady == true { self.step() }
    }

    private func isWaiting(_ reader: BlobGuardedReader) -> Bool {
        guard let state = reader.readiness?.value else { return false }
        return !state.isAtEnd && state.error == nil
    }

    /// Comes back when the reader has news, or when its time is up.
    private func stepAgain(after version: UInt64?, _ reader: BlobGuardedReader) {
        let observation = reader.readiness?.observe(\.self, options: []) { [weak self] _ in self?.wake() }
        let limit = self.context.stepLimit()
        let timer = limit.remaining.map { remaining in
            let timer = DispatchWorkItem { [weak self] in
                guard let self else { return }
                self.answer(.failure(limit.error(idleLimit: self.context.idleLimit)))
                self.context.cancellation.cancel()
                self.closeIfIdle()
            }
            DispatchQueue.global().asyncAfter(deadline: .now() + remaining.timeInterval, execute: timer)
            return timer
        }
        let old = self.state.withLock { state in
            defer { (state.observation, state.timer) = (observation, state.timer ?? timer) }
            return state.observation
        }
        old?.cancel()
    }

    private func wake() {
        // Not on the thread of the event: it may hold something that the consumer needs.
        Task.detached { self.step() }
    }

    private func answer(_ result: Result<Data?, any Error>) {
        let (demand, timer, observation) = self.state.withLock { state in
            defer { (state.demand, state.timer, state.observation) = (nil, nil, nil) }
            if case .success(.some) = result {} else { state.isOver = true }
            return (state.demand, state.timer, state.observation)
        }
        timer?.cancel()
        observation?.cancel()
        demand?.resume(with: result)
    }

    private func closeIfIdle() {
        let mayClose = self.state.withLock { state in
            guard state.isOver, !state.isStepping else { return false }
            state.isStepping = true  // For good: nobody uses the reader after this.
            return true
        }
        if mayClose { self.reader?.close() }
    }
}

extension Data {
    /// One read of `reader`, in memory that fits it.
    init(readingAtMost byteCount: Int, from reader: BlobGuardedReader) throws {
        guard let memory = malloc(byteCount) else {
            throw BlobError(systemError: ENOMEM, doing: "Could not allocate \(byteCount) bytes")
        }
        do {
            let count = try reader.read(into: UnsafeMutableRawBufferPointer(start: memory, count: byteCount))
            // A short read must not hold on to the memory of a full one.
            let fitted = count < byteCount ? realloc(memory, Swift.max(count, 1)) ?? memory : memory
            self.init(bytesNoCopy: fitted, count: count, deallocator: .free)
        } catch {
            free(memory)
            throw error
        }
    }
}
