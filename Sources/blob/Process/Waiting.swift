#if Command
import BlobStreamsStandard

/// Runs a task on the pool for opening sources, and blocks this thread until the task ends.
///
/// This function is the only bridge from the command's blocking threads to asynchronous code. Never call it on a thread
/// of this pool.
func waiting<Value: Sendable>(
    for task: @escaping @Sendable () async throws(BlobError) -> Value
) throws(BlobError) -> Value {
    let (outcome, ended) = (Locked<Result<Value, BlobError>?>(nil), WaitSignal())
    BlockingPool.openings.runTasks {
        do throws(BlobError) {
            let value = try await task()
            outcome.withLock { $0 = .success(value) }
        } catch {
            outcome.withLock { $0 = .failure(error) }
        }
        ended.signal()
    }
    _ = ended.wait(for: nil)
    guard let value = try outcome.withLock({ $0 })?.get() else { preconditionFailure("The task must have ended.") }
    return value
}
#endif
