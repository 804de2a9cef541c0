import Foundation

/// Runs a job that may block on a thread of its own.
///
/// Tests run on the cooperative pool, which has as many threads as the machine has cores: blocking there would keep the
/// tasks of other tests from running, and sooner or later all of them.
package func onThread<Value: Sendable>(_ job: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        Thread { continuation.resume(with: Result { try job() }) }.start()
    }
}

/// Runs `job` on `count` threads at once, with their numbers from 0, and waits for all.
///
/// - Returns: The results, in the order in which the threads ended.
@discardableResult
package func onThreads<Value: Sendable>(
    _ count: Int, _ job: @escaping @Sendable (Int) throws -> Value
) async throws -> [Value] {
    try await withThrowingTaskGroup { group in
        for number in 0..<count {
            group.addTask { try await onThread { try job(number) } }
        }
        return try await group.reduce(into: []) { $0.append($1) }
    }
}
