extension BlobContext {
    /// Calls `waker` once, when `descriptor` is readable, hung up or in error.
    ///
    /// For reads that would otherwise block. One thread of the process waits for all descriptors; it neither reads them
    /// nor changes their flags, so they may be in blocking mode. The waker is called on that thread, must not block it,
    /// and may park again or remove registrations. A descriptor may be parked several times at once; each parking is
    /// woken.
    ///
    /// For regular files, and for devices that cannot be waited for, the waker is called at once, before this returns.
    /// On Linux a FIFO without a writer is not readable until it has had one; Apple's systems report it as hung up.
    ///
    /// - Parameters:
    ///   - descriptor: A descriptor that is open for reading. Unless the waker was called, the registration must be
    ///     removed before the descriptor is closed: the waker could otherwise be called for another file with the same
    ///     number, or never.
    ///   - waker: The waker, which is called at most once. Cancellation and limits of the context do not call it.
    /// - Returns: A registration that keeps the descriptor parked while it lives. A call that has begun when it is
    ///   removed may still be running.
    /// - Throws: ``BlobError/Code/io`` with ``BlobError/systemErrorNumber``: `EBADF` for a descriptor that is not open;
    ///   transient when the process or the system has too many open files.
    /// - Complexity: One or two system calls, and some 300 bytes while it is parked.
    public func park(_ descriptor: CInt, _ waker: BlobWaker) throws(BlobError) -> BlobRegistration {
        try EventLoop.shared.park(descriptor, waker)
    }

    /// Calls `waker` once, after `delay`.
    ///
    /// The waker is called on the thread that waits for parked descriptors, and must not block it: see ``park(_:_:)``.
    /// Time during which the machine sleeps may not count.
    ///
    /// - Parameters:
    ///   - delay: The delay; zero or less is as soon as possible. Accurate to the millisecond, and never shortened.
    ///   - waker: The waker, which is called at most once, and early only when the system cannot start a thread.
    /// - Returns: A registration that keeps the timer running while it lives; ``BlobRegistration/cancel()`` cancels it
    ///   and frees its memory.
    /// - Complexity: O(log n) for n timers.
    public func wake(after delay: Duration, _ waker: BlobWaker) -> BlobRegistration {
        EventLoop.shared.wake(after: delay, waker)
    }
}
