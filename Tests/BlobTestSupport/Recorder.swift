import BlobCore
import Foundation

/// Values that any thread records, and a way to wait for them.
package final class Recorder<Value: Sendable>: Sendable {
    private struct Waiter {
        let isDone: @Sendable ([Value]) -> Bool
        let resume: @Sendable () -> Void
    }

    private struct State {
        var values: [Value] = []
        var waiters: [Waiter] = []
    }

    private let state = Locked(State())

    /// Makes a recorder without values.
    package init() {}

    /// The values so far, in the order in which they were recorded.
    package var values: [Value] { self.state.withLock { $0.values } }

    /// Records a value.
    package func append(_ value: Value) {
        let done = self.state.withLock { state in
            state.values.append(value)
            let values = state.values
            defer { state.waiters.removeAll { $0.isDone(values) } }
            return state.waiters.filter { $0.isDone(values) }
        }
        for waiter in done { waiter.resume() }
    }

    /// Suspends until there are at least `count` values.
    @discardableResult
    package func values(count: Int) async -> [Value] {
        await withCheckedContinuation { continuation in
            self.call(when: { $0.count >= count }, { continuation.resume() })
        }
        return self.values
    }

    /// Suspends until there is a value that `isWanted`.
    package func first(where isWanted: @escaping @Sendable (Value) -> Bool) async -> Value? {
        await withCheckedContinuation { continuation in
            self.call(when: { $0.contains(where: isWanted) }, { continuation.resume() })
        }
        return self.values.first(where: isWanted)
    }

    /// Blocks until there are at least `count` values.
    @discardableResult
    package func waitForValues(count: Int) -> [Value] {
        let semaphore = DispatchSemaphore(value: 0)
        self.call(when: { $0.count >= count }, { semaphore.signal() })
        semaphore.wait()
        return self.values
    }

    private func call(
        when isDone: @escaping @Sendable ([Value]) -> Bool, _ resume: @escaping @Sendable () -> Void
    ) {
        let isReady = self.state.withLock { state in
            let isReady = isDone(state.values)
            if !isReady { state.waiters.append(Waiter(isDone: isDone, resume: resume)) }
            return isReady
        }
        if isReady { resume() }
    }
}
