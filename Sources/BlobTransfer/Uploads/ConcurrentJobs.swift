package import BlobCore

/// Runs numbered jobs, starting at 0, several of them concurrently.
///
/// - Parameters:
///   - count: The number of jobs.
///   - limit: The maximum number of concurrent jobs, at least 1.
///   - onFailure: Called at the first failure to end the jobs in progress. No job begins after that.
///   - job: Runs the job with the given number.
/// - Returns: The results in the order of the job numbers.
/// - Throws: The first error.
package func concurrently<Value: Sendable>(
    _ count: Int, atOnce limit: Int, onFailure: @escaping @Sendable () -> Void = {},
    _ job: @escaping @Sendable (_ number: Int) async throws(BlobError) -> Value
) async throws(BlobError) -> [Value] {
    let state = Locked(JobState<Value>())
    await withTaskGroup(of: Void.self) { group in
        for _ in 0..<min(limit, count) {
            group.addTask {
                while let number = state.withLock({ $0.next(of: count) }) {
                    do throws(BlobError) {
                        let value = try await job(number)
                        state.withLock { $0.values[number] = value }
                    } catch {
                        if state.withLock({ $0.fail(error) }) { onFailure() }
                    }
                }
            }
        }
    }
    return try state.withLock { state throws(BlobError) in
        if let failure = state.failure { throw failure }
        return (0..<count).compactMap { state.values[$0] }
    }
}

private struct JobState<Value: Sendable>: Sendable {
    private var begunCount = 0
    private(set) var failure: BlobError?
    var values: [Int: Value] = [:]

    mutating func next(of count: Int) -> Int? {
        guard self.failure == nil, self.begunCount < count else { return nil }
        self.begunCount += 1
        return self.begunCount - 1
    }

    /// Records an error; returns true for the first one.
    mutating func fail(_ error: BlobError) -> Bool {
        defer { self.failure = self.failure ?? error }
        return self.failure == nil
    }
}
