/// The signal that a read is worth trying again.
///
/// Whoever reads makes one, and gives it to ``BlobReader/whenReadable(_:)`` after a read said
/// ``BlobReadResult/notYet``. It only signals: it resumes a task, signals a semaphore, or schedules a job that reads.
/// It never reads or closes itself, and never blocks, because it is called by the thread that produces the bytes.
public final class BlobWaker: Sendable {
    private let signal: @Sendable (_ isMissing: Bool) -> Void

    /// Creates a waker.
    ///
    /// - Parameter signal: Called at each ``wake()``, on any thread, perhaps on several at once.
    public init(_ signal: @escaping @Sendable () -> Void) { self.signal = { _ in signal() } }

    /// Creates a waker that is also told when the reader cannot wake anybody.
    init(reporting signal: @escaping @Sendable (_ isMissing: Bool) -> Void) { self.signal = signal }

    /// Signals. One call too many does no harm: the read that follows says again that there is nothing yet.
    public func wake() { self.signal(false) }

    func reportMissing() { self.signal(true) }
}
