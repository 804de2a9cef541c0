import Foundation

/// Threads for calls that block, so that those never run on the cooperative pool of Swift's tasks.
///
/// A job runs at once on an idle thread or a new one, up to the bound; past that it waits for a thread. Idle threads
/// end after a while.
package final class BlockingPool: Sendable {
    /// More than a process has use for, so that stalled sources do not stop others.
    package static let shared = BlockingPool(maximumThreadCount: 512)

    /// Long enough to serve one stream's next read, short enough to be gone when nobody reads.
    package static let defaultIdleLifetime = Duration.seconds(2)

    /// What decoders need with room to spare; only touched pages cost memory.
    private static let stackByteCount = 1 << 20

    private struct State {
        var jobs: [@Sendable () -> Void] = []
        var threadCount = 0
        var idle: [WaitSignal] = []
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

    package func run(_ job: @escaping @Sendable () -> Void) {
        let (idle, isNew) = self.state.withLock { state -> (WaitSignal?, Bool) in
            state.jobs.append(job)
            if let idle = state.idle.popLast() { return (idle, false) }
            guard state.threadCount < self.maximumThreadCount else { return (nil, false) }
            state.threadCount += 1
            return (nil, true)
        }
        idle?.signal()
        guard isNew else { return }
        let thread = Thread { self.work() }
        thread.stackSize = Self.stackByteCount
        thread.name = "BlobStreams"
        thread.start()
    }

    private func work() {
        let signal = WaitSignal()
        while true {
            let job = self.state.withLock { state -> (@Sendable () -> Void)? in
                guard state.jobs.isEmpty else { return state.jobs.removeFirst() }
                state.idle.append(signal)
                return nil
            }
            if let job {
                job()
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
