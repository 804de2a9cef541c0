/// A signal that a read is worth trying again.
///
/// The owner of a reader makes a waker and passes it to ``BlobPluginReader/whenReadable(_:)`` after a read returned
/// ``BlobReadResult/notYet``. It only signals: it resumes a task, signals a semaphore, or schedules a job that reads.
/// It never reads or closes itself, and never blocks, because it is called by the thread that produces the bytes.
public final class BlobWaker: Sendable {
    private enum Signal {
        case plain(@Sendable () -> Void)
        case reporting(@Sendable (_ isMissing: Bool) -> Void)
    }

    private let signal: Signal

    /// Creates a waker.
    ///
    /// - Parameter signal: A closure that is called at each ``wake()``, on any thread, perhaps on several at once.
    public init(_ signal: @escaping @Sendable () -> Void) { self.signal = .plain(signal) }

    /// Creates a waker that is also called, with `isMissing`, by a reader that cannot call wakers.
    package init(reporting signal: @escaping @Sendable (_ isMissing: Bool) -> Void) { self.signal = .reporting(signal) }

    /// Signals. A surplus call does no harm: the read that follows returns `notYet` again.
    public func wake() { self.call(isMissing: false) }

    func reportMissing() { self.call(isMissing: true) }

    private func call(isMissing: Bool) {
        switch self.signal {
        case .plain(let signal): signal()
        case .reporting(let signal): signal(isMissing)
        }
    }
}
