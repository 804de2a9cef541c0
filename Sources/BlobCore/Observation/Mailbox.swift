/// The queue of changes that wait for the executor of an observer.
final class Mailbox<State: Equatable & Sendable>: Observer<State>, @unchecked Sendable {  // Safe: see `AnyObserver`.
    private struct Waiting {
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
    private let waiting = Locked(Waiting())

    /// - Parameter observable: The observable, which is kept alive only while changes wait.
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
        // The waiting changes are released outside of the lock.
        let dropped = self.waiting.exchange(Waiting())
        dropped.connection?.close()
    }

    /// Delivers the waiting changes, as the job. Later ones are left for the next job, so that the executor can do
    /// other work.
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
