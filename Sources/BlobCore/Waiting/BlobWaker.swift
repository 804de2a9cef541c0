/// A signal that a read is worth trying again.
///
/// The owner of a reader creates a waker and passes it to ``BlobReader/whenReadable(_:)`` after a read returned
/// ``BlobReadResult/notYet``. A waker only signals: it resumes a task, signals a semaphore, or schedules a job that
/// reads. It never reads or closes itself, and never blocks, because it is called on the thread that produces the
/// bytes.
public final class BlobWaker: Sendable {
    private let signal: @Sendable () -> Void

    /// Creates a waker.
    ///
    /// - Parameter signal: A closure that is called by each ``wake()``, on any thread, perhaps on several at once.
    public init(_ signal: @escaping @Sendable () -> Void) { self.signal = signal }

    /// Signals that a read is worth trying again. A spurious call is harmless: the read that follows returns `notYet`
    /// again.
    public func wake() { self.signal() }
}

/// The slot in which a waiting consumer stores its waker for the producer.
///
/// The producer changes its bytes, then calls ``fire()``, outside any lock; the slot remembers the call until the next
/// read, and calls a waker that is stored before then at once.
public final class BlobWakerSlot: Sendable {
    private struct State {
        var waker: BlobWaker?
        var wasFired = false
    }

    private let state = Locked(State())

    /// Creates an empty slot.
    public init() {}

    /// Calls the stored waker, and removes it. A spurious call is harmless.
    public func fire() {
        let waker = self.state.withLock { state in
            state.wasFired = true
            return state.waker.take()
        }
        waker?.wake()
    }

    /// Stores a waker for one call, in place of the previous one; calls it at once if the slot was fired since the last
    /// read.
    public func store(_ waker: BlobWaker) {
        let isDue = self.state.withLock { state in
            state.waker = state.wasFired ? nil : waker
            return state.wasFired
        }
        if isDue { waker.wake() }
    }

    /// Forgets the calls of ``fire()`` that were made before an upcoming read.
    ///
    /// - Returns: True if there were any calls.
    func takeFired() -> Bool {
        self.state.withLock { state in
            defer { state.wasFired = false }
            return state.wasFired
        }
    }

    /// Removes and returns the waker, and forgets the calls of ``fire()``.
    @discardableResult
    func clear() -> BlobWaker? { self.state.exchange(State()).waker }
}
