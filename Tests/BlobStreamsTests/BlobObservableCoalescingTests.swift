import BlobStreams
import BlobTestSupport
import Foundation
import Testing

@Suite(.timeLimit(.minutes(10))) struct BlobObservableCoalescingTests {
    private typealias State = PhasedState
    private typealias Transition = PhasedState.Transition

    @Test func whatMayBeCoalescedBecomesOneWhileAHandlerRuns() {
        let observable = State.observable()
        let seen = Recorder<Transition>()
        let token = observable.observe(\.self) { change in
            seen.append(Transition(change))
            guard change.old == State(.idle, 0) else { return }
            for _ in 0..<1000 { observable.update { $0.byteOffset += 1 } }
        }
        observable.update { $0.byteOffset += 1 }
        #expect(seen.values == [Transition((.idle, 0), (.idle, 1)), Transition((.idle, 1), (.idle, 1001))])
        token.cancel()
    }

    @Test func phasesAreNeverCoalescedAndStayInOrder() {
        let observable = State.observable()
        let seen = Recorder<Transition>()
        let token = observable.observe(\.self) { change in
            seen.append(Transition(change))
            guard change.old == State(.idle, 0) else { return }
            for _ in 0..<3 { observable.update { $0.byteOffset += 1 } }
            observable.update { $0.phase = .open }
            for _ in 0..<3 { observable.update { $0.byteOffset += 1 } }
            observable.update { $0.phase = .opening }
            observable.update { $0.phase = .closed }
            for _ in 0..<3 { observable.update { $0.byteOffset += 1 } }
        }
        observable.update { $0.phase = .opening }
        #expect(
            seen.values == [
                Transition((.idle, 0), (.opening, 0)),
                Transition((.opening, 0), (.opening, 3)),
                Transition((.opening, 3), (.open, 6)),
                Transition((.open, 6), (.opening, 6)),
                Transition((.opening, 6), (.closed, 9)),
            ])
        token.cancel()
    }

    @Test func withoutARuleNothingIsCoalesced() {
        let observable = BlobObservable(0)
        let seen = Recorder<Int>()
        let token = observable.observe(\.self) { change in
            seen.append(change.new ?? -1)
            guard change.new == 1 else { return }
            for number in 2...1000 { observable.update { $0 = number } }
        }
        observable.update { $0 = 1 }
        #expect(seen.values == Array(1...1000))
        token.cancel()
    }

    @Test func nothingIsCoalescedWhileNoHandlerRuns() {
        let observable = State.observable()
        let seen = Recorder<Transition>()
        let token = observable.observe(\.self) { seen.append(Transition($0)) }
        for _ in 0..<3 { observable.update { $0.byteOffset += 1 } }
        #expect(seen.values == (0..<3).map { Transition((.idle, $0), (.idle, $0 + 1)) })
        token.cancel()
    }

    @Test func whatChangesBackWhileItWaitsIsNotTold() {
        let observable = State.observable()
        let seen = Recorder<Transition>()
        let token = observable.observe(\.self) { change in
            seen.append(Transition(change))
            guard change.old == State(.idle, 0) else { return }
            observable.update { $0.byteOffset = 2 }
            observable.update { $0.byteOffset = 1 }
        }
        observable.update { $0.byteOffset = 1 }
        #expect(seen.values == [Transition((.idle, 0), (.idle, 1))])
        token.cancel()
    }

    @Test func changesWithDifferentObserversStayApart() {
        let observable = State.observable()
        let (first, second) = (Recorder<Transition>(), Recorder<Transition>())
        let tokens = Recorder<BlobRegistration>()
        tokens.append(
            observable.observe(\.self) { change in
                first.append(Transition(change))
                guard change.old == State(.idle, 0) else { return }
                for _ in 0..<5 { observable.update { $0.byteOffset += 1 } }
                tokens.append(observable.observe(\.self) { second.append(Transition($0)) })
                for _ in 0..<5 { observable.update { $0.byteOffset += 1 } }
            })
        observable.update { $0.byteOffset += 1 }
        let later = Transition((.idle, 6), (.idle, 11))
        #expect(
            first.values == [Transition((.idle, 0), (.idle, 1)), Transition((.idle, 1), (.idle, 6)), later])
        #expect(second.values == [later])
        for token in tokens.values { token.cancel() }
    }

    @Test func anInitialCallIsNotCoalescedWithTheChangeBehindIt() {
        let observable = State.observable()
        let seen = Recorder<String>()
        let tokens = Recorder<BlobRegistration>()
        tokens.append(
            observable.observe(\.self) { change in
                guard change.old == State(.idle, 0) else { return }
                tokens.append(
                    observable.observe(\.byteOffset, options: [.initial, .new]) { change in
                        seen.append("\(change.isInitial ? "initial" : "change") \(change.new ?? -1)")
                    })
                for _ in 0..<5 { observable.update { $0.byteOffset += 1 } }
            })
        observable.update { $0.byteOffset += 1 }
        #expect(seen.values == ["initial 1", "change 6"])
        for token in tokens.values { token.cancel() }
    }

    @Test func aLastValueIsNotCoalescedAway() {
        let observable = BlobObservable(0, coalescing: { _, _ in true }, isLast: { $0 == 3 })
        let seen = Recorder<Int>()
        let token = observable.observe(\.self) { change in
            seen.append(change.new ?? -1)
            guard change.new == 1 else { return }
            for number in 2...5 { observable.update { $0 = number } }
        }
        observable.update { $0 = 1 }
        #expect(seen.values == [1, 3, 5])
        token.cancel()
    }

    @Test func whatWaitsForASlowHandlerIsBounded() async throws {
        let live = LiveCount()
        let observable = BlobObservable(live.value(0), coalescing: { _, _ in true })
        let seen = Recorder<Int>()
        let (isInside, mayLeave) = (Latch(), Latch())
        let token = observable.observe(\.self) { change in
            seen.append(change.new?.number ?? -1)
            isInside.open()
            mayLeave.wait()
        }
        async let delivering: Void = onThread { observable.update { $0 = live.value(1) } }
        await isInside.opened()
        for number in 2...10_000 { observable.update { $0 = live.value(number) } }
        // The two that are being delivered, the two that wait, and those of the update that is going on.
        #expect(live.most <= 6)
        mayLeave.open()
        try await delivering
        #expect(seen.values == [1, 10_000])
        token.cancel()
    }

    @Test func waitingForAConditionDoesNotWaitForASlowHandler() async throws {
        let observable = State.observable()
        let (isInside, mayLeave) = (Latch(), Latch())
        let token = observable.observe(\.phase) { _ in
            isInside.open()
            mayLeave.wait()
        }
        async let delivering: Void = onThread { observable.update { $0.phase = .opening } }
        await isInside.opened()
        async let offset = onThread {
            try observable.wait(BlobContext()) { $0.phase == .open ? $0.byteOffset : nil }
        }
        try await onThread {
            observable.update { $0.byteOffset = 7 }
            observable.update { $0.phase = .open }
        }
        #expect(try await offset == 7)
        #expect(!mayLeave.isOpen)
        mayLeave.open()
        try await delivering
        token.cancel()
    }

    @Test func aHandlerMayWaitForAChangeByAnotherThread() async throws {
        let observable = State.observable()
        let isInside = Latch()
        let outcome = Recorder<String>()
        let token = observable.observe(\.phase) { change in
            guard change.new == .opening else { return }
            isInside.open()
            let code = codeThrown { try observable.wait(BlobContext()) { $0.phase == .open ? () : nil } }
            outcome.append(code.map { "\($0)" } ?? "waited")
        }
        async let delivering: Void = onThread { observable.update { $0.phase = .opening } }
        await isInside.opened()
        observable.update { $0.phase = .open }
        try await delivering
        #expect(outcome.values == ["waited"])
        token.cancel()
    }
}
