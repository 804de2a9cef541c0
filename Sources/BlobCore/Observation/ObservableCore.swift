/// The value of a ``BlobObservable``, its observers and the changes queued for them; shared with tokens and iterations.
///
/// Other modules call this type unspecialised. There, each use of a type that is generic over the state, even an
/// optional of it, costs a look-up, which used to take most of the time of a delivery. Hence the variables beside a
/// lock, the untyped observers, and the flags for empty arrays.
final class ObservableCore<State: Equatable & Sendable>: @unchecked Sendable {  // Safe: `lock` guards every variable.
    private struct Delivery {
        var change: Change<State>
        let observers: [AnyObserver]  // Only one for an initial change.
    }

    private let lock = Locked(false)  // Not of `Void`, which would lie past the end of the lock's memory.
    let rules: ObservableRules<State>
    private let state = UnsafeMutablePointer<State>.allocate(capacity: 1)  // The lock orders its accesses.
    private var observers = ObserverList<AnyObserver>()  // Each is an `Observer<State>`.
    private var wakers = ObserverList<BlobWaker>()
    private var lastKey: UInt64 = 0
    private var hasObservers = false  // True if there are observers or wakers.
    private var pendingDeliveries: [Delivery] = []
    private var hasPending = false  // True if `pendingDeliveries` is not empty.
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

    /// Changes the value and calls the wakers. If `delivers` is true, also notifies the observers; otherwise
    /// ``deliver()`` notifies them.
    ///
    /// Without observers and wakers, the value is neither copied nor compared.
    ///
    /// - Returns: The result of `body`, and whether there may be changes to deliver.
    func update<Result>(
        delivers: Bool, _ body: (inout State) throws -> Result
    ) rethrows -> (Result, hasPending: Bool) {
        self.lock.lock()
        guard self.hasObservers else {
            defer { self.lock.unlock() }
            return (try body(&self.state.pointee), self.hasPending)
        }
        let old = self.state.pointee
        defer { self.endUpdate(from: old, delivers: delivers) }
        return (try body(&self.state.pointee), !delivers)
    }

    /// Releases the lock, then calls the wakers and notifies the observers.
    private func endUpdate(from old: State, delivers: Bool) {
        guard self.state.pointee != old else { return self.lock.unlock() }
        let (wakers, observers) = (self.wakers.members, self.observers.members)
        guard !observers.isEmpty else {
            self.lock.unlock()
            for waker in wakers { waker.wake() }
            return
        }
        let new = self.state.pointee
        let mayDeliver = delivers && !self.isDelivering  // Otherwise the delivering thread handles this change, too.
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

    /// Notifies the observers of the queued changes, unless a thread is already doing so.
    func deliver() {
        let mayDeliver = self.lock.withLock { _ in
            guard self.hasPending, !self.isDelivering else { return false }
            self.isDelivering = true
            return true
        }
        guard mayDeliver else { return }
        while self.mustDeliverMore() { self.deliverPending() }
    }

    // MARK: Observers and wakers

    /// Adds an observer.
    ///
    /// - Returns: The key of the observer, for ``remove(_:)``.
    func add(_ observer: Observer<State>, isInitialWanted: Bool) -> UInt64 {
        let key = self.lock.withLock { _ in
            let key = self.nextKey()
            self.observers.add(observer, key: key)
            if isInitialWanted {
                self.enqueue(self.state.pointee, self.state.pointee, isInitial: true, for: [observer])
            }
            return key
        }
        if isInitialWanted { self.deliver() }
        return key
    }

    /// Adds a queue that begins with the current value: no change is lost or repeated in between.
    func addQueue() -> (StateQueue<State>, key: UInt64) {
        self.lock.withLock { _ in
            let (queue, key) = (StateQueue(self.state.pointee, self.rules), self.nextKey())
            if self.hasEnded { queue.end() } else { self.observers.add(queue, key: key) }
            self.hasObservers = !self.hasEnded
            return (queue, key)
        }
    }

    /// Adds a waker.
    ///
    /// - Returns: The key of the waker, for ``remove(_:)``.
    func add(_ waker: BlobWaker) -> UInt64 {
        self.lock.withLock { _ in
            let key = self.nextKey()
            self.wakers.add(waker, key: key)
            return key
        }
    }

    /// Returns the key of an observer, a queue or a waker that is being added. Called under the lock.
    private func nextKey() -> UInt64 {
        self.hasObservers = true
        self.lastKey += 1
        return self.lastKey
    }

    /// Removes an observer or a waker, which the caller retains: it is released outside the lock, with all objects that
    /// its handler retains.
    func remove(_ key: UInt64) {
        self.lock.withLock { _ in
            self.observers.remove(key)
            self.wakers.remove(key)
            self.hasObservers = !self.observers.members.isEmpty || !self.wakers.members.isEmpty
        }
    }

    /// Ends all observers, because no more changes will come. Must not be called while a thread is delivering changes.
    func end() {
        let observers = self.lock.withLock { _ in
            self.hasEnded = true
            defer { self.observers.removeAll() }
            return self.observers.members
        }
        for observer in observers { observer.typed(for: State.self).end() }
    }

    // MARK: Pending changes

    /// Adds a change to the pending ones; called under the lock.
    @inline(never)  // Otherwise even updates that queue nothing would look up the types used here.
    private func enqueue(_ old: State, _ new: State, isInitial: Bool, for observers: [AnyObserver]) {
        let change = Change(old: old, new: new, isInitial: isInitial)
        if let last = self.pendingDeliveries.last, last.observers.elementsEqual(observers, by: ===),
            self.rules.mayCoalesce(last.change, change)
        {
            self.pendingDeliveries[self.pendingDeliveries.count - 1].change.new = new
        } else {
            self.pendingDeliveries.append(Delivery(change: change, observers: observers))
            self.hasPending = true
        }
    }

    @inline(never)  // As for `enqueue`.
    private func deliverPending() {
        let pending = self.lock.withLock { _ in
            defer { (self.pendingDeliveries, self.hasPending) = ([], false) }
            return self.pendingDeliveries
        }
        for delivery in pending {
            let change = delivery.change
            for observer in delivery.observers {
                observer.typed(for: State.self).receive(old: change.old, new: change.new, isInitial: change.isInitial)
            }
        }
    }

    /// Returns false if no changes are pending: the calling thread then no longer delivers.
    private func mustDeliverMore() -> Bool {
        self.lock.withLock { _ in
            self.isDelivering = self.hasPending
            return self.isDelivering
        }
    }
}

/// The rules of an observable: which waiting changes may be coalesced, and which value is the last.
struct ObservableRules<State: Sendable>: Sendable {
    let coalescing: (@Sendable (_ old: State, _ new: State) -> Bool)?
    let isLast: (@Sendable (State) -> Bool)?

    func mayCoalesce(_ first: Change<State>, _ second: Change<State>) -> Bool {
        guard !first.isInitial, !second.isInitial, let coalescing, coalescing(first.new, second.new) else {
            return false
        }
        // Otherwise an iteration that has not received the last value might never receive it.
        return !self.isLast(first.new) || self.isLast(second.new)
    }

    func isLast(_ state: State) -> Bool { self.isLast.map { $0(state) } ?? false }
}

extension Fifo {
    /// Adds a change, or coalesces it with the newest change in the queue.
    ///
    /// - Returns: The superseded state, to be released outside any lock; nil if no state was superseded.
    mutating func append<State>(_ change: Change<State>, _ rules: ObservableRules<State>) -> State?
    where Element == Change<State> {
        guard let last = self.last, rules.mayCoalesce(last, change) else {
            self.append(change)
            return nil
        }
        self.last?.new = change.new
        return last.new
    }
}

/// A list of observers or wakers, in the order in which they were added.
///
/// Members are found by their keys, because a linear search would take O(n) steps for each removal.
struct ObserverList<Member> {
    private(set) var members: [Member] = []
    private var keys: [UInt64] = []  // Ascending.

    /// Adds a member. `key` must be larger than all keys before it.
    mutating func add(_ member: Member, key: UInt64) {
        self.members.append(member)
        self.keys.append(key)
    }

    /// Removes a member if it is present.
    ///
    /// - Complexity: O(log n) to find it; the members after it are moved.
    mutating func remove(_ key: UInt64) {
        let index = self.keys.partitioningIndex { $0 >= key }
        guard index < self.keys.count, self.keys[index] == key else { return }
        self.members.remove(at: index)
        self.keys.remove(at: index)
    }

    mutating func removeAll() { (self.members, self.keys) = ([], []) }
}
