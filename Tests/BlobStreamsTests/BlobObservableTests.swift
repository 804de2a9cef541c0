import BlobTestSupport
import Foundation
import Testing

@testable import BlobCore
@testable import BlobStreams

@Suite(.timeLimit(.minutes(10))) struct BlobObservableTests {
    private struct State: Equatable {
        var number = 0
        var text: String?
    }

    private struct Transition: Equatable {
        var old: Int?
        var new: Int?
        var isInitial = false

        init(_ old: Int?, _ new: Int?, isInitial: Bool = false) {
            (self.old, self.new, self.isInitial) = (old, new, isInitial)
        }

        init(_ change: BlobChange<Int>) { self.init(change.old, change.new, isInitial: change.isInitial) }
    }

    @Test func initialBringsTheValueAsItIsBeforeObserveReturns() {
        let observable = BlobObservable(State(number: 7))
        let seen = Recorder<Transition>()
        let token = observable.observe(\.number, options: [.initial, .old, .new]) { seen.append(Transition($0)) }
        #expect(seen.values == [Transition(nil, 7, isInitial: true)])
        token.cancel()
    }

    @Test func initialBringsAValueThatIsNil() {
        let observable = BlobObservable(State())
        let seen = Recorder<Bool>()
        let token = observable.observe(\.text, options: [.initial, .new]) { seen.append($0.new == .some(nil)) }
        #expect(seen.values == [true])
        token.cancel()
    }

    @Test func withoutInitialThereIsNoFirstCall() {
        let observable = BlobObservable(State(number: 7))
        let seen = Recorder<Transition>()
        let token = observable.observe(\.number) { seen.append(Transition($0)) }
        #expect(seen.values.isEmpty)
        observable.update { $0.number = 8 }
        #expect(seen.values == [Transition(7, 8)])
        token.cancel()
    }

    @Test(arguments: [[], .old, .new, [.old, .new]] as [BlobObservingOptions])
    func theOptionsDecideWhichValuesAreFilledIn(options: BlobObservingOptions) {
        let observable = BlobObservable(State())
        let seen = Recorder<Transition>()
        let token = observable.observe(\.number, options: options) { seen.append(Transition($0)) }
        observable.update { $0.number = 1 }
        #expect(seen.values == [Transition(options.contains(.old) ? 0 : nil, options.contains(.new) ? 1 : nil)])
        token.cancel()
    }

    @Test func onlyChangesOfTheObservedKeyPathAreTold() {
        let observable = BlobObservable(State())
        let numbers = Recorder<Transition>()
        let states = Recorder<State>()
        let tokens = [
            observable.observe(\.number) { numbers.append(Transition($0)) },
            observable.observe(\.self) { $0.new.map(states.append) },
        ]
        observable.update { $0.text = "a" }
        observable.update { $0.number = 1 }
        observable.update { $0.number = 1 }
        observable.update { _ in }
        #expect(numbers.values == [Transition(0, 1)])
        #expect(states.values == [State(number: 0, text: "a"), State(number: 1, text: "a")])
        for token in tokens { token.cancel() }
    }

    @Test func anUpdateGivesWhatItsBodyGives() {
        let observable = BlobObservable(State(number: 3))
        #expect(observable.update { $0.number * 2 } == 6)
    }

    @Test func whatAThrowingUpdateChangedIsTold() {
        let observable = BlobObservable(State())
        let seen = Recorder<Transition>()
        let token = observable.observe(\.number) { seen.append(Transition($0)) }
        #expect(throws: CancellationError.self) {
            try observable.update { state in
                state.number = 1
                throw CancellationError()
            }
        }
        #expect(seen.values == [Transition(0, 1)])
        token.cancel()
    }

    /// Counts how often it is compared, and knows whether a copy of it is about.
    private struct CountedState: Equatable {
        final class Storage: Sendable {}

        var number = 0
        var storage = Storage()
        let comparisons: Recorder<Void>

        static func == (left: Self, right: Self) -> Bool {
            left.comparisons.append(())
            return left.number == right.number
        }
    }

    @Test func anUpdateWithoutAnAudienceNeitherCopiesNorComparesTheValue() {
        let comparisons = Recorder<Void>()
        let observable = BlobObservable(CountedState(comparisons: comparisons))
        func isCopied() -> Bool {
            observable.update { state in
                state.number += 1
                return !isKnownUniquelyReferenced(&state.storage)
            }
        }
        #expect(!isCopied())
        #expect(comparisons.values.isEmpty)
        let seen = Recorder<Transition>()
        let token = observable.observe(\.number) { seen.append(Transition($0)) }
        #expect(isCopied())
        #expect(comparisons.values.count == 1)
        token.cancel()
        let wakes = Recorder<Int>()
        let waiting = observable.onChange { wakes.append(observable.value.number) }
        #expect(isCopied())
        #expect(comparisons.values.count == 2)
        waiting.cancel()
        #expect(!isCopied())
        #expect(comparisons.values.count == 2)
        #expect(seen.values == [Transition(1, 2)])
        #expect(wakes.values == [3])
    }

    @Test func everyObserverSeesEachTransitionOnceAndInOrderWhateverThreadsUpdate() async throws {
        let (threadCount, updateCount) = (4, 250)
        let observable = BlobObservable(State())
        let seen = (0..<3).map { _ in Recorder<Transition>() }
        let running = Locked((now: 0, most: 0))
        let tokens = seen.map { seen in
            observable.observe(\.number) { change in
                running.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
                seen.append(Transition(change))
                running.withLock { $0.now -= 1 }
            }
        }
        try await onThreads(threadCount) { _ in
            for _ in 0..<updateCount { observable.update { $0.number += 1 } }
        }
        let expected = (0..<(threadCount * updateCount)).map { Transition($0, $0 + 1) }
        for seen in seen { #expect(seen.values == expected) }
        #expect(running.withLock { $0.most } == 1, "One thread at a time delivers.")
        for token in tokens { token.cancel() }
    }

    @Test func anObserverThatComesWhileOthersUpdateMissesNothingAfterItsFirstCall() async throws {
        let updateCount = 500
        let observable = BlobObservable(State())
        let first = observable.observe(\.number) { _ in }
        let seen = Recorder<Transition>()
        let tokens = Recorder<BlobRegistration>()
        try await onThreads(2) { number in
            if number == 0 {
                for _ in 0..<updateCount { observable.update { $0.number += 1 } }
            } else {
                tokens.append(
                    observable.observe(\.number, options: [.initial, .old, .new]) { seen.append(Transition($0)) })
            }
        }
        let start = try #require(seen.values.first?.new)
        let later = (start..<updateCount).map { Transition($0, $0 + 1) }
        #expect(seen.values == [Transition(nil, start, isInitial: true)] + later)
        for token in tokens.values + [first] { token.cancel() }
    }

    @Test func aHandlerMayReadUpdateAndObserve() {
        let observable = BlobObservable(State())
        let seen = Recorder<String>()
        let inner = Recorder<Transition>()
        let tokens = Recorder<BlobRegistration>()
        let token = observable.observe(\.number) { change in
            let new = change.new ?? -1
            seen.append("begin \(new) of \(observable.value.number)")
            if new == 1 {
                tokens.append(
                    observable.observe(\.number, options: [.initial, .old, .new]) { inner.append(Transition($0)) })
                observable.update { $0.number = 2 }
            }
            seen.append("end \(new)")
        }
        observable.update { $0.number = 1 }
        // The inner update is told after the outer one, not within it, to both observers.
        #expect(seen.values == ["begin 1 of 1", "end 1", "begin 2 of 2", "end 2"])
        #expect(inner.values == [Transition(nil, 1, isInitial: true), Transition(1, 2)])
        for token in tokens.values + [token] { token.cancel() }
    }

    @Test func aHandlerHoldsUpNoOtherThread() async throws {
        let observable = BlobObservable(State())
        let (isInside, mayLeave) = (Latch(), Latch())
        let seen = Recorder<Transition>()
        let token = observable.observe(\.number) { change in
            seen.append(Transition(change))
            isInside.open()
            mayLeave.wait()
        }
        async let delivering: Void = onThread { observable.update { $0.number = 1 } }
        await isInside.opened()
        // On another thread, while the handler runs: each of these would hang under a lock.
        let value = try await onThread {
            observable.update { $0.number = 2 }
            observable.observe(\.number) { _ in }.cancel()
            return observable.value.number
        }
        #expect(value == 2)
        mayLeave.open()
        try await delivering
        #expect(seen.values == [Transition(0, 1), Transition(1, 2)])
        token.cancel()
    }

    @Test func noDeliveryStartsAfterCancel() {
        let observable = BlobObservable(State())
        let seen = Recorder<Transition>()
        let token = observable.observe(\.number) { seen.append(Transition($0)) }
        observable.update { $0.number = 1 }
        token.cancel()
        token.cancel()
        observable.update { $0.number = 2 }
        #expect(seen.values == [Transition(0, 1)])
    }

    @Test func aCancelledObserverDoesNotGetTheDeliveryThatIsGoingOn() {
        let observable = BlobObservable(State())
        let second = Recorder<Transition>()
        let tokens = Recorder<BlobRegistration>()
        let first = observable.observe(\.number) { _ in tokens.values.first?.cancel() }
        tokens.append(observable.observe(\.number) { second.append(Transition($0)) })
        observable.update { $0.number = 1 }
        #expect(second.values.isEmpty)
        first.cancel()
    }

    @Test func cancelInsideTheHandlerDropsWhatIsPending() {
        let observable = BlobObservable(State())
        let seen = Recorder<Transition>()
        let tokens = Recorder<BlobRegistration>()
        tokens.append(
            observable.observe(\.number) { change in
                seen.append(Transition(change))
                observable.update { $0.number = 2 }
                observable.update { $0.number = 3 }
                for token in tokens.values { token.cancel() }
            })
        observable.update { $0.number = 1 }
        #expect(seen.values == [Transition(0, 1)])
        #expect(observable.value.number == 3)
    }

    @Test func releasingTheTokenEndsTheObservation() {
        let observable = BlobObservable(State())
        let seen = Recorder<Transition>()
        do {
            let token = observable.observe(\.number) { seen.append(Transition($0)) }
            observable.update { $0.number = 1 }
            withExtendedLifetime(token) {}
        }
        observable.update { $0.number = 2 }
        #expect(seen.values == [Transition(0, 1)])
    }

    @Test func cancellingReleasesWhatTheHandlerHolds() {
        let observable = BlobObservable(State())
        weak var held: Latch?
        let token: BlobRegistration
        do {
            let latch = Latch()
            held = latch
            token = observable.observe(\.number) { _ in latch.open() }
        }
        observable.update { $0.number = 1 }
        #expect(held?.isOpen == true)
        token.cancel()
        #expect(held == nil)
    }

    @Test func aTokenMayOutliveItsObservable() {
        var observable: BlobObservable<State>? = BlobObservable(State())
        weak let released = observable
        let token = observable?.observe(\.number) { _ in }
        observable = nil
        #expect(released == nil)
        token?.cancel()
    }
}
