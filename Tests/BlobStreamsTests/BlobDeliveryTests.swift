import BlobStreams
import BlobTestSupport
import Foundation
import Testing

@Suite(.timeLimit(.minutes(10))) struct BlobDeliveryTests {
    private typealias State = PhasedState
    private typealias Transition = PhasedState.Transition

    // MARK: The calls

    private struct Call: Equatable, CustomStringConvertible {
        let old: Int?
        let new: Int?
        let kind: String

        init(_ kind: String, _ old: Int?, _ new: Int?) { (self.kind, self.old, self.new) = (kind, old, new) }

        init(_ change: BlobChange<Int>) {
            self.init(change.isPrior ? "prior" : change.isInitial ? "initial" : "change", change.old, change.new)
        }

        var description: String {
            "\(self.kind) \(self.old.map(String.init) ?? "-") \(self.new.map(String.init) ?? "-")"
        }
    }

    @Test(arguments: [[], .old, .new, [.old, .new]] as [BlobObservingOptions])
    func aPriorCallComesJustBeforeThatOfTheChange(options: BlobObservingOptions) {
        let observable = BlobObservable(0)
        let seen = Recorder<Call>()
        let first = observable.observe(\.self, options: options.union(.prior)) { seen.append(Call($0)) }
        for number in 1...2 { observable.update { $0 = number } }
        let (old, new) = (options.contains(.old), options.contains(.new))
        #expect(
            seen.values
                == (1...2).flatMap { number in
                    [
                        Call("prior", old ? number - 1 : nil, nil),
                        Call("change", old ? number - 1 : nil, new ? number : nil),
                    ]
                })
        first.cancel()
    }

    @Test func theInitialCallHasNoPriorOneAndAChangeOfAnotherMemberNeither() {
        let observable = State.observable()
        let seen = Recorder<Call>()
        let token = observable.observe(\.byteOffset, options: [.initial, .prior, .new]) { seen.append(Call($0)) }
        observable.update { $0.phase = .open }
        observable.update { $0.byteOffset = 1 }
        #expect(seen.values == [Call("initial", nil, 0), Call("prior", nil, nil), Call("change", nil, 1)])
        token.cancel()
    }

    @Test func cancelInAPriorCallDropsTheChange() {
        let observable = BlobObservable(0)
        let seen = Recorder<Call>()
        let tokens = Recorder<BlobRegistration>()
        tokens.append(
            observable.observe(\.self, options: [.prior, .new]) { change in
                seen.append(Call(change))
                for token in tokens.values { token.cancel() }
            })
        observable.update { $0 = 1 }
        #expect(seen.values == [Call("prior", nil, nil)])
    }

    @Test(arguments: [false, true]) func anObservationDoesNotKeepTheObjectAlive(
        onAnExecutor: Bool
    ) {
        let executor = HandExecutor()
        weak var released: BlobObservable<Int>?
        let seen = Recorder<Int>()
        let token: BlobRegistration
        do {
            let observable = BlobObservable(0)
            released = observable
            token = observable.observe(
                \.self, options: [.new], on: onAnExecutor ? executor.delivery : .immediate
            ) { change in seen.append(change.new ?? 0) }
            observable.update { $0 = 1 }
            executor.runAll()
            #expect(seen.values == [1])
            observable.update { $0 = 2 }
        }
        // The change that waits is told.
        executor.runAll()
        #expect(seen.values == [1, 2])
        #expect(released == nil)
        token.cancel()
    }

    // MARK: The mailbox

    @Test func oneJobAtATimeIsScheduledAndTakesWhatWaits() {
        let observable = BlobObservable(0)
        let executor = HandExecutor()
        let seen = Recorder<Call>()
        let token = observable.observe(\.self, options: [.initial, .old, .new], on: executor.delivery) {
            seen.append(Call($0))
        }
        for number in 1...3 { observable.update { $0 = number } }
        #expect(seen.values.isEmpty)
        #expect(executor.scheduledCount == 1)
        executor.runAll()
        let changes = (1...3).map { Call("change", $0 - 1, $0) }
        #expect(seen.values == [Call("initial", nil, 0)] + changes)
        #expect(executor.scheduledCount == 1)
        observable.update { $0 = 4 }
        #expect(executor.scheduledCount == 2)
        executor.runAll()
        #expect(seen.values.last == Call("change", 3, 4))
        token.cancel()
    }

    @Test func changesOfOtherMembersScheduleNothing() {
        let observable = State.observable()
        let executor = HandExecutor()
        let token = observable.observe(\.phase, on: executor.delivery) { _ in }
        for _ in 0..<10 { observable.update { $0.byteOffset += 1 } }
        #expect(executor.scheduledCount == 0)
        token.cancel()
    }

    @Test func changesThatWaitForAnExecutorAreCoalescedAndPhasesNever() {
        let observable = State.observable()
        let executor = HandExecutor()
        let seen = Recorder<Transition>()
        let token = observable.observe(\.self, on: executor.delivery) { seen.append(Transition($0)) }
        func move() { for _ in 0..<1000 { observable.update { $0.byteOffset += 1 } } }
        move()
        observable.update { $0.phase = .open }
        move()
        observable.update { $0.phase = .opening }
        observable.update { $0.phase = .open }
        move()
        executor.runAll()
        #expect(
            seen.values == [
                Transition((.idle, 0), (.idle, 1000)),
                Transition((.idle, 1000), (.open, 2000)),
                Transition((.open, 2000), (.opening, 2000)),
                Transition((.opening, 2000), (.open, 3000)),
            ])
        token.cancel()
    }

    @Test func whatChangedBackWhileItWaitedIsNotTold() {
        let observable = State.observable()
        let executor = HandExecutor()
        let seen = Recorder<Call>()
        let token = observable.observe(\.byteOffset, on: executor.delivery) { seen.append(Call($0)) }
        for number in [1, 2, 0] { observable.update { $0.byteOffset = number } }
        executor.runAll()
        #expect(seen.values.isEmpty)
        observable.update { $0.byteOffset = 1 }
        executor.runAll()
        #expect(seen.values == [Call("change", 0, 1)])
        token.cancel()
    }

    @Test func whatWaitsForAnExecutorThatNeverRunsIsBoundedAndDroppedByCancel() {
        let live = LiveCount()
        let observable = BlobObservable(live.value(0), coalescing: { _, _ in true })
        let executor = HandExecutor()
        let token = observable.observe(\.self, options: [.initial, .new], on: executor.delivery) { _ in
            Issue.record("The observation ended before its executor ran.")
        }
        for number in 1...10_000 { observable.update { $0 = live.value(number) } }
        // The initial one, before and after the change that waits, and those of an update that is going on.
        #expect(live.most <= 5)
        token.cancel()
        #expect(live.now == 1)
        executor.runAll()
    }

    @Test func whatChangesInAHandlerIsForTheNextJob() {
        let observable = BlobObservable(0)
        let executor = HandExecutor()
        let seen = Recorder<Call>()
        let token = observable.observe(\.self, on: executor.delivery) { change in
            seen.append(Call(change))
            if let new = change.new, new < 3 { observable.update { $0 = new + 1 } }
            #expect(executor.scheduledCount == change.new, "No job is scheduled while one runs.")
        }
        observable.update { $0 = 1 }
        for number in 1...3 {
            executor.runNext()
            #expect(seen.values == (1...number).map { Call("change", $0 - 1, $0) })
        }
        #expect(executor.scheduledCount == 3)
        token.cancel()
    }

    @Test func aJobThatAnExecutorRunsTwiceTellsNothingTwice() {
        let observable = BlobObservable(0)
        let jobs = Recorder<@Sendable () -> Void>()
        let seen = Recorder<Call>()
        let token = observable.observe(\.self, on: BlobDelivery { jobs.append($0) }) { change in
            seen.append(Call(change))
            observable.update { $0 = 2 }
            for job in jobs.values { job() }
        }
        observable.update { $0 = 1 }
        jobs.values.first?()
        #expect(seen.values == [Call("change", 0, 1)])
        token.cancel()
    }

    @Test func anExecutorMayRunItsJobsAtOnce() {
        let observable = BlobObservable(0)
        let seen = Recorder<Call>()
        let token = observable.observe(\.self, on: BlobDelivery { $0() }) { change in
            seen.append(Call(change))
            if let new = change.new, new < 9 { observable.update { $0 = new + 1 } }
        }
        observable.update { $0 = 1 }
        #expect(seen.values == (1...9).map { Call("change", $0 - 1, $0) })
        token.cancel()
    }

    @Test func cancelInAHandlerDropsTheChangesBehindItInItsJob() {
        let observable = BlobObservable(0)
        let executor = HandExecutor()
        let seen = Recorder<Call>()
        let tokens = Recorder<BlobRegistration>()
        tokens.append(
            observable.observe(\.self, on: executor.delivery) { change in
                seen.append(Call(change))
                for token in tokens.values { token.cancel() }
            })
        for number in 1...3 { observable.update { $0 = number } }
        executor.runAll()
        #expect(seen.values == [Call("change", 0, 1)])
    }

    @Test func cancellingReleasesWhatTheHandlerOnAnExecutorHolds() {
        let observable = BlobObservable(0)
        let executor = HandExecutor()
        weak var held: Latch?
        var token: BlobRegistration?
        do {
            let latch = Latch()
            held = latch
            token = observable.observe(\.self, on: executor.delivery) { _ in latch.open() }
        }
        observable.update { $0 = 1 }
        #expect(held?.isOpen == false)
        token?.cancel()
        token = nil
        #expect(held == nil)
    }
}

/// An executor whose jobs run when the test says so.
final class HandExecutor: Sendable {
    private let state = Locked((jobs: [@Sendable () -> Void](), scheduledCount: 0))

    /// How many jobs there were so far.
    var scheduledCount: Int { self.state.withLock { $0.scheduledCount } }

    var delivery: BlobDelivery {
        BlobDelivery { job in
            self.state.withLock { state in
                state.jobs.append(job)
                state.scheduledCount += 1
            }
        }
    }

    @discardableResult
    func runNext() -> Bool {
        let job = self.state.withLock { $0.jobs.isEmpty ? nil : $0.jobs.removeFirst() }
        job?()
        return job != nil
    }

    func runAll() { while self.runNext() {} }
}
