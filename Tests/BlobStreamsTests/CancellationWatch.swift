/// Tells whether a blocked call returned within the second that contract C12 allows after a cancellation.
///
/// Starts with its creation. Four seconds more are for sanitizers and for what else runs; a call that hangs takes
/// longer. A busy machine lets tasks wait for a core, which is not the call's fault: what a task that
/// does nothing takes from the same moment on is allowed on top, for each of the few steps back to the test.
struct CancellationWatch {
    private static let limit = Duration.seconds(5)
    private static let stepCount = 4

    private let start: ContinuousClock.Instant
    private let idleTask: Task<ContinuousClock.Instant, Never>

    init() {
        self.start = .now
        self.idleTask = Task.detached { .now }
    }

    /// To be asked right after the call returned.
    var isInTime: Bool {
        get async {
            let elapsed = ContinuousClock.now - self.start
            let delay = await self.idleTask.value - self.start
            return elapsed < Self.limit + delay * Self.stepCount
        }
    }
}
