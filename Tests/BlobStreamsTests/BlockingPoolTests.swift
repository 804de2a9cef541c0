import BlobStreams
import Foundation
import Testing

@Suite(.timeLimit(.minutes(1))) struct BlockingPoolTests {
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

    @Test func jobsPastTheBoundWaitForAThread() async {
        let (gate, begun) = (Latch(), Recorder<Int>())
        let pool = BlockingPool(maximumThreadCount: 2)
        for number in 0..<6 {
            pool.run {
                begun.append(number)
                gate.wait()
            }
        }
        await begun.values(count: 2)
        #expect(pool.threadCount == 2)
        gate.open()
        #expect(await begun.values(count: 6).sorted() == Array(0..<6))
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
