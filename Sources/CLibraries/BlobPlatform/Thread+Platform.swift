package import CPlatform

// Only the differences between the threads of the systems.

/// Starts a thread that is never joined.
///
/// - Parameters:
///   - name: The name that debuggers show: at most 15 bytes of ASCII.
///   - stackByteCount: The size of the stack in bytes; nil for the system's default. Only touched pages cost memory.
///   - body: The closure that the thread runs; the thread ends when it returns.
/// - Returns: False if the system cannot create a thread; then `body` never runs.
package func startThread(
    named name: String, stackByteCount: Int? = nil, _ body: @escaping @Sendable () -> Void
) -> Bool {
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    defer { pthread_attr_destroy(&attributes) }
    pthread_attr_setdetachstate(&attributes, CInt(PTHREAD_CREATE_DETACHED))
    if let stackByteCount { pthread_attr_setstacksize(&attributes, stackByteCount) }
    let job = Unmanaged.passRetained(ThreadJob(name: name, body))
    #if canImport(Darwin)
    var thread: pthread_t?
    let result = pthread_create(&thread, &attributes, { runJob($0) }, job.toOpaque())
    #else
    var thread = pthread_t()
    let result = pthread_create(&thread, &attributes, { runJob($0) }, job.toOpaque())
    #endif
    if result != 0 { job.release() }
    return result == 0
}

/// A running thread of this process.
package struct ThreadIdentifier: Hashable, Sendable {
    private let number: CInt

    /// The calling thread.
    package static var current: Self { Self(number: blob_thread_id()) }

    /// True while the thread waits for anything but a processor, and if the system does not report its state. Costs
    /// three system calls on Linux.
    package var isWaiting: Bool { blob_thread_waits(self.number) != 0 }
}

private final class ThreadJob: Sendable {
    let name: String
    let body: @Sendable () -> Void

    init(name: String, _ body: @escaping @Sendable () -> Void) { (self.name, self.body) = (name, body) }
}

private func runJob(_ pointer: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let pointer else { return nil }
    let job = Unmanaged<ThreadJob>.fromOpaque(pointer).takeRetainedValue()
    blob_name_thread(job.name)
    job.body()
    return nil
}

/// Creates a key for thread-local values.
package func makeThreadKey() -> pthread_key_t {
    var key = pthread_key_t()
    let result = pthread_key_create(&key, nil)
    precondition(result == 0, "The process has too many thread-specific values.")
    return key
}
