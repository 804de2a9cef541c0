import BlobStreams
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

    @Test func jobsThatStallAreReplacedByNewThreads() async {
        let (gate, begun, ended) = (Latch(), Recorder<Int>(), Recorder<Int>())
        let pool = BlockingPool(maximumThreadCount: 2)
        for number in 0..<6 {
            pool.run {
                begun.append(number)
                gate.wait()
                ended.append(number)
            }
        }
        #expect(await begun.values(count: 6).sorted() == Array(0..<6))
        #expect(pool.threadCount == 6)
        gate.open()
        await ended.values(count: 6)
    }

    @Test func jobsThatCanBeInterruptedMakeRoomForNewOnes() async {
        let pool = BlockingPool(maximumThreadCount: 2)
        let (interrupted, begun) = (Recorder<Int>(), Recorder<Int>())
        for number in 0..<2 {
            let gate = Latch()
            let interruption = BlockingPool.Interruption {
                gate.open()
                return true
            }
            pool.run(interruption: interruption) {
                begun.append(number)
                gate.wait()
                interrupted.append(number)
                // It comes back, and waits behind what is new.
                pool.run(interruption: interruption.longer { true }) { begun.append(10 + number) }
            }
        }
        await begun.values(count: 2)
        let done = Latch()
        pool.run { done.open() }
        await done.opened()
        #expect(!interrupted.values.isEmpty)
        #expect(pool.threadCount <= 2)
        await begun.values(count: interrupted.values.count + 2)
    }

    @Test func aJobThatSaysThatItCannotBeInterruptedIsReplaced() async {
        let pool = BlockingPool(maximumThreadCount: 1)
        let (gate, done, asked) = (Latch(), Latch(), Recorder<Bool>())
        let interruption = BlockingPool.Interruption {
            asked.append(true)
            return false
        }
        pool.run(interruption: interruption) { gate.wait() }
        pool.run { done.open() }
        await done.opened()
        #expect(asked.values == [true])
        gate.open()
    }

    @Test func turnsGetLonger() {
        var interruption = BlockingPool.Interruption { true }
        var turns = [interruption.turn]
        for _ in 0..<9 {
            interruption = interruption.longer { true }
            turns.append(interruption.turn)
        }
        #expect(turns.first == .milliseconds(100))
        #expect(turns[1] == .milliseconds(200))
        #expect(turns.last == .seconds(16))
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
