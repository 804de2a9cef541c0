/// A signal that a read is worth trying again.
///
/// The owner of a reader makes a waker and passes it to ``BlobReader/whenReadable(_:)`` after a read returned
/// ``BlobReadResult/notYet``. It only signals: it resumes a task, signals a semaphore, or schedules a job that reads.
/// It never reads or closes itself, and never blocks, because it is called by the thread that produces the bytes.
public final class BlobWaker: Sendable {
    private let signal: @Sendable () -> Void

    /// Creates a waker.
    ///
    /// - Parameter signal: A closure that is called at each ``wake()``, on any thread, perhaps on several at once.
    public init(_ signal: @escaping @Sendable () -> Void) { self.signal = signal }

    /// Signals. A surplus call does no harm: the read that follows returns `notYet` again.
    public func wake() { self.signal() }
}
