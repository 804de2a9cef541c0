extension BlockingPool {
    /// Makes a call that may block, on a thread of this pool; in place on a thread of any pool.
    package nonisolated(nonsending) func value<Value: Sendable>(
        _ body: @escaping @Sendable () throws(BlobError) -> Value
    ) async throws(BlobError) -> Value {
        if Self.isCurrentThread { return try body() }
        let result = await withCheckedContinuation { continuation in
            _ = self.run { continuation.resume(returning: Result { () throws(BlobError) in try body() }) }
        }
        return try result.get()
    }

    /// Runs tasks on a thread of this pool, so that their calls may block. On systems without executors for tasks they
    /// run where all tasks do, and only calls of ``value(_:)`` may block.
    package func runTasks(_ body: @escaping @Sendable () async -> Void) {
        if #available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *) {
            Task(executorPreference: PoolExecutor(self), operation: body)
        } else {
            Task(operation: body)
        }
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
