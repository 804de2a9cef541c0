/// The changes that wait until the executor of an observer comes to them.
final class Mailbox<State: Equatable & Sendable>: Observer<State>, @unchecked Sendable {  // Safe: see `AnyObserver`.
    private let observer: Observer<State>
    private let rules: ObservableRules<State>
    private let waiting = Locked(WaitingChanges<State>())

    /// - Parameter observable: Is kept alive while changes wait, and only then.
    init(
        _ observer: Observer<State>, of observable: AnyObject, _ rules: ObservableRules<State>,
        connect: (@escaping @Sendable () -> Void) -> BlobDelivery.Connection
    ) {
        self.observer = observer
        self.rules = rules
        super.init()
        let connection = connect { [weak self] in self?.drain() }
        self.waiting.withLock { waiting in
            waiting.connection = connection
            waiting.observable = observable
        }
    }

    override func begin(with state: State) { self.add(Change(old: nil, new: state)) }

    override func receive(old: State, new: State) {
        if self.observer.isConcerned(old: old, new: new) { self.add(Change(old: old, new: new)) }
    }

    override func cancel() {
        self.observer.cancel()
        // What waits is released outside of the lock.
        let dropped = self.waiting.withLock { waiting in
            defer { waiting = WaitingChanges() }
            return waiting
        }
        dropped.connection?.close()
    }

    private func add(_ change: Change<State>) {
        let (schedule, superseded) = self.waiting.withLock { $0.add(change, self.rules) }
        schedule?()
        withExtendedLifetime(superseded) {}  // Released outside of the lock.
    }

    /// The job. More changes that come meanwhile are for the next one: what else the executor has to do gets its turn.
    private func drain() {
        for change in self.waiting.withLock({ $0.take() }) { self.observer.take(change) }
        let (schedule, observable) = self.waiting.withLock { $0.finish() }
        schedule?()
        withExtendedLifetime(observable) {}  // Released outside of the lock.
    }
}

/// The state of a ``Mailbox``: its methods return what is to be done outside of the lock.
struct WaitingChanges<State: Sendable> {
    private enum Job { case none, scheduled, running }

    var connection: BlobDelivery.Connection?  // Nil before the start and after the end.
    weak var observable: AnyObject?
    private var heldObservable: AnyObject?
    private var changes: [Change<State>] = []
    private var job = Job.none

    mutating func add(
        _ change: Change<State>, _ rules: ObservableRules<State>
    ) -> (schedule: (@Sendable () -> Void)?, superseded: State?) {
        guard let connection else { return (nil, nil) }
        var superseded: State?
        if let last = self.changes.last, rules.mayCoalesce(last, change) {
            superseded = last.new
            self.changes[self.changes.count - 1].new = change.new
        } else {
            self.changes.append(change)
        }
        guard self.job == .none else { return (nil, superseded) }
        self.job = .scheduled
        self.heldObservable = self.observable
        return (connection.schedule, superseded)
    }

    mutating func take() -> [Change<State>] {
        guard self.job == .scheduled else { return [] }
        self.job = .running
        defer { self.changes = [] }
        return self.changes
    }

    mutating func finish() -> (schedule: (@Sendable () -> Void)?, observable: AnyObject?) {
        guard self.job == .running else { return (nil, nil) }
        guard self.changes.isEmpty else {
            self.job = .scheduled
            return (self.connection?.schedule, nil)
        }
        self.job = .none
        defer { self.heldObservable = nil }
        return (nil, self.heldObservable)
    }
}
