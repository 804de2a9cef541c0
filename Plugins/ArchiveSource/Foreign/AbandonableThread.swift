import BlobStreams
import Foundation

/// A thread for calls that may never return: whoever waits for them can leave.
///
/// Has one user, who makes one call at a time. The thread ends with this object, or with the call that was left.
final class AbandonableThread: Sendable {
    /// How many threads may be left to themselves at a time, in the whole process.
    static let maximumAbandonedCount = 4

    private static let abandonedCount = Locked(0)

    /// The state that the thread and its user share; outlives the user when a call does.
    private final class Shared: Sendable {
        struct State {
            var job: (@Sendable () -> Void)?
            var isStopped = false
            var isAbandoned = false
        }

        let state = Locked(State())
        let hasJob = WaitSignal()
        let isDone = WaitSignal()

        func work() {
            while true {
                _ = self.hasJob.wait(for: nil)
                let (job, isStopped) = self.state.withLock { state in
                    defer { state.job = nil }
                    return (state.job, state.isStopped)
                }
                job?()
                let isAbandoned = self.state.withLock { $0.isAbandoned }
                if isAbandoned { AbandonableThread.abandonedCount.withLock { $0 -= 1 } }
                if isAbandoned || isStopped { return }
                if job != nil { self.isDone.signal() }
            }
        }
    }

    private let shared = Shared()

    /// - Throws: ``BlobError/Code/limitExceeded`` when too many threads were left already.
    init() throws(BlobError) {
        guard Self.abandonedCount.withLock({ $0 }) < Self.maximumAbandonedCount else {
            throw BlobError(
                .limitExceeded,
                "\(Self.maximumAbandonedCount) threads are still in libarchive for jobs that are over: that is the limit.",
                isTransient: true)
        }
        let shared = self.shared
        Thread { shared.work() }.start()
    }

    deinit {
        self.shared.state.withLock { $0.isStopped = true }
        self.shared.hasJob.signal()
    }

    /// Runs `job` on the thread and waits for it, at most as long as the context lets it.
    ///
    /// - Throws: What `job` throws; ``BlobError/Code/cancelled`` and ``BlobError/Code/timedOut``, after which `job` may
    ///   still be running, and this thread runs nothing else.
    func run<Value: Sendable>(
        _ context: BlobContext, _ job: @escaping @Sendable () throws(BlobError) -> Value
    ) throws(BlobError) -> Value {
        let shared = self.shared
        let result = Locked<Result<Value, BlobError>?>(nil)
        let isFree = shared.state.withLock { state in
            guard !state.isAbandoned else { return false }
            state.job = {
                let value = Result { () throws(BlobError) in try job() }
                result.withLock { $0 = value }
            }
            return true
        }
        guard isFree else { throw BlobError(.closed, "The archive was left to itself.") }
        shared.hasJob.signal()
        do throws(BlobError) {
            return try context.wait(on: shared.isDone) { () throws(BlobError) in result.withLock { $0 } }.get()
        } catch {
            // Whether the job is done is looked at under the lock that the thread asks under.
            shared.state.withLock { state in
                guard result.withLock({ $0 == nil }), !state.isAbandoned else { return }
                state.isAbandoned = true
                Self.abandonedCount.withLock { $0 += 1 }
            }
            throw error
        }
    }
}
