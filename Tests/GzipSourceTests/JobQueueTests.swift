import Testing

@testable import GzipSource

@Suite struct JobQueueTests {
    private final class Token: Sendable {}

    @Test func aJobIsReleasedWhenItHasRun() {
        let queue = JobQueue(maximumCount: 2)
        weak var token: Token?
        do {
            let owned = Token()
            token = owned
            queue.add { _ = owned }
        }
        queue.finish()
        #expect(token == nil)
    }
}
