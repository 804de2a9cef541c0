/// What an observable may do with its values while they wait, and which of them is the last.
struct ObservableRules<State: Sendable>: Sendable {
    let coalescing: (@Sendable (_ old: State, _ new: State) -> Bool)?
    let isLast: (@Sendable (State) -> Bool)?

    func mayCoalesce(_ old: State, _ new: State) -> Bool {
        guard let coalescing, coalescing(old, new) else { return false }
        // Else an iteration that has not seen the end might never.
        return !self.isLast(old) || self.isLast(new)
    }

    func mayCoalesce(_ first: Change<State>, _ second: Change<State>) -> Bool {
        first.old != nil && second.old != nil && self.mayCoalesce(first.new, second.new)
    }

    func isLast(_ state: State) -> Bool { self.isLast.map { $0(state) } ?? false }
}
