/// The waits of a ``BlobGuardedReader``: how long each may last, and who is woken.
package struct ReaderWait {
    /// Whether waits begin now: false while nobody waits for what a read may not bring yet.
    package var isLimited = true
    private var limit: BlobContext.StepLimit?  // Of the wait that goes on.
    private var relay: (WakerRelay, waker: BlobWaker)?
    private var blocked: (signal: WaitSignal, waker: BlobWaker)?

    /// Begins a wait, or ends one that took too long or has nobody to end it.
    mutating func begin(_ context: BlobContext) throws(BlobError) {
        if self.relay?.0.isMissing == true {
            throw BlobError(.misbehavingPlugin, "The reader says that nothing is there yet, and never tells when (C1).")
        }
        guard self.isLimited else { return }
        let limit = self.limit ?? context.stepLimit()
        self.limit = limit
        if let end = limit.end, Moment.now >= end { throw limit.error(idleLimit: context.idleLimit) }
    }

    mutating func end() { if self.limit != nil { self.limit = nil } }

    /// The waker for the plugin: it wakes `waker`, as do the end of the job and of its time.
    mutating func relay(to waker: BlobWaker, _ context: BlobContext) -> BlobWaker {
        let relay = self.relay ?? { relay in (relay, relay.makeWaker()) }(WakerRelay())
        self.relay = relay
        relay.0.prepare(waker, context, until: self.limit?.end)
        return relay.waker
    }

    /// A waker that ends the next ``block()``.
    mutating func unblocker() -> BlobWaker {
        let blocked = self.blocked ?? { signal in (signal, BlobWaker { signal.signal() }) }(WaitSignal())
        self.blocked = blocked
        return blocked.waker
    }

    func block() { BlockingPool.leave { _ = self.blocked?.signal.wait(for: nil) } }

    func close() { self.relay?.0.close() }
}
