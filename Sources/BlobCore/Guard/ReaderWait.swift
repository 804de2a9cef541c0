/// The waits of a ``BlobReader``: their limits, and what fires the slot besides the plugin.
struct ReaderWait {
    /// True when the limits apply to a wait that begins now; false while nothing waits for bytes that are not there
    /// yet.
    var isLimited = true
    private var limit: BlobContext.StepLimit?  // The limit of the current wait.
    private var slot: BlobWakerSlot?
    private var cancelling: BlobRegistration?
    private var timer: (registration: BlobRegistration, end: Moment, isOver: Locked<Bool>)?
    private var blocked: (signal: WaitSignal, waker: BlobWaker)?

    /// Begins a wait for `slot`, which a cancellation and the end of the time limit fire as well.
    ///
    /// - Throws: ``BlobError/Code/timedOut`` for a wait that took too long.
    mutating func begin(_ context: BlobContext, _ slot: BlobWakerSlot) throws(BlobError) {
        self.attach(to: slot, context)
        guard self.isLimited else { return }
        let limit = self.limit ?? context.stepLimit()
        self.limit = limit
        guard let end = limit.end else { return }
        guard Moment.now < end else { throw limit.error(idleLimit: context.idleLimit) }
        // A pending timer that is earlier fires early, and the next wait sets another one.
        if let timer, timer.end <= end, !timer.isOver.withLock({ $0 }) { return }
        let isOver = Locked(false)
        let waker = BlobWaker { [weak slot] in
            isOver.withLock { $0 = true }
            slot?.fire()
        }
        self.timer = (context.wake(after: end.remaining, waker), end, isOver)
    }

    /// Makes a cancellation fire `slot`, and moves a waker that was stored in the last slot, and not called, to it.
    mutating func attach(to slot: BlobWakerSlot, _ context: BlobContext) {
        guard slot !== self.slot else { return }
        if let waker = self.slot?.clear() { slot.store(waker) }
        (self.slot, self.timer) = (slot, nil)
        self.cancelling = context.cancellation.onCancel { [weak slot] in slot?.fire() }
    }

    /// True from a read in vain to the next bytes.
    var isWaiting: Bool { self.limit != nil }

    mutating func end() { self.limit = nil }

    /// Returns a waker that ends the next ``block()``.
    mutating func unblocker() -> BlobWaker {
        let blocked = self.blocked ?? { signal in (signal, BlobWaker { signal.signal() }) }(WaitSignal())
        self.blocked = blocked
        return blocked.waker
    }

    func block() { BlockingPool.leave { _ = self.blocked?.signal.wait(for: nil) } }

    /// Drops the consumer's waker, and ends the registrations.
    mutating func close() {
        self.slot?.clear()
        (self.slot, self.cancelling, self.timer) = (nil, nil, nil)
    }
}
