/// A value whose changes are told to whoever observes one of its key paths: key-value observing, on every platform.
///
/// Each observer sees each change of its key path once and in order. One thread at a time delivers, the one that made a
/// change or that was delivering already, and never under a lock: handlers may read, update, observe and cancel.
/// After an observation was cancelled no further delivery starts; one that has begun on another thread may still run.
public final class BlobObservable<State: Equatable & Sendable>: Sendable {
    fileprivate struct Core {
        var state: State
        var version: UInt64 = 0
        var observers: [Observer] = []
        var pending: [Delivery] = []
        var isDelivering = false
    }

    fileprivate struct Delivery {
        let old: State?  // Nil is the initial delivery to the one observer that asks for it.
        let new: State
        let observers: [Observer]
    }

    fileprivate final class Observer: Sendable {
        private let isCancelled = Locked(false)
        private let deliver: @Sendable (State?, State) -> Void

        init(_ deliver: @escaping @Sendable (State?, State) -> Void) { self.deliver = deliver }

        func receive(old: State?, new: State) {
            guard !self.isCancelled.withLock({ $0 }) else { return }
            self.deliver(old, new)
        }

        func cancel() { self.isCancelled.withLock { $0 = true } }
    }

    private let core: Locked<Core>

    /// Creates an observable with its first value.
    public init(_ state: State) { self.core = Locked(Core(state: state)) }

    /// The value now.
    public var value: State { self.core.withLock { $0.state } }

    /// The value and the number of changes so far, read together.
    package var versioned: (state: State, version: UInt64) { self.core.withLock { ($0.state, $0.version) } }

    /// Changes the value, then tells the observers if it is a different one now.
    ///
    /// `body` runs under the lock of this object: state of the caller's own that must change together with the value
    /// may be changed there, but nothing may be called that waits or comes back here.
    ///
    /// - Returns: What `body` returned.
    @discardableResult
    public func update<Result>(_ body: (inout State) throws -> Result) rethrows -> Result {
        var toDeliver: Delivery?
        defer { if let toDeliver { self.deliver(startingWith: toDeliver) } }
        return try self.core.withLock { core in
            guard !core.observers.isEmpty else {
                let old = core.state
                defer { if core.state != old { core.version &+= 1 } }
                return try body(&core.state)
            }
            let old = core.state
            defer {
                if core.state != old {
                    core.version &+= 1
                    toDeliver = core.enqueue(Delivery(old: old, new: core.state, observers: core.observers))
                }
            }
            return try body(&core.state)
        }
    }

    /// Calls `handler` for each change of the value at `keyPath`, until the observation is cancelled or released.
    ///
    /// With `.initial` the first call brings the value as it is now: before this method returns, unless another thread
    /// is just delivering, which then makes that call next. So does the delivery that this method is called from.
    ///
    /// - Parameters:
    ///   - keyPath: What to observe; `\.self` is the whole value.
    ///   - options: Which values the ``BlobChange`` carries and whether there is a first call.
    ///   - handler: Runs on the thread that changes the value.
    /// - Returns: The token that keeps the observation alive.
    public func observe<Value: Equatable & Sendable>(
        _ keyPath: KeyPath<State, Value> & Sendable, options: BlobObservingOptions = [.old, .new],
        _ handler: @escaping @Sendable (BlobChange<Value>) -> Void
    ) -> BlobObservation {
        let observer = Observer { old, new in
            let oldValue = old.map { $0[keyPath: keyPath] }
            let newValue = new[keyPath: keyPath]
            guard oldValue != newValue else { return }
            handler(
                BlobChange(
                    old: options.contains(.old) ? oldValue : nil, new: options.contains(.new) ? newValue : nil,
                    isInitial: old == nil))
        }
        let initial: Delivery? = self.core.withLock { core in
            core.observers.append(observer)
            guard options.contains(.initial) else { return nil }
            return core.enqueue(Delivery(old: nil, new: core.state, observers: [observer]))
        }
        if let initial { self.deliver(startingWith: initial) }
        return BlobObservation { [core] in
            observer.cancel()
            // The observers are released outside the lock, with whatever their handlers hold.
            _ = core.withLock { core in
                core.observers.firstIndex { $0 === observer }.map { core.observers.remove(at: $0) }
            }
        }
    }

    /// Blocks until `condition` gives a value for the state, looking again after each change.
    ///
    /// - Throws: ``BlobError/Code/cancelled`` or ``BlobError/Code/timedOut``, as `context` says.
    public func wait<Value>(
        _ context: BlobContext, until condition: @escaping @Sendable (State) -> Value?
    ) throws(BlobError) -> Value {
        let signal = WaitSignal()
        let observation = self.observe(\.self, options: []) { _ in signal.signal() }
        defer { observation.cancel() }
        return try context.wait(on: signal) { condition(self.value) }
    }

    private func deliver(startingWith first: Delivery) {
        var batch = [first]
        while !batch.isEmpty {
            for delivery in batch {
                for observer in delivery.observers { observer.receive(old: delivery.old, new: delivery.new) }
            }
            batch = self.core.withLock { $0.dequeueAll() }
        }
    }
}

extension BlobObservable.Core {
    /// What the calling thread must deliver itself; nil when a thread is at it already and will take this too.
    fileprivate mutating func enqueue(_ delivery: BlobObservable.Delivery) -> BlobObservable.Delivery? {
        guard !self.isDelivering else {
            self.pending.append(delivery)
            return nil
        }
        self.isDelivering = true
        return delivery
    }

    fileprivate mutating func dequeueAll() -> [BlobObservable.Delivery] {
        defer { self.pending = [] }
        self.isDelivering = !self.pending.isEmpty
        return self.pending
    }
}
