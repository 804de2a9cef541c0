/// The changes that wait until the executor of an observer comes to them.
final class Mailbox<State: Equatable & Sendable>: Observer<State>, @unchecked Sendable {  // Safe: see `AnyObserver`.
    private struct Waiting {
        var connection: BlobDelivery.Connection?  // Nil before the start and after the end.
        weak var observable: AnyObject?
        var changes = Fifo<Change<State>>()
        var job: Job?
    }

    /// Scheduled, and running once it was taken.
    private struct Job {
        let observable: AnyObject?
        var isRunning = false
    }

    private let observer: HandlerObserver<State>
    private let rules: ObservableRules<State>
    private let waiting = Locked(Waiting())

    /// - Parameter observable: Is kept alive while changes wait, and only then.
    init(
        _ observer: HandlerObserver<State>, of observable: AnyObject, _ rules: ObservableRules<State>,
        connect: (@escaping @Sendable () -> Void) -> BlobDelivery.Connection
    ) {
        self.observer = observer
        self.rules = rules
        super.init()
        let connection = connect { [weak self] in self?.drain() }
        self.waiting.withLock { $0 = Waiting(connection: connection, observable: observable) }
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
        withExtendedLifetime(superseded) {}  // Released outside of the lock.
    }

    override func cancel() {
        self.observer.cancel()
        // What waits is released outside of the lock.
        let dropped = self.waiting.exchange(Waiting())
        dropped.connection?.close()
    }

    /// The job. More changes that come meanwhile are for the next one: what else the executor has to do gets its turn.
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
        withExtendedLifetime(job) {}  // Released outside of the lock.
    }
}
