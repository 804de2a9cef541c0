import BlobStreams
import BlobTestSupport
import Testing

@Suite struct TimerQueueTests {
    private let start = ContinuousClock.now

    @Test func drawnTimersComeAsASortedListGivesThem() {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<20 {
            var queue = TimerQueue()
            var expected: [(deadline: ContinuousClock.Instant, key: UInt64)] = []
            let taken = Recorder<UInt64>()
            for key in 0..<UInt64(1000) {
                let deadline = self.start.advanced(by: .milliseconds(Int.random(in: 0..<200, using: &random)))
                queue.insert(BlobWaker { taken.append(key) }, key: key, at: deadline)
                expected.append((deadline, key))
                if Bool.random(using: &random), let removed = expected.randomElement(using: &random) {
                    #expect(queue.remove(removed.key) != nil)
                    #expect(queue.remove(removed.key) == nil)
                    expected.removeAll { $0.key == removed.key }
                }
            }
            expected.sort { $0 < $1 }
            #expect(queue.count == expected.count)
            for timer in expected {
                #expect(queue.firstDeadline == timer.deadline)
                #expect(queue.removeFirst(dueAt: timer.deadline.advanced(by: .nanoseconds(-1))) == nil)
                queue.removeFirst(dueAt: timer.deadline)?.wake()
            }
            #expect(taken.values == expected.map(\.key))
            #expect(queue.firstDeadline == nil)
            #expect(queue.heapCount == 0)
        }
    }

    /// Places are swept out when there are more than 64, and more than twice as many as timers.
    @Test func removedTimersKeepNoMemory() {
        var queue = TimerQueue()
        let waker = BlobWaker {}
        for key in 0..<UInt64(10_000) { queue.insert(waker, key: key, at: self.start.advanced(by: .seconds(3600))) }
        for key in 0..<UInt64(10_000) where key % 100 != 0 { _ = queue.remove(key) }
        #expect(queue.count == 100)
        #expect(queue.heapCount <= 264)
        for key in 0..<UInt64(10_000) where key % 100 == 0 { _ = queue.remove(key) }
        #expect(queue.count == 0)
        #expect(queue.heapCount <= 64)
    }

    @Test func aRemovedTimerLetsItsWakerGo() {
        var queue = TimerQueue()
        weak var weakWaker: BlobWaker?
        do {
            let waker = BlobWaker {}
            weakWaker = waker
            queue.insert(waker, key: 1, at: self.start)
        }
        #expect(weakWaker != nil)
        _ = queue.remove(1)
        #expect(weakWaker == nil)
    }
}
