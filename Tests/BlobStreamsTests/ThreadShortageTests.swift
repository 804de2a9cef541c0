#if os(Linux)
import BlobStreams
import BlobTestSupport
import Foundation
import Testing

/// A process that can start no thread, because its address space has no room for a stack.
@Suite(.timeLimit(.minutes(5))) struct ThreadShortageTests {
    /// Neither the pool nor the loop has a thread: the timer of the pool must not call itself for ever.
    @Test func jobsWaitForTheNextOneWhenThereIsNoThread() async {
        await #expect(processExitsWith: .success) {
            let (pool, done) = (BlockingPool(maximumThreadCount: 4), Latch())
            // As many jobs as it starts threads for at once, and more.
            try await withoutThreads { for _ in 0..<4 { pool.run {} } }
            try #require(pool.threadCount == 0)
            pool.run { done.open() }
            done.wait()
        }
    }

    /// The timer of the first read in vain calls its waker at once.
    @Test func aWaitThatIsWokenEarlyKeepsItsLimit() async {
        await #expect(processExitsWith: .success) {
            let pipe = BlobPipe()
            let reader = try pipe.source.open(context: BlobContext(idleLimit: .milliseconds(200)))
            try await withoutThreads {
                try #require(try Data(readingAtMost: 1, from: reader, waits: false).isEmpty)
            }
            // Ends a process that waits without a timer.
            alarm(20)
            try #require(codeThrown { try read(reader) } == .timedOut)
            pipe.finish()
        }
    }

    @Test func aWaitForATimeThatIsWokenEarlyIsRepeated() async {
        await #expect(processExitsWith: .success) {
            let reader = try ThrottledSource(MemorySource([1, 2]), bytesPerSecond: 5).open()
            try #require(try read(reader) == [1])
            try await withoutThreads {
                try #require(try Data(readingAtMost: 1, from: reader, waits: false).isEmpty)
            }
            alarm(20)
            try #require(try read(reader) == [2])
        }
    }
}
#endif
