import BlobCore

/// Runs jobs one after another, on any free thread of the pool.
final class SerialQueue: Sendable {
    typealias Job = @Sendable () -> Void

    private let state = Locked((jobs: [Job](), isRunning: false))

    /// Runs `job` after all jobs that were added before.
    func run(_ job: @escaping Job) {
        let mustStart = self.state.withLock { state in
            state.jobs.append(job)
            defer { state.isRunning = true }
            return !state.isRunning
        }
        if mustStart { BlockingPool.brief.run { self.turn() } }
    }

    /// Runs the current jobs, then yields to other work of the pool.
    private func turn() {
        let jobs = self.state.withLock { state in
            defer { state.jobs = [] }
            return state.jobs
        }
        for job in jobs { job() }
        let hasMoreJobs = self.state.withLock { state in
            state.isRunning = !state.jobs.isEmpty
            return state.isRunning
        }
        if hasMoreJobs { BlockingPool.brief.run { self.turn() } }
    }
}
