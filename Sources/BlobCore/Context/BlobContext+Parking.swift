extension BlobContext {
    /// Calls `waker` once, when `descriptor` is readable, hung up or in error.
    ///
    /// For what would block otherwise. One thread of the process waits for all
    /// descriptors, reads none of them and leaves their flags alone: they may be in blocking mode. The waker is called on
    /// that thread, must not block it, and may park again, or remove registrations. A descriptor may be parked several
    /// times at once; each parking is woken.
    ///
    /// Regular files and devices that nothing can be waited for are read like files: their waker is called at once,
    /// before this returns. On Linux a FIFO without a writer is not readable until a writer was there; Apple's systems
    /// call one hung up.
    ///
    /// - Parameters:
    ///   - descriptor: Open for reading. While the waker was not called, the registration must be removed before the
    ///     descriptor is closed: the waker could otherwise be called for another file that got its number, or never.
    ///   - waker: Called once at most. Cancellation and limits of the context do not call it.
    /// - Returns: Keeps the descriptor parked while it lives. A call that has begun when it is removed may still be running.
    /// - Throws: ``BlobError/Code/io`` with ``BlobError/systemErrorNumber``: `EBADF` for what is not open; transient when
    ///   the process or the system has too many open files.
    /// - Complexity: One or two system calls, and some 300 bytes while it is parked.
    public func park(_ descriptor: CInt, _ waker: BlobWaker) throws(BlobError) -> BlobRegistration {
        try EventLoop.shared.park(descriptor, waker)
    }

    /// Calls `waker` once, after `delay`.
    ///
    /// The waker is called on the thread that waits for parked descriptors, and must not block it: see
    /// ``park(_:_:)``. Time that the machine sleeps may not count.
    ///
    /// - Parameters:
    ///   - delay: Zero and less is as soon as can be. Kept to the millisecond, and never cut short.
    ///   - waker: Called once at most, and earlier only when the system has no thread to give.
    /// - Returns: Keeps the timer running while it lives; ``BlobRegistration/remove()`` cancels it and frees its memory.
    /// - Complexity: O(log n) for n timers.
    public func wake(after delay: Duration, _ waker: BlobWaker) -> BlobRegistration {
        EventLoop.shared.wake(after: delay, waker)
    }
}
