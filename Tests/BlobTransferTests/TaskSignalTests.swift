#if os(Linux)
import BlobCore
import BlobTestSupport
import Foundation
import Testing

@testable import BlobTransfer

/// Waits of a process that can start no thread for timers, which call their wakers at once.
@Suite(.timeLimit(.minutes(5))) struct TaskSignalTests {
    @Test func aPauseThatIsWokenEarlyIsWaitedForAndEnds() async {
        await #expect(processExitsWith: .success) {
            // Ends a process that waits without a timer.
            alarm(20)
            let end = ContinuousClock.now + .milliseconds(50)
            try await withoutThreads { try await BlobContext().sleep(for: .milliseconds(50)) }
            try #require(ContinuousClock.now >= end)
        }
    }

    @Test func aWaitThatIsWokenEarlyKeepsItsLimit() async {
        await #expect(processExitsWith: .success) {
            alarm(20)
            let code = try await withoutThreads {
                await asyncCodeThrown {
                    try await BlobContext(idleLimit: .milliseconds(50)).wait(on: TaskSignal()) { () -> Int? in nil }
                }
            }
            try #require(code == .timedOut)
        }
    }
}
#endif
