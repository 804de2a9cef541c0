/// The waits of a ``BlobReader``: their limits and their wakers.
package struct ReaderWait {
    /// True when the limits apply to a wait that begins now; false while nothing waits for bytes that are not there
    /// yet.
    package var isLimited = true
    private var limit: BlobContext.StepLimit?  // The limit of the current wait.
    private var relay: (WakerRelay, waker: BlobWaker)?
    private var blocked: (signal: WaitSignal, waker: BlobWaker)?

    /// Begins a wait; throws for one that took too long, or whose waker is never called.
    mutating func begin(_ context: BlobContext) throws(BlobError) {
        if self.relay?.0.isMissing == true {
            throw BlobError(.misbehavingPlugin, "A read returned 'notYet', but the reader never calls its waker (C1).")
        }
        guard self.isLimited else { return }
        let limit = self.limit ?? context.stepLimit()
        self.limit = limit
        if let end = limit.end, Moment.now >= end { throw limit.error(idleLimit: context.idleLimit) }
    }

    mutating func end() { if self.limit != nil { self.limit = nil } }

    /// Returns the waker for the plugin, which wakes `waker`; a cancellation and the end of the time limit wake it as
    /// well.
    mutating func relay(to waker: BlobWaker, _ context: BlobContext) -> BlobWaker {
        let relay = self.relay ?? { relay in (relay, relay.makeWaker()) }(WakerRelay())
        self.relay = relay
        relay.0.prepare(waker, context, until: self.limit?.end)
        return relay.waker
    }

    /// The waker for the plugin while the consumer's has not been called; nil otherwise.
    var pending: BlobWaker? { self.relay.flatMap { $0.0.hasTarget ? $0.waker : nil } }

    /// Returns a waker that ends the next ``block()``.
    mutating func unblocker() -> BlobWaker {
        let blocked = self.blocked ?? { signal in (signal, BlobWaker { signal.signal() }) }(WaitSignal())
        self.blocked = blocked
        return blocked.waker
    }

    func block() { BlockingPool.leave { _ = self.blocked?.signal.wait(for: nil) } }

    func close() { self.relay?.0.close() }
}
