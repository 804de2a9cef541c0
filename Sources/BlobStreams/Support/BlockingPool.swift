import Foundation

/// Threads for calls that block, so that those never run on the cooperative pool of Swift's tasks.
///
/// A job runs at once on an idle thread or a new one, up to the bound; past that it waits for a thread. Idle threads
/// end after a while. Nothing on a pool waits for a pool: a job that waits for an event leaves it for that time, and
/// another may have its place.
package final class BlockingPool: Sendable {
    /// For reads of sources that block, perhaps for ever: one a source.
    package static let reads = BlockingPool(maximumThreadCount: 512)

    /// For openings and closings, which stalled reads must not hold up.
    package static let openings = BlockingPool(maximumThreadCount: 128)

    /// For what ends by itself: computing, reads of a disk, and the notices of those who wait.
    package static let brief = BlockingPool(maximumThreadCount: 16)

    /// Long enough to serve one stream's next read, short enough to be gone when nobody reads.
    package static let defaultIdleLifetime = Duration.seconds(2)

    /// How many jobs may wait outside of their pools at once; more of them keep their places.
    private static let maximumWaitingCount = 4096

    /// What decoders need with room to spare; only touched pages cost memory.
    private static let stackByteCount = 1 << 20

    package typealias Job = @Sendable () -> Void

    private struct State {
        var jobs: [Job] = []
        var next = 0  // Of `jobs`.
        var threadCount = 0
        var idle: [WaitSignal] = []

        mutating func removeFirstJob() -> Job? {
            guard self.next < self.jobs.count else {
                (self.jobs, self.next) = ([], 0)
                return nil
            }
            self.next += 1
            return self.jobs[self.next - 1]
        }
    }

    private static let waitingCount = Locked(0)

    /// The pool of the calling thread, while it is one of its threads.
    private static let current: pthread_key_t = {
        var key = pthread_key_t()
        let result = pthread_key_create(&key, nil)
        precondition(result == 0, "The process has no room for one more thread-specific value.")
        return key
    }()

    private let state = Locked(State())
    private let maximumThreadCount: Int
    private let idleLifetime: Duration

    package init(maximumThreadCount: Int, idleLifetime: Duration = BlockingPool.defaultIdleLifetime) {
        self.maximumThreadCount = maximumThreadCount
        self.idleLifetime = idleLifetime
    }

    /// How many threads there are now, without those that wait.
    package var threadCount: Int { self.state.withLock { $0.threadCount } }

    /// Runs a job that may block for as long as it likes.
    ///
    /// - Returns: False when the pool has no thread for it now: the job waits for one.
    @discardableResult
    package func run(_ job: @escaping Job) -> Bool {
        let (idle, isNew) = self.state.withLock { state -> (WaitSignal?, Bool) in
            state.jobs.append(job)
            if let idle = state.idle.popLast() { return (idle, false) }
            guard state.threadCount < self.maximumThreadCount else { return (nil, false) }
            state.threadCount += 1
            return (nil, true)
        }
        idle?.signal()
        if isNew { self.startThread() }
        return idle != nil || isNew
    }

    /// Runs `body`, which waits, outside of the pool that the calling thread belongs to, if it does.
    package static func leave<Result>(_ body: () -> Result) -> Result {
        guard let pointer = pthread_getspecific(self.current) else { return body() }
        let mayLeave = self.waitingCount.withLock { count in
            guard count < self.maximumWaitingCount else { return false }
            count += 1
            return true
        }
        guard mayLeave else { return body() }
        let pool = Unmanaged<BlockingPool>.fromOpaque(pointer).takeUnretainedValue()
        pthread_setspecific(self.current, nil)
        pool.leave()
        defer {
            self.waitingCount.withLock { $0 -= 1 }
            // Without a place it ends with its job.
            if pool.comeBack() { pthread_setspecific(self.current, pointer) }
        }
        return body()
    }

    private func leave() {
        let needsThread = self.state.withLock { state in
            // A job that waits gets the place.
            guard state.next < state.jobs.count, state.idle.isEmpty else {
                state.threadCount -= 1
                return false
            }
            return true
        }
        if needsThread { self.startThread() }
    }

    private func comeBack() -> Bool {
        self.state.withLock { state in
            guard state.threadCount < self.maximumThreadCount else { return false }
            state.threadCount += 1
            return true
        }
    }

    private func startThread() {
        let thread = Thread { self.work() }
        thread.stackSize = Self.stackByteCount
        thread.name = "BlobStreams"
        thread.start()
    }

    private func work() {
        let signal = WaitSignal()
        pthread_setspecific(Self.current, Unmanaged.passUnretained(self).toOpaque())
        while true {
            let job = self.state.withLock { state -> Job? in
                if let job = state.removeFirstJob() { return job }
                state.idle.append(signal)
                return nil
            }
            if let job {
                job()
                if pthread_getspecific(Self.current) == nil { return }
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
