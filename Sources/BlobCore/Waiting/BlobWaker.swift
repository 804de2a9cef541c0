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

/// The place where a consumer that waits leaves its waker for the producer.
///
/// The producer changes its bytes, then calls ``fire()``, outside of any lock; the slot remembers the call until the
/// next read, and a waker that is stored before that is called at once.
public final class BlobWakerSlot: Sendable {
    private struct State {
        var waker: BlobWaker?
        var wasFired = false
    }

    private let state = Locked(State())

    /// Creates an empty slot.
    public init() {}

    /// Calls the waker that is stored, and drops it. A call too many does no harm.
    public func fire() {
        let waker = self.state.withLock { state in
            state.wasFired = true
            return state.waker.take()
        }
        waker?.wake()
    }

    /// Stores a waker for one call, in place of the last one; calls it at once when the slot was fired since the last
    /// read.
    public func store(_ waker: BlobWaker) {
        let isDue = self.state.withLock { state in
            state.waker = state.wasFired ? nil : waker
            return state.wasFired
        }
        if isDue { waker.wake() }
    }

    /// Forgets the calls before a read that follows.
    ///
    /// - Returns: True when there were any.
    func takeFired() -> Bool {
        self.state.withLock { state in
            defer { state.wasFired = false }
            return state.wasFired
        }
    }

    /// Removes the waker, and forgets a call.
    @discardableResult
    func clear() -> BlobWaker? { self.state.exchange(State()).waker }
}
