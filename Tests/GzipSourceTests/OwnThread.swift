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
