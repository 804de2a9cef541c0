import Foundation

/// Reads one chunk for each demand of an asynchronous consumer.
final class ChunkPump: @unchecked Sendable {  // Safe: `reader` is used by the one step that runs, the rest is locked.
    typealias Demand = CheckedContinuation<Data?, any Error>

    private struct State {
        var byteOffset: Int64  // What the consumer has got so far, for errors.
        var demand: Demand?
        var isStepping = false  // A thread is in `step`, and it alone uses the reader.
        var isOver = false
        var isCancelled = false
        var demandCount = 0
        var observation: BlobObservation?
        var timer: DispatchWorkItem?
        var registration: BlobRegistration?
    }

    private let state: Locked<State>
    private let context: BlobContext
    private let maximumByteCount: Int
    let source: any BlobInputStreamDataSource
    private let firstOffset: Int64
    private var reader: BlobGuardedReader?

    init(
        _ source: any BlobInputStreamDataSource, at byteOffset: Int64, ofAtMost byteCount: Int, _ context: BlobContext
    ) {
        self.source = source
        self.firstOffset = byteOffset
        self.context = context
        self.maximumByteCount = byteCount
        self.state = Locked(State(byteOffset: byteOffset))
        let registration = context.onCancel { [weak self] in self?.contextWasCancelled() }
        self.state.withLock { $0.registration = registration }
    }

    // No step runs any more, because each holds this object.
    deinit { self.reader?.close() }

    func demand(_ demand: Demand) {
        let (isOver, isCancelled) = self.state.withLock { state in
            if !state.isOver { (state.demand, state.demandCount) = (demand, state.demandCount + 1) }
            return (state.isOver, state.isCancelled)
        }
        guard !isOver else {
            // After an error or the end, like any iterator; after a cancellation it says so.
            return isCancelled ? demand.resume(throwing: self.cancelled) : demand.resume(returning: nil)
        }
        if self.hasEventDrivenReader {
            self.step()
        } else {
            BlockingPool.shared.run { self.step() }
        }
    }

    func cancel() { self.context.cancellation.cancel() }

    /// The task's cancellation and the context's end the same way, also while nothing but an event is waited for.
    private func contextWasCancelled() {
        self.state.withLock { $0.isCancelled = !$0.isOver }
        self.answer(.failure(self.cancelled))
        self.closeIfIdle()
    }

    private var cancelled: BlobError { self.inContext(BlobError(.cancelled, "The task or its job was cancelled.")) }

    /// Errors of the waiting itself; those of the reader have their context.
    private func inContext(_ error: BlobError) -> BlobError {
        error.passing(
            layer: self.source.layerName, operation: .read, locator: self.source.locator?.description,
            byteOffset: self.state.withLock { $0.byteOffset })
    }

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
        var readiness: BlobObservable<BlobReaderState>?  // Of a reader that has nothing for now.
        let result = Result {
            let reader = try self.readerOpenedOnce()
            let chunk = try Data(readingAtMost: self.maximumByteCount, from: reader)
            if chunk.isEmpty, !reader.hasEnded {
                readiness = reader.readiness
                self.stepAgain(readiness)
            }
            return chunk
        }
        if readiness == nil {
            // In one go: a step that began in between would read a chunk that nobody demanded.
            self.answer(result.map { $0.isEmpty ? nil : $0 }, endingStep: true)
        } else {
            self.state.withLock { $0.isStepping = false }
        }
        self.closeIfIdle()
        // What became ready while this step still ran found it running and went away.
        if readiness?.value.isReady == true { self.wake() }
    }

    private func readerOpenedOnce() throws -> BlobGuardedReader {
        if let reader { return reader }
        let reader = try self.source.pollableReader(at: self.firstOffset, context: self.context)
        self.reader = reader
        return reader
    }

    /// Comes back when the reader has news, or when the time of the demand is up.
    private func stepAgain(_ readiness: BlobObservable<BlobReaderState>?) {
        let observation = readiness?.observe(\.self, options: []) { [weak self] _ in self?.wake() }
        let limit = self.context.stepLimit()
        let (superseded, timer) = self.state.withLock { state -> (BlobObservation?, DispatchWorkItem?) in
            guard state.demand != nil else { return (observation, nil) }
            defer { state.observation = observation }
            // One timer for a demand, from its first wait on: news without bytes do not prolong it.
            guard state.timer == nil, limit.end != nil else { return (state.observation, nil) }
            let demandCount = state.demandCount
            let timer = DispatchWorkItem { [weak self] in self?.timeOut(limit, ofDemand: demandCount) }
            state.timer = timer
            return (state.observation, timer)
        }
        superseded?.cancel()
        guard let timer, let remaining = limit.remaining else { return }
        DispatchQueue.global().asyncAfter(deadline: .now() + remaining.timeInterval, execute: timer)
    }

    private func timeOut(_ limit: BlobContext.StepLimit, ofDemand demandCount: Int) {
        let error = self.inContext(limit.error(idleLimit: self.context.idleLimit))
        guard self.answer(.failure(error), ofDemand: demandCount) else { return }
        self.context.cancellation.cancel()
        self.closeIfIdle()
    }

    private func wake() {
        // Not on the thread of the event: it may hold something that the consumer needs.
        Task.detached { self.step() }
    }

    /// Resumes whoever waits; with `demandCount` only if it still is that demand.
    @discardableResult
    private func answer(
        _ result: Result<Data?, any Error>, ofDemand demandCount: Int? = nil, endingStep: Bool = false
    ) -> Bool {
        let answered = self.state.withLock { state -> (Demand?, DispatchWorkItem?, BlobObservation?)? in
            if endingStep { state.isStepping = false }
            if let demandCount, state.demand == nil || state.demandCount != demandCount { return nil }
            defer { (state.demand, state.timer, state.observation) = (nil, nil, nil) }
            if case .success(.some(let chunk)) = result {
                state.byteOffset += Int64(chunk.count)
            } else {
                state.isOver = true
            }
            return (state.demand, state.timer, state.observation)
        }
        guard let (demand, timer, observation) = answered else { return false }
        timer?.cancel()
        observation?.cancel()
        demand?.resume(with: result)
        return true
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
