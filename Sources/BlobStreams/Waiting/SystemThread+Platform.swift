import Foundation

// What is different about the threads of the system, and nothing else.

/// Starts a thread that is never joined.
///
/// - Returns: False when the system has no thread to give.
func startSystemThread(_ body: @escaping @Sendable () -> Void) -> Bool {
    let job = Unmanaged.passRetained(ThreadJob(body))
    #if canImport(Darwin)
        var thread: pthread_t?
        let result = pthread_create(&thread, nil, { runJob($0) }, job.toOpaque())
        if result == 0, let thread { pthread_detach(thread) }
    #else
        var thread = pthread_t()
        let result = pthread_create(&thread, nil, { runJob($0) }, job.toOpaque())
        if result == 0 { pthread_detach(thread) }
    #endif
    if result != 0 { job.release() }
    return result == 0
}

private final class ThreadJob: Sendable {
    let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
}

private func runJob(_ job: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    if let job { Unmanaged<ThreadJob>.fromOpaque(job).takeRetainedValue().body() }
    return nil
}

/// A place for a value of each thread.
func makeThreadKey() -> pthread_key_t {
    var key = pthread_key_t()
    let result = pthread_key_create(&key, nil)
    precondition(result == 0, "The process has no room for one more thread-specific value.")
    return key
}
