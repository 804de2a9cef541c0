import BlobStreams

/// Runs jobs one after the other, on whatever thread of the pool is free.
final class SerialQueue: Sendable {
    typealias Job = @Sendable () -> Void

    private let state = Locked((jobs: [Job](), isRunning: false))

    /// Runs `job` behind those that were given before.
    func run(_ job: @escaping Job) {
        let mustStart = self.state.withLock { state in
            state.jobs.append(job)
            defer { state.isRunning = true }
            return !state.isRunning
        }
        if mustStart { BlockingPool.brief.run { self.turn() } }
    }

    /// What is there now; then others of the pool have their turn.
    private func turn() {
        let jobs = self.state.withLock { state in
            defer { state.jobs = [] }
            return state.jobs
        }
        for job in jobs { job() }
        let mustGoOn = self.state.withLock { state in
            state.isRunning = !state.jobs.isEmpty
            return state.isRunning
        }
        if mustGoOn { BlockingPool.brief.run { self.turn() } }
    }
}
