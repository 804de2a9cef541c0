public import Foundation

extension BlobDelivery {
    /// Delivers on the thread of a run loop while it runs in `mode`.
    ///
    /// Until the observation ends, it keeps the run loop from exiting in that mode, as an input source does. A handler
    /// that runs the run loop itself receives the next change after it has returned.
    public static func runLoop(_ runLoop: RunLoop, mode: RunLoop.Mode = .default) -> BlobDelivery {
        let runLoop = HandedOver(runLoop)  // Safe: only used for what any thread may do.
        return BlobDelivery(connect: { job in
            let source = RunLoopSource(runLoop.value, mode) { _ in job() }
            source.attach()
            return Connection(schedule: { source.signal() }, close: { source.invalidate() })
        })
    }
}
