/// A change of a state on its way to observers.
struct Change<State: Sendable>: Sendable {
    let old: State?  // Nil in the initial call.
    var new: State
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
    final func take(_ change: Change<State>) {
        if let old = change.old { self.receive(old: old, new: change.new) } else { self.begin(with: change.new) }
    }

    /// The state as it is when the observation begins.
    func begin(with state: State) {}

    /// The state is a different one now.
    func receive(old: State, new: State) {}

    /// True when the change is one for this observer.
    func isConcerned(old: State, new: State) -> Bool { true }

    /// The observable is gone.
    func end() {}

    /// The observation ends: nothing that the observer is told from now on has an effect.
    func cancel() {}
}
