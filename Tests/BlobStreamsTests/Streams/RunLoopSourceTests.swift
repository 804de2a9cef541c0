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

    #if os(Linux)
    /// In a process of its own, because what else allocates would count too.
    @Test func schedulingOnTheRunLoopOfAnotherThreadKeepsNoMemory() async {
        await #expect(processExitsWith: .success) {
            let (loop, count) = (LoopThread(), 2_000)
            let stream = BlobInputStream(MemorySource([1]))
            func schedule() {
                for _ in 0..<count {
                    stream.schedule(in: loop.runLoop, forMode: .default)
                    stream.remove(from: loop.runLoop, forMode: .default)
                }
                loop.perform {}
            }
            schedule()
            let before = allocatedByteCount()
            schedule()
            let each = (allocatedByteCount() - before) / count
            try #require(each < 50, "\(each) bytes each")
            loop.stop()
        }
    }
    #endif
}
