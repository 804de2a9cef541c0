/// The value of a ``BlobObservable``, its observers and the changes that wait for them: shared with tokens and iterations.
///
/// Other modules call all of this unspecialised. There each use of a type that is generic over the state, an optional of
/// it as well, costs a look-up, which was most of the time of a delivery: hence variables beside a lock, observers
/// without their type, and flags for what is empty.
final class ObservableCore<State: Equatable & Sendable>: @unchecked Sendable {  // Safe: `lock` guards every variable.
    private struct Delivery {
        var change: Change<State>
        let observers: [AnyObserver]  // One, of an initial change.
    }

    private let lock = Locked(false)  // Of something: nothing would lie past the end of its memory.
    let rules: ObservableRules<State>
    private let state = UnsafeMutablePointer<State>.allocate(capacity: 1)  // The lock orders its accesses.
    private var observers: [AnyObserver] = []  // Each is an `Observer<State>`.
    private var wakers: [BlobWaker] = []
    private var hasAudience = false  // That there are any of these.
    private var pending: [Delivery] = []
    private var hasPending = false  // That `pending` is not empty.
    private var isDelivering = false
    private var hasEnded = false

    init(_ state: State, _ rules: ObservableRules<State>) {
        self.rules = rules
        self.state.initialize(to: state)
    }

    deinit { self.state.deinitialize(count: 1).deallocate() }

    func withValue<Result>(_ body: (State) throws -> Result) rethrows -> Result {
        self.lock.lock()
        defer { self.lock.unlock() }
        return try body(self.state.pointee)
    }

    // MARK: Changes

    /// Changes the value and calls the wakers. With `delivers` tells the observers too; else ``deliver()`` does.
    ///
    /// Without an audience nobody asks what changed, and each update counts as a change.
    ///
    /// - Returns: Also whether there may be something to deliver.
    func update<Result>(
        delivers: Bool, _ body: (inout State) throws -> Result
    ) rethrows -> (Result, hasPending: Bool) {
        self.lock.lock()
        guard self.hasAudience else {
            defer { self.lock.unlock() }
            return (try body(&self.state.pointee), self.hasPending)
        }
        let old = self.state.pointee
        defer { self.endUpdate(from: old, delivers: delivers) }
        return (try body(&self.state.pointee), !delivers)
    }

    /// Lets go of the lock and tells the audience.
    private func endUpdate(from old: State, delivers: Bool) {
        guard self.state.pointee != old else { return self.lock.unlock() }
        let (wakers, observers) = (self.wakers, self.observers)
        guard !observers.isEmpty else {
            self.lock.unlock()
            for waker in wakers { waker.wake() }
            return
        }
        let new = self.state.pointee
        let mayDeliver = delivers && !self.isDelivering  // Else a thread is at it and will take this too.
        let isNext = mayDeliver && !self.hasPending
        if mayDeliver { self.isDelivering = true }
        if !isNext { self.enqueue(old, new, isInitial: false, for: observers) }
        self.lock.unlock()
        for waker in wakers { waker.wake() }
        guard mayDeliver else { return }
        if isNext {
            for observer in observers { observer.typed(for: State.self).receive(old: old, new: new, isInitial: false) }
        }
        while self.mustDeliverMore() { self.deliverPending() }
    }

    /// Tells the observers of the changes that wait, unless a thread is at it.
    func deliver() {
        let mayDeliver = self.lock.withLock { _ in
            guard self.hasPending, !self.isDelivering else { return false }
            self.isDelivering = true
            return true
        }
        guard mayDeliver else { return }
        while self.mustDeliverMore() { self.deliverPending() }
    }

    // MARK: The audience

    func add(_ observer: Observer<State>, isInitialWanted: Bool) {
        self.lock.withLock { _ in
            self.hasAudience = true
            self.observers.append(observer)
            guard isInitialWanted else { return }
            self.enqueue(self.state.pointee, self.state.pointee, isInitial: true, for: [observer])
        }
        if isInitialWanted { self.deliver() }
    }

    /// Adds a queue that begins with the value as it is: no change comes in between, and none twice.
    func addQueue() -> StateQueue<State> {
        self.lock.withLock { _ in
            let queue = StateQueue(self.state.pointee, self.rules)
            if self.hasEnded { queue.end() } else { self.observers.append(queue) }
            self.hasAudience = !self.hasEnded
            return queue
        }
    }

    func add(_ waker: BlobWaker) {
        self.lock.withLock { _ in
            self.hasAudience = true
            self.wakers.append(waker)
        }
    }

    /// Removes an observer or a waker.
    func remove(_ member: AnyObject) {
        // Released outside the lock, with whatever their handlers hold.
        let old = self.lock.withLock { _ in
            defer {
                self.observers.removeAll { $0 === member }
                self.wakers.removeAll { $0 === member }
                self.hasAudience = !self.observers.isEmpty || !self.wakers.isEmpty
            }
            return (self.observers, self.wakers)
        }
        withExtendedLifetime(old) {}
    }

    /// Tells the observers that no change will come any more. Not while a thread delivers.
    func end() {
        let observers = self.lock.withLock { _ in
            self.hasEnded = true
            defer { self.observers = [] }
            return self.observers
        }
        for observer in observers { observer.typed(for: State.self).end() }
    }

    // MARK: Pending changes

    /// Under the lock.
    @inline(never)  // Else each update, not only one that has to wait, looks up the types that are used here.
    private func enqueue(_ old: State, _ new: State, isInitial: Bool, for observers: [AnyObserver]) {
        let change = Change(old: old, new: new, isInitial: isInitial)
        if let last = self.pending.last, last.observers.elementsEqual(observers, by: ===),
            self.rules.mayCoalesce(last.change, change)
        {
            self.pending[self.pending.count - 1].change.new = new
        } else {
            self.pending.append(Delivery(change: change, observers: observers))
            self.hasPending = true
        }
    }

    @inline(never)  // As above.
    private func deliverPending() {
        let pending = self.lock.withLock { _ in
            defer { (self.pending, self.hasPending) = ([], false) }
            return self.pending
        }
        for delivery in pending {
            let change = delivery.change
            for observer in delivery.observers {
                observer.typed(for: State.self).receive(old: change.old, new: change.new, isInitial: change.isInitial)
            }
        }
    }

    /// False when nothing is pending: the calling thread no longer delivers.
    private func mustDeliverMore() -> Bool {
        self.lock.withLock { _ in
            self.isDelivering = self.hasPending
            return self.isDelivering
        }
    }
}
