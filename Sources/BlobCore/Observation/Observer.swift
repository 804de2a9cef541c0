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
    private let isRelevant: @Sendable (_ old: State, _ new: State) -> Bool
    private let handler: Handler
    private let isCancelled = Locked(false)

    init(
        _ options: BlobObservingOptions, isRelevant: @escaping @Sendable (_ old: State, _ new: State) -> Bool,
        _ handler: @escaping Handler
    ) {
        self.isPriorWanted = options.contains(.prior)
        self.isRelevant = isRelevant
        self.handler = handler
    }

    func isConcerned(old: State, new: State) -> Bool { self.isRelevant(old, new) }

    override func receive(old: State, new: State, isInitial: Bool) {
        guard isInitial || self.isRelevant(old, new) else { return }
        if self.isPriorWanted, !isInitial, !self.isCancelled.withLock({ $0 }) { self.handler(old, new, false, true) }
        if !self.isCancelled.withLock({ $0 }) { self.handler(old, new, isInitial, false) }
    }

    override func cancel() { self.isCancelled.withLock { $0 = true } }
}

/// The queue of values for the consumer of an iteration, or the demand of a consumer that waits for the next value.
final class StateQueue<State: Equatable & Sendable>: Observer<State>, @unchecked Sendable {  // Safe: see `AnyObserver`.
    typealias Demand = CheckedContinuation<State?, Never>

    private struct WaitingState {
        var changes = Fifo<Change<State>>()
        var demand: Demand?
        var isComplete = false  // No more values will come.
    }

    private let waiting = Locked(WaitingState())
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
        let cancelled = self.waiting.exchange(WaitingState(isComplete: true))
        cancelled.demand?.resume(returning: nil)
    }

    /// Resumes `demand` with the next value, now or as soon as one is available; with nil at the end. One demand at a
    /// time.
    func resume(_ demand: Demand) {
        let answer = self.waiting.withLock { waiting -> State?? in
            if let change = waiting.changes.popFirst() { return .some(change.new) }
            if waiting.isComplete { return .some(nil) }
            precondition(waiting.demand == nil, "Only one task at a time may call next() on an iterator of states.")
            waiting.demand = demand
            return nil
        }
        if let answer { demand.resume(returning: answer) }
    }
}

/// The queue of changes for the executor of an observer.
final class Mailbox<State: Equatable & Sendable>: Observer<State>, @unchecked Sendable {  // Safe: see `AnyObserver`.
    private struct WaitingState {
        var connection: BlobDelivery.Connection?  // Nil before the start and after the end.
        weak var observable: AnyObject?
        var changes = Fifo<Change<State>>()
        var job: Job?
    }

    /// A job that is scheduled or running.
    private struct Job {
        let observable: AnyObject?
        var isRunning = false
    }

    private let observer: HandlerObserver<State>
    private let rules: ObservableRules<State>
    private let waiting = Locked(WaitingState())

    /// Creates an empty queue.
    ///
    /// - Parameter observable: The observable, which is kept alive only while changes are queued.
    init(
        _ observer: HandlerObserver<State>, of observable: AnyObject, _ rules: ObservableRules<State>,
        connect: (@escaping @Sendable () -> Void) -> BlobDelivery.Connection
    ) {
        self.observer = observer
        self.rules = rules
        super.init()
        let connection = connect { [weak self] in self?.drain() }
        self.waiting.withLock { $0 = WaitingState(connection: connection, observable: observable) }
    }

    override func receive(old: State, new: State, isInitial: Bool) {
        guard isInitial || self.observer.isConcerned(old: old, new: new) else { return }
        let (schedule, superseded) = self.waiting.withLock { waiting -> ((@Sendable () -> Void)?, State?) in
            guard let connection = waiting.connection else { return (nil, nil) }
            let superseded = waiting.changes.append(Change(old: old, new: new, isInitial: isInitial), self.rules)
            guard waiting.job == nil else { return (nil, superseded) }
            waiting.job = Job(observable: waiting.observable)
            return (connection.schedule, superseded)
        }
        schedule?()
        withExtendedLifetime(superseded) {}  // Released outside the lock.
    }

    override func cancel() {
        self.observer.cancel()
        // The queued changes are released outside the lock.
        let dropped = self.waiting.exchange(WaitingState())
        dropped.connection?.close()
    }

    /// Delivers the queued changes when the job runs. Later changes are left for the next job, so that the executor can
    /// do other work.
    private func drain() {
        var changes = self.waiting.withLock { waiting in
            guard waiting.job?.isRunning == false else { return Fifo<Change<State>>() }
            waiting.job?.isRunning = true
            defer { waiting.changes = Fifo() }
            return waiting.changes
        }
        guard !changes.isEmpty else { return }
        while let change = changes.popFirst() {
            self.observer.receive(old: change.old, new: change.new, isInitial: change.isInitial)
        }
        let (schedule, job) = self.waiting.withLock { waiting -> ((@Sendable () -> Void)?, Job?) in
            guard waiting.changes.isEmpty else {
                waiting.job?.isRunning = false
                return (waiting.connection?.schedule, nil)
            }
            defer { waiting.job = nil }
            return (nil, waiting.job)
        }
        schedule?()
        withExtendedLifetime(job) {}  // Released outside the lock.
    }
}
