import BlobPlatform

/// A pool of threads for blocking calls, which must never run on the cooperative pool of Swift's tasks.
///
/// A job runs at once on an idle thread, or on a new one while there are fewer threads than processors. Otherwise it
/// waits: the existing threads serve short jobs, and more threads are started, up to the limit, when they stall. A
/// thread that computes, or would compute if the processors were not busy, does not stall. Idle threads end after a
/// while. No job on a pool waits for a pool: a job that waits for an event leaves its pool for that time, and another
/// job may take its place.
package final class BlockingPool: Sendable {
    /// The pool for reads of sources that block, perhaps indefinitely, with one thread for each source.
    package static let reads = BlockingPool(maximumThreadCount: 512)

    /// The pool for openings and closings, which stalled reads must not delay.
    package static let openings = BlockingPool(maximumThreadCount: 128)

    /// The pool for jobs that end by themselves: computation, disk reads, notifications of waiters.
    package static let briefJobs = BlockingPool(maximumThreadCount: 16)

    /// The number of threads of all pools.
    package static var threadCount: Int {
        [self.reads, self.openings, self.briefJobs].reduce(0) { count, pool in
            count + pool.state.withLock { $0.threadCount }
        }
    }

    /// The default lifetime of an idle thread: long enough for a stream's next read, short enough to end soon after it.
    package static let defaultIdleLifetime = Duration.seconds(2)

    /// The default stall time, far longer than opening a file takes, and short compared with a wait for the network.
    package static let defaultStallTime = Duration.milliseconds(10)

    /// The number of threads up to which a pool starts a new thread immediately, without waiting for a busy one.
    package static let promptThreadCount = max(2, ProcessInfo.processInfo.activeProcessorCount)

    /// The maximum number of threads that are started at a time, on the thread that runs the timers.
    private static let maximumGrowth = 32

    /// The maximum number of jobs that wait outside their pools at once; further jobs wait in their pools.
    private static let maximumWaitingCount = 4096

    /// The stack size in bytes, ample for decoders; only touched pages cost memory.
    private static let stackByteCount = 1 << 20

    package typealias Job = @Sendable () -> Void

    private struct State {
        var jobs = Fifo<(job: Job, start: CompactInstant)>()
        var threadCount = 0
        /// The threads that have started and have not left the pool to wait.
        var threads: Set<ThreadIdentifier> = []
        /// The number of threads that run a job.
        var busyCount = 0
        var idleThreadSignals: [WaitSignal] = []
        /// The first is true if a growth check is pending; the second, if a job was started since the check was
        /// scheduled.
        var isGrowthCheckScheduled = false
        var hasMoved = false
        /// The time at which a thread was last added although all processors were in use.
        var lastBusyGrowth: ContinuousClock.Instant?

        mutating func needsGrowthCheck(_ maximumThreadCount: Int) -> Bool {
            guard !self.isGrowthCheckScheduled, !self.jobs.isEmpty, self.threadCount < maximumThreadCount else {
                return false
            }
            (self.isGrowthCheckScheduled, self.hasMoved) = (true, false)
            return true
        }

        /// Returns the number of threads to add.
        ///
        /// A quarter of the current number if no job was started and processors are free; otherwise one, if the first
        /// job has waited for many times `stallTime`. While more threads run than there are processors, another one
        /// would only compete with them, and is added after a much longer wait.
        mutating func growth(_ stallTime: Duration, runningCount: Int) -> Int {
            self.isGrowthCheckScheduled = false
            guard self.hasMoved || runningCount >= promptThreadCount else { return max(self.threadCount / 4, 1) }
            guard let start = self.jobs.first?.start.instant else { return 0 }
            let now = ContinuousClock.now
            guard runningCount >= maximumRunningCount else {
                return start.duration(to: now) >= stallTime * maximumStallCount ? 1 : 0
            }
            let busyStallTime = stallTime * busyStallCount
            guard max(start, self.lastBusyGrowth ?? start).duration(to: now) >= busyStallTime else { return 0 }
            self.lastBusyGrowth = now
            return 1
        }
    }

    /// The number of stall times that a job waits before a thread is started for it although other jobs are started or
    /// compute: a quarter of a second by default, enough to read and hash two hundred slices of a file.
    package static let maximumStallCount = 25

    /// The number of running threads at which a pool starts more threads only for jobs that have waited long; one more
    /// than ``promptThreadCount``.
    private static let maximumRunningCount = promptThreadCount + 1

    /// The number of stall times that a job waits if all processors are in use, and that then pass before another
    /// thread is started: two seconds by default. Long computations may occupy all threads, while the reader of another
    /// job needs only a few bytes.
    private static let busyStallCount = 8 * maximumStallCount

    private static let waitingCount = Locked(0)

    /// The thread-specific key under which each thread of a pool stores a reference to its pool.
    private static let currentPoolKey = makeThreadKey()

    private let state = Locked(State())
    private let timer = Locked((lastNumber: 0, registration: BlobRegistration?.none))
    private let maximumThreadCount: Int
    private let idleLifetime: Duration
    private let stallTime: Duration

    /// Creates a pool without threads.
    ///
    /// - Parameter stallTime: The time that jobs wait for busy threads before more threads are started.
    package init(
        maximumThreadCount: Int, idleLifetime: Duration = BlockingPool.defaultIdleLifetime,
        stallTime: Duration = BlockingPool.defaultStallTime
    ) {
        self.maximumThreadCount = maximumThreadCount
        self.idleLifetime = idleLifetime
        self.stallTime = stallTime
    }

    /// The current number of threads, not counting threads that have left to wait.
    package var threadCount: Int { self.state.withLock { $0.threadCount } }

    /// Runs a job, which may block for any length of time.
    ///
    /// - Returns: False if the pool has no thread for the job now and may not start one: the job waits for another to
    ///   end.
    @discardableResult
    package func run(_ job: @escaping Job) -> Bool {
        let (hasRoom, idle, isNew, needsGrowthCheck) = self.state.withLock { state -> (Bool, WaitSignal?, Bool, Bool) in
            state.jobs.append((job, .now))
            let hasRoom = state.jobs.count + state.busyCount <= self.maximumThreadCount
            if let idle = state.idleThreadSignals.popLast() { return (hasRoom, idle, false, false) }
            guard state.threadCount < min(self.maximumThreadCount, Self.promptThreadCount) else {
                return (hasRoom, nil, false, state.needsGrowthCheck(self.maximumThreadCount))
            }
            state.threadCount += 1
            return (hasRoom, nil, true, false)
        }
        idle?.signal()
        if isNew { self.startThread() }
        if needsGrowthCheck { self.scheduleGrowthCheck() }
        return hasRoom
    }

    /// True on the threads of any pool.
    static var isCurrentThread: Bool { pthread_getspecific(self.currentPoolKey) != nil }

    /// Runs `body`, which waits; meanwhile, the calling thread leaves its pool, if it belongs to one.
    package static func runOutside<Result, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        guard let pointer = pthread_getspecific(self.currentPoolKey) else { return try body() }
        let mayLeave = self.waitingCount.withLock { count in
            guard count < self.maximumWaitingCount else { return false }
            count += 1
            return true
        }
        guard mayLeave else { return try body() }
        let pool = Unmanaged<BlockingPool>.fromOpaque(pointer).takeUnretainedValue()
        pthread_setspecific(self.currentPoolKey, nil)
        pool.detachThread()
        defer {
            self.waitingCount.withLock { $0 -= 1 }
            // Without a place in the pool, the thread ends after its job.
            if pool.rejoin() { pthread_setspecific(self.currentPoolKey, pointer) }
        }
        return try body()
    }

    private func detachThread() {
        let needsGrowthCheck = self.state.withLock { state in
            state.threadCount -= 1
            state.threads.remove(.current)
            state.busyCount -= 1
            return state.needsGrowthCheck(self.maximumThreadCount)
        }
        if needsGrowthCheck { self.scheduleGrowthCheck() }
    }

    private func rejoin() -> Bool {
        self.state.withLock { state in
            guard state.threadCount < self.maximumThreadCount else { return false }
            state.threadCount += 1
            state.threads.insert(.current)
            state.busyCount += 1
            return true
        }
    }

    // MARK: More threads

    private func scheduleGrowthCheck() {
        // If no thread for timers is available either, the next call of `run` tries again.
        guard EventLoop.shared.isRunning else { return self.state.withLock { $0.isGrowthCheckScheduled = false } }
        let number = self.timer.withLock { timer in
            timer.lastNumber += 1
            return timer.lastNumber
        }
        let registration = EventLoop.shared.wake(
            after: self.stallTime, BlobWaker { [weak self] in self?.checkGrowth() })
        // The timer may already have fired and been followed by another, which must not be cancelled.
        _ = self.timer.withLock { timer -> BlobRegistration? in
            guard number == timer.lastNumber else { return nil }
            defer { timer.registration = registration }
            return timer.registration  // Released outside the lock.
        }
    }

    private func checkGrowth() {
        let runningCount = self.runningCount
        let (growth, needsGrowthCheck) = self.state.withLock { state in
            let growth = min(
                state.growth(self.stallTime, runningCount: runningCount), state.jobs.count,
                self.maximumThreadCount - state.threadCount, Self.maximumGrowth)
            state.threadCount += growth
            return (growth, state.needsGrowthCheck(self.maximumThreadCount))
        }
        for _ in 0..<growth { self.startThread() }
        if needsGrowthCheck { self.scheduleGrowthCheck() }
    }

    /// The number of threads that are about to begin, run, or would run if the processors were not busy; counted only
    /// up to the number that matters.
    private var runningCount: Int {
        let (threads, beginningCount) = self.state.withLock { ($0.threads, $0.threadCount - $0.threads.count) }
        return beginningCount + threads.count(atMost: Self.maximumRunningCount) { !$0.isWaiting }
    }

    private func startThread() {
        if BlobPlatform.startThread(named: "BlobStreams", stackByteCount: Self.stackByteCount, { self.work() }) {
            return
        }
        // The system cannot start a thread now; the timer tries again while jobs wait.
        let needsGrowthCheck = self.state.withLock { state in
            state.threadCount -= 1
            return state.needsGrowthCheck(self.maximumThreadCount)
        }
        if needsGrowthCheck { self.scheduleGrowthCheck() }
    }

    private func work() {
        let signal = WaitSignal()
        self.state.withLock { _ = $0.threads.insert(.current) }
        pthread_setspecific(Self.currentPoolKey, Unmanaged.passUnretained(self).toOpaque())
        while true {
            let job = self.state.withLock { state -> Job? in
                if let (job, _) = state.jobs.popFirst() {
                    state.busyCount += 1
                    state.hasMoved = true
                    return job
                }
                state.idleThreadSignals.append(signal)
                return nil
            }
            if let job {
                job()
                if pthread_getspecific(Self.currentPoolKey) == nil { return }
                self.state.withLock { $0.busyCount -= 1 }
            } else if !signal.wait(for: self.idleLifetime) {
                if self.retire(signal) { return }
                // The signal for a job is imminent. If it were left over, it would later make this thread count as idle
                // twice.
                _ = signal.wait(for: nil)
            }
        }
    }

    /// Removes an idle thread from the pool; returns false if a job has just been given to it.
    private func retire(_ signal: WaitSignal) -> Bool {
        self.state.withLock { state in
            guard let index = state.idleThreadSignals.firstIndex(where: { $0 === signal }) else { return false }
            state.idleThreadSignals.remove(at: index)
            state.threads.remove(.current)
            state.threadCount -= 1
            return true
        }
    }

    /// Makes a call that may block on a thread of this pool, or on the current thread if it belongs to any pool.
    package nonisolated(nonsending) func value<Value: Sendable>(
        _ body: @escaping @Sendable () throws(BlobError) -> Value
    ) async throws(BlobError) -> Value {
        if Self.isCurrentThread { return try body() }
        let result = await withCheckedContinuation { continuation in
            _ = self.run { continuation.resume(returning: Result { () throws(BlobError) in try body() }) }
        }
        return try result.get()
    }

    /// Runs tasks on a thread of this pool, so that their calls may block. On systems without task executors, they run
    /// where all tasks run, and only calls of ``value(_:)`` may block.
    package func runTasks(_ body: @escaping @Sendable () async -> Void) {
        if #available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *) {
            Task(executorPreference: PoolExecutor(self), operation: body)
        } else {
            Task(operation: body)
        }
    }
}

extension Sequence {
    /// Returns the number of elements that satisfy a predicate, or the limit if there are more. Calls the predicate
    /// once per element: a lazy filter traps if the results change between its passes.
    package func count(atMost limit: Int, where predicate: (Element) -> Bool) -> Int {
        var count = 0
        for element in self where count < limit && predicate(element) { count += 1 }
        return count
    }
}

@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
private final class PoolExecutor: TaskExecutor {
    private let pool: BlockingPool

    init(_ pool: BlockingPool) { self.pool = pool }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        self.pool.run { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
