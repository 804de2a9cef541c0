import BlobPlatform

/// Threads for calls that block, so that those never run on the cooperative pool of Swift's tasks.
///
/// A job runs at once on an idle thread, or on a new one while there are fewer than processors. Otherwise it waits: jobs
/// that end soon are served by the threads there are, and more are started, up to the bound, when those stall. Idle
/// threads end after a while. Nothing on a pool waits for a pool: a job that waits for an event leaves it for that time,
/// and another may have its place.
package final class BlockingPool: Sendable {
    /// For reads of sources that block, perhaps for ever: one a source.
    package static let reads = BlockingPool(maximumThreadCount: 512)

    /// For openings and closings, which stalled reads must not hold up.
    package static let openings = BlockingPool(maximumThreadCount: 128)

    /// For what ends by itself: computing, reads of a disk, and the notices of those who wait.
    package static let brief = BlockingPool(maximumThreadCount: 16)

    /// Long enough to serve one stream's next read, short enough to be gone when nobody reads.
    package static let defaultIdleLifetime = Duration.seconds(2)

    /// Far more than opening a file takes, and little beside the wait for a network.
    package static let defaultPatience = Duration.milliseconds(10)

    /// How many threads a pool starts without being asked twice.
    package static let promptThreadCount = max(2, ProcessInfo.processInfo.activeProcessorCount)

    /// How many threads are started in one go at most, by the thread that keeps the timers.
    private static let maximumGrowth = 32

    /// How many jobs may wait outside of their pools at once; more of them keep their places.
    private static let maximumWaitingCount = 4096

    /// What decoders need with room to spare; only touched pages cost memory.
    private static let stackByteCount = 1 << 20

    package typealias Job = @Sendable () -> Void

    private struct State {
        var jobs = Fifo<Job>()
        var threadCount = 0
        /// How many of the threads run a job.
        var busyCount = 0
        var idle: [WaitSignal] = []
        /// How many jobs waited when a look at them was arranged that is outstanding, and whether one was taken since.
        var watchedCount: Int?
        var hasMoved = false

        mutating func mustWatch(_ maximumThreadCount: Int) -> Bool {
            guard self.watchedCount == nil, !self.jobs.isEmpty, self.threadCount < maximumThreadCount else {
                return false
            }
            (self.watchedCount, self.hasMoved) = (self.jobs.count, false)
            return true
        }

        /// How many more threads are needed: a quarter more while no job is taken, one while they do not get fewer.
        mutating func growth() -> Int {
            defer { self.watchedCount = nil }
            guard self.hasMoved else { return max(self.threadCount / 4, 1) }
            return self.jobs.count < self.watchedCount ?? 0 ? 0 : 1
        }
    }

    private static let waitingCount = Locked(0)

    /// The pool of the calling thread, while it is one of its threads.
    private static let current = makeThreadKey()

    private let state = Locked(State())
    private let timer = Locked<BlobRegistration?>(nil)
    private let maximumThreadCount: Int
    private let idleLifetime: Duration
    private let patience: Duration

    /// - Parameter patience: How long jobs wait for busy threads before there are more of those.
    package init(
        maximumThreadCount: Int, idleLifetime: Duration = BlockingPool.defaultIdleLifetime,
        patience: Duration = BlockingPool.defaultPatience
    ) {
        self.maximumThreadCount = maximumThreadCount
        self.idleLifetime = idleLifetime
        self.patience = patience
    }

    /// How many threads there are now, without those that wait.
    package var threadCount: Int { self.state.withLock { $0.threadCount } }

    /// Runs a job that may block for as long as it likes.
    ///
    /// - Returns: False when the pool has no thread for it now, nor may start one: the job waits for another to end.
    @discardableResult
    package func run(_ job: @escaping Job) -> Bool {
        let (hasRoom, idle, isNew, mustWatch) = self.state.withLock { state -> (Bool, WaitSignal?, Bool, Bool) in
            state.jobs.append(job)
            let hasRoom = state.jobs.count + state.busyCount <= self.maximumThreadCount
            if let idle = state.idle.popLast() { return (hasRoom, idle, false, false) }
            guard state.threadCount < min(self.maximumThreadCount, Self.promptThreadCount) else {
                return (hasRoom, nil, false, state.mustWatch(self.maximumThreadCount))
            }
            state.threadCount += 1
            return (hasRoom, nil, true, false)
        }
        idle?.signal()
        if isNew { self.startThread() }
        if mustWatch { self.watch() }
        return hasRoom
    }

    /// Runs `body`, which waits, outside of the pool that the calling thread belongs to, if it does.
    package static func leave<Result, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        guard let pointer = pthread_getspecific(self.current) else { return try body() }
        let mayLeave = self.waitingCount.withLock { count in
            guard count < self.maximumWaitingCount else { return false }
            count += 1
            return true
        }
        guard mayLeave else { return try body() }
        let pool = Unmanaged<BlockingPool>.fromOpaque(pointer).takeUnretainedValue()
        pthread_setspecific(self.current, nil)
        pool.leave()
        defer {
            self.waitingCount.withLock { $0 -= 1 }
            // Without a place it ends with its job.
            if pool.comeBack() { pthread_setspecific(self.current, pointer) }
        }
        return try body()
    }

    private func leave() {
        let mustWatch = self.state.withLock { state in
            state.threadCount -= 1
            state.busyCount -= 1
            return state.mustWatch(self.maximumThreadCount)
        }
        if mustWatch { self.watch() }
    }

    private func comeBack() -> Bool {
        self.state.withLock { state in
            guard state.threadCount < self.maximumThreadCount else { return false }
            state.threadCount += 1
            state.busyCount += 1
            return true
        }
    }

    // MARK: More threads

    private func watch() {
        let timer = EventLoop.shared.wake(after: self.patience, BlobWaker { [weak self] in self?.look() })
        self.timer.withLock { $0 = timer }
    }

    private func look() {
        let (growth, mustWatch) = self.state.withLock { state in
            let growth = min(
                state.growth(), state.jobs.count, self.maximumThreadCount - state.threadCount, Self.maximumGrowth)
            state.threadCount += growth
            return (growth, state.mustWatch(self.maximumThreadCount))
        }
        for _ in 0..<growth { self.startThread() }
        if mustWatch { self.watch() }
    }

    private func startThread() {
        if BlobPlatform.startThread(named: "BlobStreams", stackByteCount: Self.stackByteCount, { self.work() }) { return }
        // The system has none to give now: the timer tries again while jobs wait.
        let mustWatch = self.state.withLock { state in
            state.threadCount -= 1
            return state.mustWatch(self.maximumThreadCount)
        }
        if mustWatch { self.watch() }
    }

    private func work() {
        let signal = WaitSignal()
        pthread_setspecific(Self.current, Unmanaged.passUnretained(self).toOpaque())
        while true {
            let job = self.state.withLock { state -> Job? in
                if let job = state.jobs.popFirst() {
                    state.busyCount += 1
                    state.hasMoved = true
                    return job
                }
                state.idle.append(signal)
                return nil
            }
            if let job {
                job()
                if pthread_getspecific(Self.current) == nil { return }
                self.state.withLock { $0.busyCount -= 1 }
            } else if !signal.wait(for: self.idleLifetime) {
                if self.retire(signal) { return }
                // The signal of the job is on its way. Left over, it would count this thread as idle twice next time.
                _ = signal.wait(for: nil)
            }
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
}
