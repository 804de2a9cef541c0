/// The calls that an observation asks for, and the values that they carry.
public struct BlobObservingOptions: OptionSet, Sendable {
    /// The bits.
    public let rawValue: Int

    /// Creates options from their bits.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// A first call with the value as it is.
    public static let initial = Self(rawValue: 1 << 0)
    /// ``BlobChange/old`` is filled in.
    public static let old = Self(rawValue: 1 << 1)
    /// ``BlobChange/new`` is filled in.
    public static let new = Self(rawValue: 1 << 2)
    /// One more call for each change, just before the call of the change itself: ``BlobChange/isPrior`` is true in it, and
    /// ``BlobChange/new`` is nil. Handlers run after a change: the value of the observable is a new one already.
    public static let prior = Self(rawValue: 1 << 3)
}

/// One change of an observed value.
public struct BlobChange<Value: Sendable>: Sendable {
    /// The value before; nil in the initial call and without ``BlobObservingOptions/old``.
    public let old: Value?
    /// The value after; nil in a prior call and without ``BlobObservingOptions/new``.
    public let new: Value?
    /// True in the first call that ``BlobObservingOptions/initial`` asks for.
    public let isInitial: Bool
    /// True in the first of the two calls for a change that ``BlobObservingOptions/prior`` asks for.
    public let isPrior: Bool

    @usableFromInline init(old: Value?, new: Value?, isInitial: Bool, isPrior: Bool) {
        (self.old, self.new) = (old, new)
        (self.isInitial, self.isPrior) = (isInitial, isPrior)
    }
}

/// Keeps an observation alive; it ends when this is cancelled or released.
public final class BlobObservation: Sendable {
    private let cancellation: Locked<(@Sendable () -> Void)?>

    init(_ cancellation: @escaping @Sendable () -> Void) { self.cancellation = Locked(cancellation) }

    convenience init<State>(of observer: Observer<State>, by core: ObservableCore<State>) {
        self.init {
            observer.cancel()
            core.remove(observer)
        }
    }

    deinit { self.cancel() }

    /// Ends the observation and drops what waits for its executor. Works twice, and inside the handler.
    ///
    /// No call of the handler starts any more. One that another thread was just starting may still run: this method does
    /// not wait for it. On the thread, serial queue or actor that the handler runs on there is no such call.
    public func cancel() { self.cancellation.take()?() }
}
