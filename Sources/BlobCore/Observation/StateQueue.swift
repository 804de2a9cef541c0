/// The queue of values that wait for the consumer of an iteration, or of the consumer that waits for a value.
final class StateQueue<State: Equatable & Sendable>: Observer<State>, @unchecked Sendable {  // Safe: see `AnyObserver`.
    typealias Demand = CheckedContinuation<State?, Never>

    private struct Waiting {
        var changes = Fifo<Change<State>>()
        var demand: Demand?
        var isComplete = false  // No more values will come.
    }

    private let waiting = Locked(Waiting())
    private let rules: ObservableRules<State>

    init(_ first: State, _ rules: ObservableRules<State>) {
        self.rules = rules
        super.init()
        self.receive(old: first, new: first, isInitial: false)
    }

    override func receive(old: State, new: State, isInitial: Bool) {
        let (demand, superseded) = self.waiting.withLock { waiting -> (Demand?, State?) in
            guard !waiting.isComplete else { return (nil, nil) }
            waiting.isComplete = self.rules.isLast(new)
            if let demand = waiting.demand.take() { return (demand, nil) }
            // The old value is not needed, so it is not kept.
            return (nil, waiting.changes.append(Change(old: new, new: new, isInitial: false), self.rules))
        }
        demand?.resume(returning: new)
        withExtendedLifetime(superseded) {}  // Released outside the lock.
    }

    override func end() {
        self.waiting.withLock { waiting in
            waiting.isComplete = true
            return waiting.demand.take()
        }?.resume(returning: nil)
    }

    override func cancel() {
        // The values are released outside the lock.
        let cancelled = self.waiting.exchange(Waiting(isComplete: true))
        cancelled.demand?.resume(returning: nil)
    }

    /// Resumes `demand` with the next value, now or as soon as there is one; with nil at the end. One demand at a time.
    func resume(_ demand: Demand) {
        let answer = self.waiting.withLock { waiting -> State?? in
            if let change = waiting.changes.popFirst() { return .some(change.new) }
            if waiting.isComplete { return .some(nil) }
            precondition(waiting.demand == nil, "An iterator of states has one user at a time.")
            waiting.demand = demand
            return nil
        }
        if let answer { demand.resume(returning: answer) }
    }
}
