import BlobStreams
import BlobTestSupport
import Foundation
import Testing

/// Deliveries through the executors that there are.
@Suite(.timeLimit(.minutes(10))) struct BlobExecutorTests {
    /// Calls `body` with each executor, and a check that the caller runs there.
    private func withExecutors(
        _ body: (_ name: String, _ delivery: BlobDelivery, _ isInside: @escaping @Sendable () -> Bool) async throws ->
            Void
    ) async rethrows {
        let key = DispatchSpecificKey<Bool>()
        for attributes in [[], .concurrent] as [DispatchQueue.Attributes] {
            let queue = DispatchQueue(label: "test", attributes: attributes)
            queue.setSpecific(key: key, value: true)
            try await body("queue", .queue(queue)) { DispatchQueue.getSpecific(key: key) == true }
        }
        let loop = LoopThread()
        let identity = Locked<ObjectIdentifier?>(nil)
        loop.perform { identity.withLock { $0 = ObjectIdentifier(Thread.current) } }
        try await body("run loop", .runLoop(loop.runLoop)) {
            identity.withLock { $0 } == ObjectIdentifier(Thread.current)
        }
        loop.stop()
    }

    @Test func eachChangeComesOnceAndInOrderOneAtATimeOnTheExecutor() async throws {
        let (threadCount, updateCount) = (3, 200)
        try await self.withExecutors { name, delivery, isInside in
            let observable = BlobObservable(0)
            let seen = Recorder<Int>()
            let running = Locked((now: 0, most: 0))
            let token = observable.observe(\.self, options: [.initial, .new], on: delivery) { change in
                running.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
                #expect(isInside(), "\(name)")
                seen.append(change.new ?? -1)
                running.withLock { $0.now -= 1 }
            }
            try await onThreads(threadCount) { _ in
                for _ in 0..<updateCount { observable.update { $0 += 1 } }
            }
            let values = await seen.values(count: threadCount * updateCount + 1)
            #expect(values.elementsEqual(0...(threadCount * updateCount)), "\(name)")
            #expect(running.withLock { $0.most } == 1, "\(name)")
            token.cancel()
        }
    }

    @Test func aHandlerMayUpdateTheObservableAndReleaseItsOwnToken() async {
        await self.withExecutors { name, delivery, _ in
            let observable = BlobObservable(0)
            let seen = Recorder<Int>()
            let token = Locked<BlobRegistration?>(nil)
            let done = Latch()
            token.withLock { held in
                held = observable.observe(\.self, options: [.new], on: delivery) { change in
                    seen.append(change.new ?? -1)
                    observable.update { $0 += 1 }
                    guard change.new == 50 else { return }
                    // Released outside of the lock.
                    let observation = token.withLock { token in
                        defer { token = nil }
                        return token
                    }
                    withExtendedLifetime(observation) {}
                    done.open()
                }
            }
            observable.update { $0 = 1 }
            await done.opened()
            observable.update { $0 = 1000 }
            #expect(seen.values.elementsEqual(1...50), "\(name)")
        }
    }

    @Test func noCallStartsAfterCancelOnTheSerialExecutorItself() async throws {
        let queue = DispatchQueue(label: "test")
        let observable = BlobObservable(0)
        for _ in 0..<200 {
            let isCancelled = Locked(false)
            let token = observable.observe(\.self, on: .queue(queue)) { _ in #expect(!isCancelled.withLock { $0 }) }
            async let updating: Void = onThread { for _ in 0..<20 { observable.update { $0 += 1 } } }
            await withCheckedContinuation { continuation in
                queue.async {
                    token.cancel()
                    isCancelled.withLock { $0 = true }
                    continuation.resume()
                }
            }
            try await updating
        }
    }

    // MARK: Run loops

    @Test func aRunLoopOfTheSameThreadDeliversWhenItRuns() async throws {
        try await onThread {
            let observable = BlobObservable(0)
            let seen = Recorder<Int>()
            let token = observable.observe(\.self, options: [.initial, .new], on: .runLoop(.current)) { change in
                seen.append(change.new ?? -1)
            }
            observable.update { $0 = 1 }
            #expect(seen.values.isEmpty)
            #expect(RunLoop.current.run(until: { seen.values.count == 2 }))
            #expect(seen.values == [0, 1])
            token.cancel()
            #expect(!RunLoop.current.run(until: { false }), "Nothing keeps the run loop going any more.")
        }
    }

    @Test func onlyTheModeOfTheObservationDelivers() async throws {
        try await onThread {
            let mode = RunLoop.Mode("test")
            let observable = BlobObservable(0)
            let seen = Recorder<Int>()
            let other = observable.observe(\.self, on: .runLoop(.current)) { _ in seen.append(-1) }
            let token = observable.observe(\.self, on: .runLoop(.current, mode: mode)) { seen.append($0.new ?? -2) }
            observable.update { $0 = 1 }
            #expect(RunLoop.current.run(in: mode, until: { !seen.values.isEmpty }))
            #expect(seen.values == [1])
            other.cancel()
            RunLoop.current.drain()
            #expect(seen.values == [1])
            token.cancel()
        }
    }

    @Test func aSleepingRunLoopIsWokenByAChange() async throws {
        let loop = LoopThread()
        let observable = BlobObservable(0)
        let seen = Recorder<Int>()
        let token = observable.observe(\.self, on: .runLoop(loop.runLoop)) { seen.append($0.new ?? -1) }
        loop.perform {}
        for number in 1...100 {
            observable.update { $0 = number }
            await seen.values(count: number)
        }
        #expect(seen.values == Array(1...100))
        token.cancel()
        try await onThread { loop.stop() }
    }

    @Test func aRunLoopThatNeverRunsKeepsOnlyPhases() async throws {
        try await onThread {
            let observable = PhasedState.observable()
            let seen = Recorder<PhasedState>()
            let token = observable.observe(\.self, on: .runLoop(.current)) { $0.new.map(seen.append) }
            for phase in [PhasedState.Phase.opening, .open, .closed] {
                observable.update { $0.phase = phase }
                for _ in 0..<1000 { observable.update { $0.byteOffset += 1 } }
            }
            #expect(RunLoop.current.run(until: { seen.values.count == 3 }))
            #expect(seen.values == [PhasedState(.opening, 1000), PhasedState(.open, 2000), PhasedState(.closed, 3000)])
            token.cancel()
        }
    }
}
