/// The rules of an observable: which waiting changes may be coalesced, and which value is the last.
struct ObservableRules<State: Sendable>: Sendable {
    let coalescing: (@Sendable (_ old: State, _ new: State) -> Bool)?
    let isLast: (@Sendable (State) -> Bool)?

    func mayCoalesce(_ first: Change<State>, _ second: Change<State>) -> Bool {
        guard !first.isInitial, !second.isInitial, let coalescing, coalescing(first.new, second.new) else {
            return false
        }
        // Otherwise an iteration that has not seen the last value might never see it.
        return !self.isLast(first.new) || self.isLast(second.new)
    }

    func isLast(_ state: State) -> Bool { self.isLast.map { $0(state) } ?? false }
}

extension Fifo {
    /// Adds a change, or coalesces it with the newest one that waits.
    ///
    /// - Returns: The superseded state, to be released outside of any lock; nil when there is none.
    mutating func append<State>(_ change: Change<State>, _ rules: ObservableRules<State>) -> State?
    where Element == Change<State> {
        guard let last = self.last, rules.mayCoalesce(last, change) else {
            self.append(change)
            return nil
        }
        self.last?.new = change.new
        return last.new
    }
}
