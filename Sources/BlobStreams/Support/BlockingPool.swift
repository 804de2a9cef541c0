import Foundation

/// Threads for calls that block, so that those never run on the cooperative pool of Swift's tasks.
///
/// A job runs at once on an idle thread or a new one, up to the bound; past that it waits for a thread. Idle threads
/// end after a while. Stalled jobs do not stop others: while a job waits, one that has run for long and can be
/// interrupted is asked to give its thread back, and only when none can does the pool grow past its bound.
package final class BlockingPool: Sendable {
    /// As many as are worth their stacks; with the threads of everything else a process stays below 64.
    package static let shared = BlockingPool(maximumThreadCount: 48)

    /// For what the jobs of ``shared`` wait for: reading an origin that blocks on behalf of an event-driven reader. Apart,
    /// so that no job waits for a thread that such a job holds.
    package static let origins = BlockingPool(maximumThreadCount: 48)

    /// Long enough to serve one stream's next read, short enough to be gone when nobody reads.
    package static let defaultIdleLifetime = Duration.seconds(2)

    /// How many threads there may be beyond the bound for jobs that stall and cannot be interrupted.
    private static let maximumExtraThreadCount = 464

    /// How often is looked for stalled jobs while others wait.
    private static let watchInterval = Duration.milliseconds(50)

    /// How long an interrupted job has to stop. Contract C12 gives it a second; waking up takes far less.
    fileprivate static let patience = Duration.milliseconds(200)

    /// What decoders need with room to spare; only touched pages cost memory.
    private static let stackByteCount = 1 << 20

    fileprivate struct Job {
        let interruption: Interruption?
        let body: @Sendable () -> Void
    }

    fileprivate struct RunningJob {
        var interruption: Interruption?
        let start = ContinuousClock.now
        var requestedAt: ContinuousClock.Instant?
    }

    fileprivate struct State {
        var fresh: [Job] = []
        var returned: [Job] = []
        var running: [ObjectIdentifier: RunningJob] = [:]
        var threadCount = 0
        var idle: [WaitSignal] = []
        var isWatching = false
    }

    /// How a job gives its thread back before it is done. It is then up to the job to have itself run again.
    package struct Interruption: Sendable {
        /// How long the job may run while others wait that were interrupted as it was.
        package static let shortestTurn = Duration.milliseconds(100)

        private static let longestTurn = Duration.seconds(16)

        package private(set) var turn = Self.shortestTurn
        private(set) var wasInterrupted = false
        let request: @Sendable () -> Bool

        /// - Parameter request: Makes the job return soon, or says false: it cannot. Called once at most, on any thread,
        ///   and maybe when the job is done already.
        package init(_ request: @escaping @Sendable () -> Bool) { self.request = request }

        /// For the next turn of a job that was interrupted: twice as long, so that slow jobs get on.
        package func longer(_ request: @escaping @Sendable () -> Bool) -> Self {
            var next = Self(request)
            next.turn = min(self.turn * 2, Self.longestTurn)
            next.wasInterrupted = true
            return next
        }
    }

    private let state = Locked(State())
    private let maximumThreadCount: Int
    private let idleLifetime: Duration

    package init(maximumThreadCount: Int, idleLifetime: Duration = BlockingPool.defaultIdleLifetime) {
        self.maximumThreadCount = maximumThreadCount
        self.idleLifetime = idleLifetime
    }

    /// How many threads there are now.
    package var threadCount: Int { self.state.withLock { $0.threadCount } }

    /// Runs a job that may block for as long as it likes, unless `interruption` says how to stop it.
    ///
    /// A job that comes back after it was interrupted waits behind those that are new.
    package func run(interruption: Interruption? = nil, _ job: @escaping @Sendable () -> Void) {
        let (idle, isNew, mustWatch) = self.state.withLock { state -> (WaitSignal?, Bool, Bool) in
            let job = Job(interruption: interruption, body: job)
            if interruption?.wasInterrupted == true { state.returned.append(job) } else { state.fresh.append(job) }
            if let idle = state.idle.popLast() { return (idle, false, false) }
            if state.threadCount < self.maximumThreadCount {
                state.threadCount += 1
                return (nil, true, false)
            }
            defer { state.isWatching = true }
            return (nil, false, !state.isWatching)
        }
        idle?.signal()
        if isNew { self.startThread() }
        if mustWatch { self.watchLater() }
    }

    private func startThread() {
        let thread = Thread { self.work() }
        thread.stackSize = Self.stackByteCount
        thread.name = "BlobStreams"
        thread.start()
    }

    private func work() {
        let signal = WaitSignal()
        while true {
            let job = self.state.withLock { state -> Job? in
                guard let job = state.removeFirstJob() else {
                    state.idle.append(signal)
                    return nil
                }
                state.running[ObjectIdentifier(signal)] = RunningJob(interruption: job.interruption)
                return job
            }
            if let job {
                job.body()
                if self.endJobAndThread(signal) { return }
            } else if !signal.wait(for: self.idleLifetime) {
                if self.retire(signal) { return }
                // The signal of the job is on its way. Left over, it would count this thread as idle twice next time.
                _ = signal.wait(for: nil)
            }
        }
    }

    /// True when this thread was one too many.
    private func endJobAndThread(_ signal: WaitSignal) -> Bool {
        self.state.withLock { state in
            state.running[ObjectIdentifier(signal)] = nil
            guard state.threadCount > self.maximumThreadCount else { return false }
            state.threadCount -= 1
            return true
        }
    }

    /// False when a job was given to this thread just now.
    private func retire(_ signal: WaitSignal) -> Bool {
        self.state.withLock { state in
            guard let index = state.idle.firstIndex(where: { $0 === signal }) else { return false }
            state.idle.remove(at: index)
            state.threadCount -= 1
            return true
        }
    }

    // MARK: Stalled jobs

    private func watchLater() {
        let interval = DispatchTimeInterval.milliseconds(Int(Self.watchInterval / .milliseconds(1)))
        DispatchQueue.global().asyncAfter(deadline: .now() + interval) { self.watch() }
    }

    private func watch() {
        let (requests, newThreadCount, goesOn) = self.state.withLock { state in
            guard !state.fresh.isEmpty || !state.returned.isEmpty else {
                state.isWatching = false
                return ([ThreadRequest](), 0, false)
            }
            let (requests, missing) = state.requestThreads()
            let newThreadCount = min(
                missing, self.maximumThreadCount + Self.maximumExtraThreadCount - state.threadCount)
            state.threadCount += newThreadCount
            return (requests, newThreadCount, true)
        }
        for (key, request) in requests where !request() {
            self.state.withLock { $0.running[key]?.interruption = nil }
        }
        for _ in 0..<newThreadCount { self.startThread() }
        if goesOn { self.watchLater() }
    }

    fileprivate typealias ThreadRequest = (key: ObjectIdentifier, request: @Sendable () -> Bool)
}

extension BlockingPool.State {
    fileprivate mutating func removeFirstJob() -> BlockingPool.Job? {
        if !self.fresh.isEmpty { return self.fresh.removeFirst() }
        return self.returned.isEmpty ? nil : self.returned.removeFirst()
    }

    /// Chooses the jobs that make room for those that wait: for a new one whoever is furthest past its turn, for one
    /// that comes back only who has had its turn.
    ///
    /// - Returns: The requests to make, and how many new jobs will still have no thread.
    fileprivate mutating func requestThreads() -> (requests: [BlockingPool.ThreadRequest], missing: Int) {
        let now = ContinuousClock.now
        // Those who cannot stop, or take their time, are replaced by new threads.
        let coming = self.running.values.count { job in
            job.interruption != nil && job.requestedAt.map { now - $0 < BlockingPool.patience } ?? false
        }
        var wantedByFresh = max(0, self.fresh.count - coming)
        var wantedByReturned = max(0, self.returned.count - max(0, coming - self.fresh.count))
        var requests: [BlockingPool.ThreadRequest] = []
        let candidates = self.running.compactMap { key, job in
            job.requestedAt == nil ? job.interruption.map { (key, $0, past: (now - job.start) / $0.turn) } : nil
        }
        for (key, interruption, past) in candidates.sorted(by: { $0.past > $1.past }) {
            if wantedByFresh > 0,
                past * interruption.turn.timeInterval >= BlockingPool.Interruption.shortestTurn.timeInterval
            {
                wantedByFresh -= 1
            } else if wantedByReturned > 0, past >= 1 {
                wantedByReturned -= 1
            } else {
                continue
            }
            self.running[key]?.requestedAt = now
            requests.append((key, interruption.request))
        }
        // Those whose turn has only begun will be asked next time; new threads are for when nobody can be.
        return (requests, candidates.count > requests.count ? 0 : wantedByFresh)
    }
}
