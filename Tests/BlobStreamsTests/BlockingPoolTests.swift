import BlobStreams
import BlobTestSupport
import Foundation
import Testing

@Suite(.timeLimit(.minutes(10))) struct BlockingPoolTests {
    @Test func jobsThatBlockRunSideBySide() async {
        let (count, gate, begun) = (40, Latch(), Recorder<Bool>())
        let pool = BlockingPool(maximumThreadCount: count)
        for _ in 0..<count {
            pool.run {
                begun.append(true)
                gate.wait()
            }
        }
        await begun.values(count: count)
        #expect(pool.threadCount == count)
        gate.open()
    }

    @Test func noMoreThreadsThanProcessorsAreStartedBeforeThoseStall() async {
        let (count, gate, begun) = (40 + BlockingPool.promptThreadCount, Latch(), Recorder<Bool>())
        let pool = BlockingPool(maximumThreadCount: count, stallTime: .seconds(3600))
        for _ in 0..<count {
            let mayRunAtOnce = pool.run {
                begun.append(true)
                gate.wait()
            }
            #expect(mayRunAtOnce)
        }
        await begun.values(count: BlockingPool.promptThreadCount)
        #expect(pool.threadCount == BlockingPool.promptThreadCount)
        gate.open()
        await begun.values(count: count)
        #expect(pool.threadCount <= BlockingPool.promptThreadCount)
    }

    @Test func jobsThatComputeGetNoThreadsBeyondThoseThatProcessorsServe() async {
        let (count, ended) = (20, Recorder<Int>())
        let stallTime = Duration.milliseconds(20)
        let pool = BlockingPool(maximumThreadCount: count, stallTime: stallTime)
        let begin = ContinuousClock.now
        for _ in 0..<count {
            pool.run {
                let start = ContinuousClock.now
                while start.duration(to: .now) < stallTime * 2 {}
                ended.append(pool.threadCount)
            }
        }
        let threadCounts = await ended.values(count: count)
        // When other programs have the processors, jobs wait so long that there may be one more at each look.
        let lateTime = begin.duration(to: .now) - stallTime * BlockingPool.maximumStallCount
        let lateCheckCount = max(0, Int((lateTime / stallTime).rounded(.up)))
        #expect(threadCounts.max() ?? 0 <= BlockingPool.promptThreadCount + 1 + lateCheckCount)
    }

    /// A thread that waits now may run at the next question, which used to trap.
    @Test func whatChangesIsCountedByOneQuestionEach() {
        var questions = 0
        let count = (0..<10).count(atMost: 3) { _ in
            questions += 1
            return questions % 2 == 0
        }
        #expect(count == 3 && questions == 6)
        #expect((0..<10).count(atMost: 3) { _ in false } == 0)
    }

    /// 32 threads are started in one go at most.
    @Test func oneBlockedJobAfterTheOtherGetsItsThread() async {
        let (count, gate, begun) = (300, Latch(), Recorder<Bool>())
        let pool = BlockingPool(maximumThreadCount: count, stallTime: .zero)
        for number in 1...count {
            pool.run {
                begun.append(true)
                gate.wait()
            }
            if number % 3 == 0 { await begun.values(count: number) }
        }
        await begun.values(count: count)
        #expect(!pool.run {})
        gate.open()
    }

    @Test func pastItsBoundJobsWaitForAThread() async {
        let (gate, begun) = (Latch(), Recorder<Int>())
        let pool = BlockingPool(maximumThreadCount: 2)
        let areRunning = (0..<3).map { number in
            pool.run {
                begun.append(number)
                gate.wait()
            }
        }
        #expect(areRunning == [true, true, false])
        await begun.values(count: 2)
        #expect(pool.threadCount == 2)
        gate.open()
        await begun.values(count: 3)
    }

    @Test func aJobThatWaitsForAnotherMakesRoomForIt() async {
        let pool = BlockingPool(maximumThreadCount: 1)
        let done = Latch()
        pool.run {
            let inner = Latch()
            pool.run { inner.open() }
            BlockingPool.runOutside { inner.wait() }
            done.open()
        }
        await done.opened()
        // Nobody has lost a place by that.
        let again = Latch()
        pool.run { again.open() }
        await again.opened()
        #expect(pool.threadCount <= 1)
    }

    /// A thread that retires just when it is given a job is the delicate moment; a short life makes it frequent.
    @Test func noJobWaitsBehindABlockedOneWhenThreadsComeAndGo() async {
        let pool = BlockingPool(maximumThreadCount: 64, idleLifetime: .microseconds(20))
        for _ in 0..<300 {
            let (count, gate, begun) = (4, Latch(), Recorder<Bool>())
            for _ in 0..<count {
                pool.run {
                    begun.append(true)
                    gate.wait()
                }
            }
            await begun.values(count: count)
            gate.open()
        }
    }
}
