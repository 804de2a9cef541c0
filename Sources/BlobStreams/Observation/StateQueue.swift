/// The values that wait for the consumer of an iteration, or the consumer that waits for one.
final class StateQueue<State: Equatable & Sendable>: Observer<State>, @unchecked Sendable {  // Safe: see `AnyObserver`.
    typealias Demand = CheckedContinuation<State?, Never>

    private let waiting = Locked(WaitingStates<State, Demand>())
    private let rules: ObservableRules<State>

    init(_ first: State, _ rules: ObservableRules<State>) {
        self.rules = rules
        super.init()
        self.append(first)
    }

    override func receive(old: State, new: State) { self.append(new) }

    override func end() { self.waiting.withLock { $0.end() }?.resume(returning: nil) }

    override func cancel() {
        // The values are released outside the lock.
        let cancelled = self.waiting.withLock { waiting in
            defer { waiting = WaitingStates(isComplete: true) }
            return waiting
        }
        cancelled.demand?.resume(returning: nil)
    }

    /// Gives the next value to `demand`, now or when there is one; nil at the end. One demand at a time.
    func resume(_ demand: Demand) {
        switch self.waiting.withLock({ $0.answer(demand) }) {
        case .now(let state): demand.resume(returning: state)
        case .later: break
        }
    }

    private func append(_ state: State) {
        let (demand, superseded) = self.waiting.withLock { $0.append(state, self.rules) }
        demand?.resume(returning: state)
        withExtendedLifetime(superseded) {}  // Released outside the lock.
    }
}

/// What waits in a ``StateQueue``: events in, and out whom to resume.
struct WaitingStates<State: Sendable, Demand> {
    enum Answer {
        case now(State?)
        case later
    }

    private var states: [State] = []
    private var next: [State] = []  // Older than all `states`, the oldest last: taking one is cheap however many wait.
    private(set) var demand: Demand?
    private var isComplete: Bool  // No value comes any more.

    init(isComplete: Bool = false) { self.isComplete = isComplete }

    mutating func append(_ state: State, _ rules: ObservableRules<State>) -> (Demand?, superseded: State?) {
        guard !self.isComplete else { return (nil, nil) }
        self.isComplete = rules.isLast(state)
        if let demand = self.takeDemand() { return (demand, nil) }
        guard let newest = self.states.last ?? self.next.first, rules.mayCoalesce(newest, state) else {
            self.states.append(state)
            return (nil, nil)
        }
        if self.states.isEmpty { self.next[0] = state } else { self.states[self.states.count - 1] = state }
        return (nil, newest)
    }

    mutating func answer(_ demand: Demand) -> Answer {
        if self.next.isEmpty { (self.next, self.states) = (self.states.reversed(), []) }
        if let state = self.next.popLast() { return .now(state) }
        if self.isComplete { return .now(nil) }
        precondition(self.demand == nil, "An iterator of states has one user at a time.")
        self.demand = demand
        return .later
    }

    mutating func end() -> Demand? {
        self.isComplete = true
        return self.takeDemand()
    }

    private mutating func takeDemand() -> Demand? {
        defer { self.demand = nil }
        return self.demand
    }
}
