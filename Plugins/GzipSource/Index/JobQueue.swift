import BlobCore

/// Runs jobs in their order, one at a time, on a thread of a pool; while the pool has none to give, its owner runs
/// them.
final class JobQueue: Sendable {
    typealias Job = @Sendable () -> Void

    private enum Worker {
        case none, expected, running
    }

    private struct State {
        var jobs = Fifo<Job>()
        var worker = Worker.none
    }

    private let maximumCount: Int
    private let state = Locked(State())
    private let progress = WaitSignal()

    /// - Parameter maximumCount: The number of jobs that wait, from 1.
    init(maximumCount: Int) { self.maximumCount = maximumCount }

    /// Adds a job; first waits for a place.
    func add(_ job: @escaping Job) {
        self.wait { $0.jobs.count < self.maximumCount }
        let isFirst = self.state.withLock { state in
            state.jobs.append(job)
            guard state.worker == .none else { return false }
            state.worker = .expected
            return true
        }
        if isFirst { BlockingPool.brief.run { if self.beginsWork() { self.work() } } }
    }

    /// Waits until all jobs have ended.
    func finish() { self.wait { $0.jobs.isEmpty && $0.worker != .running } }

    private func wait(until isDone: (State) -> Bool) {
        while !self.state.withLock({ isDone($0) }) {
            // A thread that is expected may never come.
            if self.beginsWork() { self.work() } else { _ = self.progress.wait(for: nil) }
        }
    }

    /// Returns true when the calling thread is the one that works.
    private func beginsWork() -> Bool {
        self.state.withLock { state in
            guard state.worker == .expected else { return false }
            state.worker = .running
            return true
        }
    }

    private func work() {
        while let job = self.state.withLock({ state in
            if state.jobs.isEmpty { state.worker = .none }
            return state.jobs.popFirst()
        }) {
            job()
            self.progress.signal()
        }
        self.progress.signal()
    }
}
