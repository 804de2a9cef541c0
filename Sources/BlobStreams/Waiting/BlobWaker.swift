/// The signal that something is worth trying again: a descriptor that ``BlobContext/park(_:_:)`` waits for is ready, or the
/// time of ``BlobContext/wake(after:_:)`` has come.
///
/// It only signals: it resumes a task, signals a semaphore, or schedules a job. It never reads or closes itself, and never
/// blocks, because one thread calls the wakers of the whole process.
public final class BlobWaker: Sendable {
    private let signal: @Sendable () -> Void

    /// Creates a waker.
    ///
    /// - Parameter signal: Called at each ``wake()``, on any thread, perhaps on several at once.
    public init(_ signal: @escaping @Sendable () -> Void) { self.signal = signal }

    /// Signals. One call too many does no harm: there is nothing yet when it is tried again.
    public func wake() { self.signal() }
}
