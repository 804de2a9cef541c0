import BlobStreams
import Foundation

/// What was recorded, on any thread, and a way to wait for it.
final class Recorder<Value: Sendable>: Sendable {
    private struct State {
        var values: [Value] = []
        var waiters: [(count: Int, resume: @Sendable () -> Void)] = []
    }

    private let state = Locked(State())

    var values: [Value] { self.state.withLock { $0.values } }

    func append(_ value: Value) {
        let ready = self.state.withLock { state in
            state.values.append(value)
            let count = state.values.count
            defer { state.waiters.removeAll { $0.count <= count } }
            return state.waiters.filter { $0.count <= count }
        }
        for waiter in ready { waiter.resume() }
    }

    /// Suspends until there are at least `count` values.
    @discardableResult
    func values(count: Int) async -> [Value] {
        await withCheckedContinuation { continuation in self.call(at: count) { continuation.resume() } }
        return self.values
    }

    /// Blocks until there are at least `count` values.
    @discardableResult
    func waitForValues(count: Int) -> [Value] {
        let semaphore = DispatchSemaphore(value: 0)
        self.call(at: count) { semaphore.signal() }
        semaphore.wait()
        return self.values
    }

    private func call(at count: Int, _ resume: @escaping @Sendable () -> Void) {
        let isReady = self.state.withLock { state in
            if state.values.count < count { state.waiters.append((count, resume)) }
            return state.values.count >= count
        }
        if isReady { resume() }
    }
}

/// A door that is opened once; whoever came before waits for it.
final class Latch: Sendable {
    private let recorder = Recorder<Bool>()

    var isOpen: Bool { !self.recorder.values.isEmpty }
    func open() { self.recorder.append(true) }
    func opened() async { await self.recorder.values(count: 1) }
    func wait() { self.recorder.waitForValues(count: 1) }
}
