/// A wait for a time, of a stream that returns `notYet` meanwhile.
package final class TimerWait {
    /// Fires once the wait is over.
    package let slot = BlobWakerSlot()
    private let hasFired = Locked(false)
    private let timer: BlobRegistration

    package init(_ delay: Duration, _ context: BlobContext) {
        self.timer = context.wake(
            after: delay,
            BlobWaker { [slot, hasFired] in
                _ = hasFired.exchange(true)
                slot.fire()
            })
    }

    package var isOver: Bool { self.hasFired.withLock { $0 } }
}
