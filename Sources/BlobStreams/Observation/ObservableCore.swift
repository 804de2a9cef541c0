/// A signal at each change of an observable, by the thread that made it.
final class Waker: Sendable {
    let call: @Sendable () -> Void

    init(_ call: @escaping @Sendable () -> Void) { self.call = call }
}

/// The value of a ``BlobObservable``, its observers and the changes that wait for them: shared with tokens and iterations.
///
/// Other modules call all of this unspecialised. There each use of a type that is generic over the state costs a
/// look-up, which was most of the time of a delivery: hence `SystemLock` instead of a ``Locked``, observers without
/// their type, and `hasPending`.
final class ObservableCore<State: Equatable & Sendable>: @unchecked Sendable {  // Safe: `lock` guards every variable.
    private struct Delivery {
        var change: Change<State>
        let observers: [AnyObserver]  // One, of an initial change.
    }

    private let lock = SystemLock()
    let rules: ObservableRules<State>
    private var state: State
    private var version: UInt64 = 0
    private var observers: [AnyObserver] = []  // Each is an `Observer<State>`.
    private var wakers: [Waker] = []
    private var pending: [Delivery] = []
    private var hasPending = false  // That `pending` is not empty.
    private var isDelivering = false
    private var hasEnded = false

    private var hasAudience: Bool { !self.observers.isEmpty || !self.wakers.isEmpty }

    init(_ state: State, _ rules: ObservableRules<State>) { (self.state, self.rules) = (state, rules) }

    deinit { self.lock.destroy() }

    var value: State { self.lock.withLock { self.state } }

    func withValue<Result>(_ body: (State) throws -> Result) rethrows -> Result {
        self.lock.lock()
        defer { self.lock.unlock() }
        return try body(self.state)
    }

    var versioned: (state: State, version: UInt64) { self.lock.withLock { (self.state, self.version) } }

    // MARK: Changes

    /// Changes the value and calls the wakers. With `delivers` tells the observers too; else ``deliver()`` does.
    ///
    /// Without an audience nobody asks what changed, and each update counts as a change.
    func update<Result>(delivers: Bool = true, _ body: (inout State) throws -> Result) rethrows -> Result {
        self.lock.lock()
        guard self.hasAudience else {
            defer {
                self.version &+= 1
                self.lock.unlock()
            }
            return try body(&self.state)
        }
        let old = self.state
        defer { self.endUpdate(from: old, delivers: delivers) }
        return try body(&self.state)
    }

    /// Lets go of the lock and tells the audience.
    private func endUpdate(from old: State, delivers: Bool) {
        guard self.state != old else { return self.lock.unlock() }
        self.version &+= 1
        let (wakers, observers) = (self.wakers, self.observers)
        guard !observers.isEmpty else {
            self.lock.unlock()
            for waker in wakers { waker.call() }
            return
        }
        let new = self.state
        let mayDeliver = delivers && !self.isDelivering  // Else a thread is at it and will take this too.
        let isNext = mayDeliver && !self.hasPending
        if mayDeliver { self.isDelivering = true }
        if !isNext { self.enqueue(old, new, for: observers) }
        self.lock.unlock()
        for waker in wakers { waker.call() }
        guard mayDeliver else { return }
        if isNext {
            for observer in observers { observer.typed(for: State.self).receive(old: old, new: new) }
        }
        while self.mustDeliverMore() { self.deliverPending() }
    }

    /// Tells the observers of the changes that wait, unless a thread is at it.
    func deliver() {
        let mayDeliver = self.lock.withLock {
            guard self.hasPending, !self.isDelivering else { return false }
            self.isDelivering = true
            return true
        }
        guard mayDeliver else { return }
        while self.mustDeliverMore() { self.deliverPending() }
    }

    // MARK: The audience

    func add(_ observer: Observer<State>, isInitialWanted: Bool) {
        self.lock.withLock {
            self.observers.append(observer)
            if isInitialWanted { self.enqueue(nil, self.state, for: [observer]) }
        }
        if isInitialWanted { self.deliver() }
    }

    /// Adds a queue that begins with the value as it is: no change comes in between, and none twice.
    func addQueue() -> StateQueue<State> {
        self.lock.withLock {
            let queue = StateQueue(self.state, self.rules)
            if self.hasEnded { queue.end() } else { self.observers.append(queue) }
            return queue
        }
    }

    func remove(_ observer: Observer<State>) {
        // The observers are released outside the lock, with whatever their handlers hold.
        _ = self.lock.withLock {
            self.observers.firstIndex { $0 === observer }.map { self.observers.remove(at: $0) }
        }
    }

    func add(_ waker: Waker) { self.lock.withLock { self.wakers.append(waker) } }

    func remove(_ waker: Waker) {
        _ = self.lock.withLock { self.wakers.firstIndex { $0 === waker }.map { self.wakers.remove(at: $0) } }
    }

    /// Tells the observers that no change will come any more. Not while a thread delivers.
    func end() {
        let observers = self.lock.withLock {
            self.hasEnded = true
            defer { self.observers = [] }
            return self.observers
        }
        for observer in observers { observer.typed(for: State.self).end() }
    }

    // MARK: Pending changes

    /// Under the lock. `old` is nil for an initial delivery.
    @inline(never)  // Else each update, not only one that has to wait, looks up the types that are used here.
    private func enqueue(_ old: State?, _ new: State, for observers: [AnyObserver]) {
        let change = Change(old: old, new: new)
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
        for delivery in self.takePending() {
            for observer in delivery.observers { observer.typed(for: State.self).take(delivery.change) }
        }
    }

    /// False when nothing is pending: the calling thread no longer delivers.
    private func mustDeliverMore() -> Bool {
        self.lock.withLock {
            self.isDelivering = self.hasPending
            return self.isDelivering
        }
    }

    private func takePending() -> [Delivery] {
        self.lock.withLock {
            defer { (self.pending, self.hasPending) = ([], false) }
            return self.pending
        }
    }
}
