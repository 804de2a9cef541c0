import Foundation

/// Ends a wait for bytes or for room that nobody blocks in, when its limit passes.
///
/// A value for the stream's lock. However often waits begin and end, one look at the clock is outstanding at most:
/// Dispatch keeps what is cancelled in memory until its time.
struct WaitLimit {
    private var limit: BlobContext.StepLimit?
    private var isScheduled = false

    /// Begins a wait, unless one goes on.
    ///
    /// - Returns: After how long to ``look()``; nil when that is arranged for already, or there is no limit.
    mutating func begin(_ context: BlobContext) -> Duration? {
        guard self.limit == nil else { return nil }
        let limit = context.stepLimit()
        guard let remaining = limit.remaining else { return nil }
        self.limit = limit
        guard !self.isScheduled else { return nil }
        self.isScheduled = true
        return remaining
    }

    /// Ends the wait: what was waited for has come.
    mutating func end() { self.limit = nil }

    /// The outcome of a look at the clock.
    enum Finding {
        case nobodyWaits
        case lookAgain(after: Duration)
        case passed(BlobContext.StepLimit)
    }

    /// Looks whether the limit of the wait that goes on has passed. It may be a later one than began the looking, and
    /// then ends later.
    mutating func look() -> Finding {
        guard let limit, let remaining = limit.remaining else {
            self.isScheduled = false
            return .nobodyWaits
        }
        if remaining > .zero { return .lookAgain(after: remaining) }
        self.isScheduled = false
        return .passed(limit)
    }
}
