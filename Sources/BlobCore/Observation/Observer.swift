/// A change of a state that is delivered to observers.
struct Change<State: Sendable>: Sendable {
    let old: State  // The same as `new` in the initial call.
    var new: State
    let isInitial: Bool
}

/// An observer of state changes, without the type of the state.
class AnyObserver: @unchecked Sendable {  // Safe: it and its subclasses have only constants of Sendable types.
    /// Returns this object with its type: an observable keeps only observers of its own state type.
    final func typed<State>(for type: State.Type) -> Observer<State> {
        unsafeDowncast(self, to: Observer<State>.self)
    }
}

/// An observer of state changes; its methods do nothing unless a subclass overrides them.
class Observer<State: Equatable & Sendable>: AnyObserver, @unchecked Sendable {  // Safe: see `AnyObserver`.
    /// Called when the state has changed, and when the observation begins if `isInitial`.
    func receive(old: State, new: State, isInitial: Bool) {}

    /// Called when the observable is deallocated.
    func end() {}

    /// Ends the observation: later calls have no effect.
    func cancel() {}
}

/// An observer that calls a handler for the changes that concern it.
final class HandlerObserver<State: Equatable & Sendable>: Observer<State>, @unchecked Sendable {  // Safe: see above.
    typealias Handler = @Sendable (_ old: State, _ new: State, _ isInitial: Bool, _ isPrior: Bool) -> Void

    private let isPriorWanted: Bool
    private let concerns: @Sendable (_ old: State, _ new: State) -> Bool
    private let handler: Handler
    private let isCancelled = Locked(false)

    init(
        _ options: BlobObservingOptions, concerns: @escaping @Sendable (_ old: State, _ new: State) -> Bool,
        _ handler: @escaping Handler
    ) {
        self.isPriorWanted = options.contains(.prior)
        self.concerns = concerns
        self.handler = handler
    }

    func isConcerned(old: State, new: State) -> Bool { self.concerns(old, new) }

    override func receive(old: State, new: State, isInitial: Bool) {
        guard isInitial || self.concerns(old, new) else { return }
        if self.isPriorWanted, !isInitial, !self.isCancelled.withLock({ $0 }) { self.handler(old, new, false, true) }
        if !self.isCancelled.withLock({ $0 }) { self.handler(old, new, isInitial, false) }
    }

    override func cancel() { self.isCancelled.withLock { $0 = true } }
}
