import BlobStreams
import BlobTestSupport
import Foundation
import Testing

@Suite(.timeLimit(.minutes(10))) struct BlobStatesTests {
    private typealias State = PhasedState

    @Test func theFirstIsTheValueAsItIsThenComeAllChangesInOrder() async {
        let observable = BlobObservable(7)
        var iterator = observable.states.makeAsyncIterator()
        for number in 8...1000 { observable.update { $0 = number } }
        for number in 7...1000 { #expect(await iterator.next() == number) }
    }

    @Test func anUpdateThatChangesNothingGivesNothing() async {
        let observable = BlobObservable(1)
        var iterator = observable.states.makeAsyncIterator()
        observable.update { $0 = 1 }
        observable.update { $0 = 2 }
        #expect(await iterator.next() == 1)
        #expect(await iterator.next() == 2)
    }

    @Test func aConsumerThatWaitsGetsEachValueAsSoonAsThereIsOne() async {
        let observable = BlobObservable(0, isLast: { $0 == 100 })
        let seen = Recorder<Int>()
        let consumer = Task {
            for await state in observable.states { seen.append(state) }
        }
        for number in 1...100 {
            await seen.values(count: number)
            observable.update { $0 = number }
        }
        await consumer.value
        #expect(seen.values == Array(0...100))
    }

    @Test func iteratorsAreIndependent() async {
        let observable = BlobObservable(0)
        let states = observable.states
        var first = states.makeAsyncIterator()
        observable.update { $0 = 1 }
        var second = states.makeAsyncIterator()
        observable.update { $0 = 2 }
        #expect(await second.next() == 1)
        #expect(await second.next() == 2)
        for number in 0...2 { #expect(await first.next() == number) }
    }

    @Test func whatWaitsForASlowConsumerIsCoalescedByTheRule() async {
        let observable = State.observable()
        var iterator = observable.states.makeAsyncIterator()
        func move() { for _ in 0..<10 { observable.update { $0.byteOffset += 1 } } }
        move()
        observable.update { $0.phase = .opening }
        move()
        observable.update { $0.phase = .open }
        #expect(await iterator.next() == State(.idle, 10))
        move()
        // The newest of the values that wait is coalesced also after older ones were taken.
        #expect(await iterator.next() == State(.opening, 20))
        move()
        observable.update { $0.phase = .closed }
        #expect(await iterator.next() == State(.open, 40))
        #expect(await iterator.next() == State(.closed, 40))
        #expect(await iterator.next() == nil)
    }

    @Test func whatWaitsForASlowConsumerIsBounded() async {
        let live = LiveCount()
        let observable = BlobObservable(live.value(0), coalescing: { _, _ in true })
        var iterator = observable.states.makeAsyncIterator()
        for number in 1...10_000 { observable.update { $0 = live.value(number) } }
        #expect(live.most <= 4)
        #expect(await iterator.next()?.number == 10_000)
    }

    @Test func aValueThatIsLastEndsTheIteration() async {
        let observable = BlobObservable(0, isLast: { $0 == 2 })
        var iterator = observable.states.makeAsyncIterator()
        for number in 1...5 { observable.update { $0 = number } }
        for number in 0...2 { #expect(await iterator.next() == number) }
        #expect(await iterator.next() == nil)
        observable.update { $0 = 6 }
        #expect(await iterator.next() == nil)
    }

    @Test func aFirstValueThatIsLastIsTheOnlyOne() async {
        let observable = BlobObservable(2, isLast: { $0 == 2 })
        var iterator = observable.states.makeAsyncIterator()
        observable.update { $0 = 3 }
        #expect(await iterator.next() == 2)
        #expect(await iterator.next() == nil)
    }

    @Test func theReleaseOfTheObservableEndsTheIterationBehindWhatWaits() async {
        var observable: BlobObservable<Int>? = BlobObservable(0)
        weak let released = observable
        let states = observable?.states
        var iterator = states?.makeAsyncIterator()
        observable?.update { $0 = 1 }
        observable = nil
        #expect(released == nil)
        #expect(await iterator?.next() == 0)
        #expect(await iterator?.next() == 1)
        #expect(await iterator?.next() == .some(nil))
        var late = states?.makeAsyncIterator()
        #expect(await late?.next() == 1)
        #expect(await late?.next() == .some(nil))
    }

    @Test func theReleaseOfTheObservableWakesAConsumerThatWaits() async {
        let seen = Recorder<Int>()
        let consumer: Task<Void, Never>
        do {
            let observable = BlobObservable(0)
            let states = observable.states
            consumer = Task {
                for await state in states { seen.append(state) }
            }
            await seen.values(count: 1)
            observable.update { $0 = 1 }
            await seen.values(count: 2)
        }
        await consumer.value
        #expect(seen.values == [0, 1])
    }

    @Test func anObservableReleasedByItsHandlerEndsBehindItsLastChange() async {
        let holder = Locked<BlobObservable<Int>?>(BlobObservable(0))
        let tokens = Recorder<BlobRegistration>()
        let iterator = holder.withLock { $0 }?.states.makeAsyncIterator()
        tokens.append(
            holder.withLock { $0 }.map { observable in
                observable.observe(\.self) { [weak observable] change in
                    guard change.new == 1 else { return }
                    observable?.update { $0 = 2 }
                    holder.withLock { $0 = nil }
                }
            } ?? BlobObservable(0).observe(\.self) { _ in })
        holder.withLock { $0 }?.update { $0 = 1 }
        guard var iterator else { return }
        for number in 0...2 { #expect(await iterator.next() == number) }
        #expect(await iterator.next() == nil)
    }

    @Test func cancellingTheTaskEndsTheIterationAtOnceAndForGood() async {
        let observable = BlobObservable(0)
        let seen = Recorder<Int?>()
        let isReady = Latch()
        let consumer = Task {
            var iterator = observable.states.makeAsyncIterator()
            while let state = await iterator.next() { seen.append(state) }
            observable.update { $0 = 5 }
            seen.append(await iterator.next())
            seen.append(await Task { await iterator.next() }.value)
            isReady.open()
        }
        await seen.values(count: 1)
        consumer.cancel()
        await isReady.opened()
        #expect(seen.values == [0, nil, nil])
    }

    @Test func aTaskThatIsCancelledAlreadyGetsNothingThatWaits() async {
        let observable = BlobObservable(0)
        let mayStart = Latch()
        let consumer = Task { () -> Int? in
            var iterator = observable.states.makeAsyncIterator()
            await mayStart.opened()
            return await iterator.next()
        }
        consumer.cancel()
        mayStart.open()
        #expect(await consumer.value == nil)
    }

    @Test func theReleaseOfAnIteratorEndsItsObservation() async {
        let live = LiveCount()
        let observable = BlobObservable(live.value(0))
        do {
            var iterator = observable.states.makeAsyncIterator()
            for number in 1...9 { observable.update { $0 = live.value(number) } }
            #expect(await iterator.next()?.number == 0)
            #expect(live.now == 9)
        }
        #expect(live.now == 1)
        for number in 10...19 { observable.update { $0 = live.value(number) } }
        #expect(live.now == 1)
    }
}
