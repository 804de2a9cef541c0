import BlobStreams
import Foundation

/// Runs a job that may block on a thread of its own.
///
/// Tests run on the cooperative pool, which has as many threads as the machine has cores: blocking there would keep the
/// tasks of other tests from running, and sooner or later all of them.
func onThread<Value: Sendable>(_ job: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        Thread { continuation.resume(with: Result { try job() }) }.start()
    }
}

/// Runs `job` on `count` threads at once, with their numbers from 0, and waits for all.
func onThreads(_ count: Int, _ job: @escaping @Sendable (Int) throws -> Void) async throws {
    try await withThrowingTaskGroup { group in
        for number in 0..<count {
            group.addTask { try await onThread { try job(number) } }
        }
        try await group.waitForAll()
    }
}

/// The code of the `BlobError` that `body` throws; nil when it throws nothing.
func codeThrown(by body: () throws -> some Any) -> BlobError.Code? {
    do {
        _ = try body()
        return nil
    } catch {
        return BlobError(wrapping: error).code
    }
}

/// The code of the `BlobError` that `body` throws; nil when it throws nothing.
func asyncCodeThrown(by body: () async throws -> some Any) async -> BlobError.Code? {
    do {
        _ = try await body()
        return nil
    } catch {
        return BlobError(wrapping: error).code
    }
}
