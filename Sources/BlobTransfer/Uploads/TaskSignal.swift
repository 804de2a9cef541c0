package import BlobCore

/// A signal that wakes the waiting task. A signal is remembered if no task is waiting; several signals are treated as
/// one.
final class TaskSignal: Sendable {
    private enum State {
        case none, signalled
        case waiting(UnsafeContinuation<Void, Never>)
    }

    private let state = Locked(State.none)

    func signal() {
        let continuation = self.state.withLock { state -> UnsafeContinuation<Void, Never>? in
            guard case .waiting(let continuation) = state else {
                state = .signalled
                return nil
            }
            state = .none
            return continuation
        }
        continuation?.resume()
    }

    /// Waits for a signal. Only one task at a time may wait.
    nonisolated(nonsending) func wait() async {
        await withUnsafeContinuation { continuation in
            let isSignalled = self.state.withLock { state in
                guard case .signalled = state else {
                    state = .waiting(continuation)
                    return false
                }
                state = .none
                return true
            }
            if isSignalled { continuation.resume() }
        }
    }

    /// Waits for a signal, or until the duration has elapsed; nil means no limit. May return early, as timers may.
    nonisolated(nonsending) func wait(for duration: Duration?, _ context: BlobContext) async {
        let timer = duration.map { context.wake(after: $0, BlobWaker { self.signal() }) }
        await self.wait()
        timer?.cancel()
    }
}

extension BlobContext {
    /// Suspends the task until `condition` returns a value. The condition is checked again after each signal.
    ///
    /// - Throws: ``BlobError/Code/cancelled``; ``BlobError/Code/timedOut`` for both the deadline and the idle limit;
    ///   the errors of `condition`.
    nonisolated(nonsending) func wait<Value>(
        on signal: TaskSignal, until condition: () throws(BlobError) -> Value?
    ) async throws(BlobError) -> Value {
        try self.check()
        if let value = try condition() { return value }
        let limit = self.stepLimit()
        let registration = self.cancellation.onCancel { signal.signal() }
        defer { registration.cancel() }
        while true {
            try self.check()
            if let value = try condition() { return value }
            let remaining = limit.remaining
            guard remaining ?? .seconds(1) > .zero else { throw limit.error(idleLimit: self.idleLimit) }
            await signal.wait(for: remaining, self)
        }
    }

    /// Calls a closure with a child of this context that is cancelled with the task.
    package nonisolated(nonsending) func cancelledWithTask<Value>(
        _ body: nonisolated(nonsending) (_ context: BlobContext) async throws(BlobError) -> Value
    ) async throws(BlobError) -> Value {
        let context = self.makeChild()
        do {
            return try await withTaskCancellationHandler {
                try await body(context)
            } onCancel: {
                context.cancellation.cancel()
            }
        } catch {
            throw BlobError(wrapping: error)
        }
    }

    /// Suspends the task for the duration, and throws if the job is cancelled or times out earlier.
    package nonisolated(nonsending) func sleep(for duration: Duration) async throws(BlobError) {
        let end = ContinuousClock.now + duration
        let signal = TaskSignal()
        let registration = self.cancellation.onCancel { signal.signal() }
        defer { registration.cancel() }
        while ContinuousClock.now < end {
            try self.check()
            await signal.wait(for: min(end, self.deadline ?? end) - .now, self)
        }
        try self.check()
    }
}
