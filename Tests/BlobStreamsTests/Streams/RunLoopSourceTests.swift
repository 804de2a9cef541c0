import BlobTestSupport
import Foundation
import Testing

@testable import BlobCore
@testable import BlobStreams

@Suite(.timeLimit(.minutes(10))) struct RunLoopSourceTests {
    /// Foundation on Linux keeps the timer that reaches another thread's run loop for good.
    @Test func whatTheRunLoopOfAnotherThreadWasGivenIsReleased() async throws {
        try await onThread {
            let loop = LoopThread()
            weak var released: RunLoopSource?
            do {
                let source = RunLoopSource(loop.runLoop, .default) { _ in }
                released = source
                source.attach()
                loop.perform {}
                source.invalidate()
            }
            loop.perform {}
            #expect(released == nil)
            loop.stop()
        }
    }
}
