public import Dispatch

/// A value with observable key paths: key-value observing for every platform.
///
/// Each observer receives each change of its key path once and in order. One thread at a time delivers: the thread that
/// made a change, or a thread that is already delivering. It never delivers under a lock: handlers may read, update,
/// observe and cancel. With a ``BlobDelivery``, a handler runs on a run loop or a queue instead.
///
/// A method that changes the value may therefore return before a handler was called for it, if another thread is
/// delivering; that thread then makes the call, unless the token is cancelled or released first. Keep the token until
/// the handler has received the value that you wait for.
///
/// Changes made while a handler runs are queued without limit. A rule given to ``init(_:coalescing:isLast:)`` keeps the
/// queue short by coalescing changes that observers can do without.
///
/// ```swift
/// let state = BlobObservable(BlobReaderState())
/// let observation = state.observe(\.hasBytesAvailable) { change in
///     print(change.old ?? false, "->", change.new ?? false)
/// }
/// state.update { $0.hasBytesAvailable = true }  // false -> true
/// observation.cancel()
/// ```
public final class BlobObservable<State: Equatable & Sendable>: Sendable {
    private let core: ObservableCore<State>

    /// Creates an observable with its first value.
    ///
    /// Both rules may be called with the lock of this object held, and on any thread: they must use only the values
    /// that they are given.
    ///
    /// - Parameters:
    ///   - state: The first value.
    ///   - coalescing: A closure that returns true if observers can do without `old` because `new`, the value right
    ///     after it, is sufficient: for example, if only a byte offset differs. Called only while both changes are
    ///     queued: for a running handler, for an executor (see ``BlobDelivery``) or for the consumer of ``states``. The
    ///     two changes then become one, from the value before the first to the value after the second, which is
    ///     delivered unless these are equal. Changes with different observers are not coalesced. If nil, no changes are
    ///     coalesced.
    ///   - isLast: A closure that returns true for a value that ends ``states``; such a value is not coalesced with a
    ///     later value that does not end them. If nil, only the release of this object ends them.
    public init(
        _ state: State, coalescing: (@Sendable (_ old: State, _ new: State) -> Bool)? = nil,
        isLast: (@Sendable (State) -> Bool)? = nil
    ) {
        self.core = ObservableCore(state, ObservableRules(coalescing: coalescing, isLast: isLast))
    }

    // A thread that delivers retains this object, so no change is pending any more.
    deinit { self.core.end() }

    /// The current value.
    public var value: State { self.core.withValue { $0 } }

    /// Runs `body` under the lock of this object with the current value, to access the caller's own state that changes
    /// independently of the value. Costs less than an ``update(_:)``.
    package func withValue<Result>(_ body: (State) throws -> Result) rethrows -> Result {
        try self.core.withValue(body)
    }

    /// An asynchronous sequence of the current value and the value after each change.
    ///
    /// Each iteration receives every value once and in order. Values are queued for a slow consumer without limit,
    /// except values that the rule of this object coalesces, of which only the latest is kept. An iteration ends after
    /// a value that is the last by the rule of this object, after this object was released and all queued values were
    /// taken, or, if its task is cancelled, at once and permanently. The sequence does not keep this object alive.
    public var states: BlobSequence<State, Never> {
        BlobSequence { [core] in
            let (queue, key) = core.addQueue()
            let registration = BlobRegistration(of: queue, key, by: core)
            return {
                let state = await withTaskCancellationHandler {
                    await withCheckedContinuation { queue.resume($0) }
                } onCancel: {
                    queue.cancel()
                }
                if state == nil { registration.cancel() }
                return state
            }
        }
    }

    /// Changes the value, then notifies the observers if it is different.
    ///
    /// `body` runs under the lock of this object: it may change the caller's own state that must change together with
    /// the value, but must not call anything that waits or that calls this object.
    ///
    /// - Returns: The result of `body`.
    /// - Complexity: With observers, a copy and a comparison of the value, and no allocation unless changes have to
    ///   wait for a handler. Without observers, neither; the values that `body` replaces are then released under the
    ///   lock.
    @discardableResult
    public func update<Result>(_ body: (inout State) throws -> Result) rethrows -> Result {
        defer { withExtendedLifetime(self) {} }
        return try self.core.update(delivers: true, body).0
    }

    /// Changes the value as ``update(_:)`` does, but leaves the observers to ``deliver()`` or to the next update.
    ///
    /// - Returns: The result of `body`, and whether there may be changes to deliver.
    package func updateWithoutDelivering<Result>(
        _ body: (inout State) throws -> Result
    ) rethrows -> (Result, hasPending: Bool) {
        defer { withExtendedLifetime(self) {} }
        return try self.core.update(delivers: false, body)
    }

    /// Notifies the observers of the queued changes, unless a thread is already doing so.
    package func deliver() {
        self.core.deliver()
        withExtendedLifetime(self) {}
    }

    /// Calls `wake` after each change, until the token is cancelled or released; for observers on which other threads
    /// wait.
    ///
    /// Unlike a handler, `wake` does not wait for running handlers. The thread that made the change calls it, outside
    /// of the lock; several threads may call it at once and out of order, so it must read the current value.
    package func onChange(_ wake: @escaping @Sendable () -> Void) -> BlobRegistration {
        let waker = BlobWaker(wake)
        let key = self.core.add(waker)
        return BlobRegistration(
            removal: onlyOnce { [core] in
                core.remove(key)
                withExtendedLifetime(waker) {}
            })
    }

    /// Calls `handler` for each change of the value at `keyPath`, until the observation is cancelled or released.
    ///
    /// With `.initial`, the first call has the current value, and is made through `delivery` like all others. With
    /// ``BlobDelivery/immediate``, it is made before this method returns, unless a thread is already delivering, which
    /// then makes that call next; the same applies if this method is called in a delivery.
    ///
    /// - Parameters:
    ///   - keyPath: The property to observe; `\.self` is the whole value.
    ///   - options: The values that the ``BlobChange`` carries, and additional calls besides the calls for changes.
    ///   - delivery: The executor of `handler`; by default the thread that changes the value.
    ///   - handler: A closure that is called for one change at a time.
    /// - Returns: The token that keeps the observation alive.
    @inlinable  // Specialisation saves type look-ups, which took half the time of a delivery.
    public func observe<Value: Equatable & Sendable>(
        _ keyPath: any KeyPath<State, Value> & Sendable, options: BlobObservingOptions = [.old, .new],
        on delivery: BlobDelivery = .immediate, _ handler: @escaping @Sendable (BlobChange<Value>) -> Void
    ) -> BlobRegistration {
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
        isRelevant: @escaping @Sendable (_ old: State, _ new: State) -> Bool,
        handler: @escaping @Sendable (_ old: State, _ new: State, _ isInitial: Bool, _ isPrior: Bool) -> Void
    ) -> BlobRegistration {
        defer { withExtendedLifetime(self) {} }
        let handler = HandlerObserver(options, isRelevant: isRelevant, handler)
        let observer = delivery.connect.map { Mailbox(handler, of: self, self.core.rules, connect: $0) } ?? handler
        let key = self.core.add(observer, isInitialWanted: options.contains(.initial))
        return BlobRegistration(of: observer, key, by: self.core)
    }

    /// Blocks until `condition` returns a value for the state; it is checked again after each change.
    ///
    /// Does not wait for running handlers, so a handler may call it.
    ///
    /// - Throws: ``BlobError/Code/cancelled`` or ``BlobError/Code/timedOut``, as `context` determines.
    public func wait<Value>(
        _ context: BlobContext, until condition: (State) -> Value?
    ) throws(BlobError) -> Value {
        let signal = WaitSignal()
        let observation = self.onChange { signal.signal() }
        defer { observation.cancel() }
        return try context.wait(on: signal) { condition(self.value) }
    }
}

/// A member of a state, read at its offset in memory if it is stored: many times faster than through its key path.
@usableFromInline struct StateMember<State, Value>: Sendable {
    @usableFromInline let keyPath: any KeyPath<State, Value> & Sendable
    @usableFromInline let byteOffset: Int?

    @inlinable init(_ keyPath: any KeyPath<State, Value> & Sendable) {
        self.keyPath = keyPath
        self.byteOffset = MemoryLayout<State>.offset(of: keyPath)
    }

    @inlinable func value(of state: State) -> Value {
        guard let byteOffset else { return state[keyPath: self.keyPath] }
        return withUnsafeBytes(of: state) { $0.load(fromByteOffset: byteOffset, as: Value.self) }
    }
}

/// The options of an observation: its calls and the values that they carry.
public struct BlobObservingOptions: OptionSet, Sendable {
    /// The raw value.
    public let rawValue: Int

    /// Creates options from a raw value.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// An initial call with the current value.
    public static let initial = Self(rawValue: 1 << 0)
    /// ``BlobChange/old`` is filled in.
    public static let old = Self(rawValue: 1 << 1)
    /// ``BlobChange/new`` is filled in.
    public static let new = Self(rawValue: 1 << 2)
    /// An additional call for each change, just before the call for the change itself, with ``BlobChange/isPrior`` true
    /// and ``BlobChange/new`` nil. Handlers run after a change: the observable already has a new value.
    public static let prior = Self(rawValue: 1 << 3)
}

/// One change of an observed value.
public struct BlobChange<Value: Sendable>: Sendable {
    /// The value before the change; nil in the initial call and without ``BlobObservingOptions/old``.
    public let old: Value?
    /// The value after the change; nil in a prior call and without ``BlobObservingOptions/new``.
    public let new: Value?
    /// True in the initial call that ``BlobObservingOptions/initial`` requests.
    public let isInitial: Bool
    /// True in the first of the two calls for a change that ``BlobObservingOptions/prior`` requests.
    public let isPrior: Bool

    @usableFromInline init(old: Value?, new: Value?, isInitial: Bool, isPrior: Bool) {
        (self.old, self.new) = (old, new)
        (self.isInitial, self.isPrior) = (isInitial, isPrior)
    }
}

extension BlobRegistration {
    convenience init<State>(of observer: Observer<State>, _ key: UInt64, by core: ObservableCore<State>) {
        self.init(
            removal: onlyOnce {
                observer.cancel()
                core.remove(key)
            })
    }
}

/// The executor on which the handler of an observation runs.
///
/// A handler is always called for one change at a time and in order, even on a concurrent queue. Unless delivery is
/// immediate, an observation has at most one job scheduled at a time. Changes that wait for the job are coalesced by
/// the rule of the ``BlobObservable``, regardless of how long they wait, and keep the observable alive;
/// ``BlobRegistration/cancel()`` discards them.
public struct BlobDelivery: Sendable {
    /// The connection of one observer to its executor.
    package struct Connection: Sendable {
        package let schedule: @Sendable () -> Void
        package let close: @Sendable () -> Void

        package init(schedule: @escaping @Sendable () -> Void, close: @escaping @Sendable () -> Void = {}) {
            (self.schedule, self.close) = (schedule, close)
        }
    }

    /// Connects an observer; `job` calls the handler for the waiting changes. If this closure is nil, the handler is
    /// called at once, on the thread of the change.
    let connect: (@Sendable (_ job: @escaping @Sendable () -> Void) -> Connection)?

    package init(connect: (@Sendable (_ job: @escaping @Sendable () -> Void) -> Connection)?) { self.connect = connect }

    /// Creates a delivery through a custom executor.
    ///
    /// - Parameter schedule: A closure that schedules the job to run once, soon, on any thread. May be called on any
    ///   thread.
    public init(schedule: @escaping @Sendable (_ job: @escaping @Sendable () -> Void) -> Void) {
        self.init(connect: { job in Connection(schedule: { schedule(job) }) })
    }

    /// Delivers on the thread that makes a change, or on a thread that is already delivering.
    public static let immediate = BlobDelivery(connect: nil)

    /// Delivers on a queue, serial or concurrent.
    public static func queue(_ queue: DispatchQueue) -> BlobDelivery { BlobDelivery { queue.async(execute: $0) } }
}
