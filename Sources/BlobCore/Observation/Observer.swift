/// A change of a state on its way to observers.
struct Change<State: Sendable>: Sendable {
    let old: State  // The same as `new` in the initial call.
    var new: State
    let isInitial: Bool
}

/// An observer of the changes of a state of some type.
class AnyObserver: @unchecked Sendable {  // Safe: it and its subclasses have nothing but constants that are Sendable.
    /// This object as what it is: an observable keeps only observers of its own state.
    final func typed<State>(for type: State.Type) -> Observer<State> {
        unsafeDowncast(self, to: Observer<State>.self)
    }
}

/// An observer of the changes of a state: subclasses do what this one leaves undone.
class Observer<State: Equatable & Sendable>: AnyObserver, @unchecked Sendable {  // Safe: see `AnyObserver`.
    /// The state is a different one now, or `isInitial`, as it is when the observation begins.
    func receive(old: State, new: State, isInitial: Bool) {}

    /// The observable is gone.
    func end() {}

    /// The observation ends: nothing that the observer is told from now on has an effect.
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
