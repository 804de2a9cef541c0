/// A value that tells its observers of the changes of their key paths: key-value observing, on every platform.
///
/// Each observer sees each change of its key path once and in order. One thread at a time delivers, the one that made a
/// change or that was delivering already, and never under a lock: handlers may read, update, observe and cancel.
/// ``BlobDelivery`` has a handler run on a run loop, a queue or an actor instead.
///
/// Changes made while a handler runs wait for it, however many they are. A rule given to
/// ``init(_:coalescing:isLast:)`` keeps those few that differ in nothing that everybody has to see.
public final class BlobObservable<State: Equatable & Sendable>: Sendable {
    private let core: ObservableCore<State>

    /// Creates an observable with its first value.
    ///
    /// Both rules may be called with the lock of this object held, and by any thread: they look at the values they are
    /// given and at nothing else.
    ///
    /// - Parameters:
    ///   - state: The first value.
    ///   - coalescing: True when nobody has to see `old` because `new`, which came right after it, is as good: say,
    ///     when only a byte offset differs. Asked only while both wait, behind a handler that runs, for an executor
    ///     (see ``BlobDelivery``) or for the consumer of ``states``; the two changes then become one, from before the
    ///     first to after the second, which is told unless these are equal. Changes with different observers stay apart. Nil coalesces nothing.
    ///   - isLast: True for a value that ends ``states``; it is not coalesced with one after it that does not. Nil:
    ///     only the release of this object ends them.
    public init(
        _ state: State, coalescing: (@Sendable (_ old: State, _ new: State) -> Bool)? = nil,
        isLast: (@Sendable (State) -> Bool)? = nil
    ) {
        self.core = ObservableCore(state, ObservableRules(coalescing: coalescing, isLast: isLast))
    }

    // A thread that delivers holds this object, so nothing is pending any more.
    deinit { self.core.end() }

    /// The value now.
    public var value: State { self.core.withValue { $0 } }

    /// Runs `body` under the lock of this object, with the value as it is: for state of the caller's own that changes
    /// without it. Costs less than an ``update(_:)``.
    package func withValue<Result>(_ body: (State) throws -> Result) rethrows -> Result {
        try self.core.withValue(body)
    }

    /// The value as it is, then as it is after each change: a sequence for `for await`.
    ///
    /// Does not keep this object alive: its release ends the iterations.
    public var states: BlobStates<State> { BlobStates(self.core) }

    /// Changes the value, then tells the observers if it is a different one now.
    ///
    /// `body` runs under the lock of this object: state of the caller's own that must change together with the value
    /// may be changed there, but nothing may be called that waits or comes back here.
    ///
    /// - Returns: The result of `body`.
    /// - Complexity: With observers a copy and a comparison of the value, no allocation unless changes have to wait for a
    ///   handler. Without any, neither: what `body` replaces is released under the lock.
    @discardableResult
    public func update<Result>(_ body: (inout State) throws -> Result) rethrows -> Result {
        defer { withExtendedLifetime(self) {} }
        return try self.core.update(delivers: true, body).0
    }

    /// Changes the value as ``update(_:)`` does, but leaves the observers to ``deliver()``, or to the next update.
    ///
    /// - Returns: Also whether there may be something to deliver.
    package func updateWithoutDelivering<Result>(
        _ body: (inout State) throws -> Result
    ) rethrows -> (Result, hasPending: Bool) {
        defer { withExtendedLifetime(self) {} }
        return try self.core.update(delivers: false, body)
    }

    /// Tells the observers of the changes that wait, unless a thread is just doing that.
    package func deliver() {
        self.core.deliver()
        withExtendedLifetime(self) {}
    }

    /// Calls `wake` after each change, until the token is cancelled or released: for those that others wait for.
    ///
    /// Unlike observers it does not wait for handlers that run. It is called by the thread that made the change, not under
    /// the lock, and perhaps by several at once and not in their order: it looks at the value.
    package func onChange(_ wake: @escaping @Sendable () -> Void) -> BlobObservation {
        let waker = BlobWaker(wake)
        self.core.add(waker)
        return BlobObservation { [core] in core.remove(waker) }
    }

    /// Calls `handler` for each change of the value at `keyPath`, until the observation is cancelled or released.
    ///
    /// With `.initial` the first call brings the value as it is now, through `delivery` like all others. With
    /// ``BlobDelivery/immediate`` it comes before this method returns, unless another thread is just delivering, which then
    /// makes that call next; so does the delivery that this method is called from.
    ///
    /// - Parameters:
    ///   - keyPath: The member to observe; `\.self` is the whole value.
    ///   - options: The values that the ``BlobChange`` carries, and the calls besides those for changes.
    ///   - delivery: Where `handler` runs; by default on the thread that changes the value.
    ///   - handler: Called for one change at a time.
    /// - Returns: The token that keeps the observation alive.
    @inlinable  // What is specialised for the value saves look-ups of types, which took half the time of a delivery.
    public func observe<Value: Equatable & Sendable>(
        _ keyPath: KeyPath<State, Value> & Sendable, options: BlobObservingOptions = [.old, .new],
        on delivery: BlobDelivery = .immediate, _ handler: @escaping @Sendable (BlobChange<Value>) -> Void
    ) -> BlobObservation {
        let member = StateMember(keyPath)
        let (isOldWanted, isNewWanted) = (options.contains(.old), options.contains(.new))
        return self.observe(options, on: delivery) {
            member.value(of: $0) != member.value(of: $1)
        } handler: { old, new, isInitial, isPrior in
            handler(
                BlobChange(
                    old: isOldWanted && !isInitial ? member.value(of: old) : nil,
                    new: isNewWanted && !isPrior ? member.value(of: new) : nil, isInitial: isInitial,
                    isPrior: isPrior))
        }
    }

    @usableFromInline func observe(
        _ options: BlobObservingOptions, on delivery: BlobDelivery,
        concerns: @escaping @Sendable (_ old: State, _ new: State) -> Bool,
        handler: @escaping @Sendable (_ old: State, _ new: State, _ isInitial: Bool, _ isPrior: Bool) -> Void
    ) -> BlobObservation {
        defer { withExtendedLifetime(self) {} }
        let handler = HandlerObserver(options, concerns: concerns, handler)
        let observer = delivery.connect.map { Mailbox(handler, of: self, self.core.rules, connect: $0) } ?? handler
        self.core.add(observer, isInitialWanted: options.contains(.initial))
        return BlobObservation(of: observer, by: self.core)
    }

    /// Calls `handler` as the other `observe` does, and gives it this object too, which the observation does not keep alive.
    public func observe<Value: Equatable & Sendable>(
        _ keyPath: KeyPath<State, Value> & Sendable, options: BlobObservingOptions = [.old, .new],
        on delivery: BlobDelivery = .immediate,
        _ handler: @escaping @Sendable (BlobObservable<State>, BlobChange<Value>) -> Void
    ) -> BlobObservation {
        // A thread or job that delivers holds this object.
        self.observe(keyPath, options: options, on: delivery) { [weak self] change in
            if let self { handler(self, change) }
        }
    }

    /// Blocks until `condition` gives a value for the state, looking again after each change.
    ///
    /// Does not wait for handlers that run, and so may be called by one.
    ///
    /// - Throws: ``BlobError/Code/cancelled`` or ``BlobError/Code/timedOut``, as `context` says.
    public func wait<Value>(
        _ context: BlobContext, until condition: (State) -> Value?
    ) throws(BlobError) -> Value {
        let signal = WaitSignal()
        let observation = self.onChange { signal.signal() }
        defer { observation.cancel() }
        return try context.wait(on: signal) { condition(self.value) }
    }
}

/// A member of a state, read at its place where it is stored in one: many times faster than by its key path.
@usableFromInline struct StateMember<State, Value>: Sendable {
    @usableFromInline let keyPath: KeyPath<State, Value> & Sendable
    @usableFromInline let byteOffset: Int?

    @inlinable init(_ keyPath: KeyPath<State, Value> & Sendable) {
        self.keyPath = keyPath
        self.byteOffset = MemoryLayout<State>.offset(of: keyPath)
    }

    @inlinable func value(of state: State) -> Value {
        guard let byteOffset else { return state[keyPath: self.keyPath] }
        return withUnsafeBytes(of: state) { $0.load(fromByteOffset: byteOffset, as: Value.self) }
    }
}
