/// The options of an observation: the calls that it makes and the values that they have.
public struct BlobObservingOptions: OptionSet, Sendable {
    /// The bits.
    public let rawValue: Int

    /// Creates options from their bits.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// An initial call with the current value.
    public static let initial = Self(rawValue: 1 << 0)
    /// ``BlobChange/old`` is filled in.
    public static let old = Self(rawValue: 1 << 1)
    /// ``BlobChange/new`` is filled in.
    public static let new = Self(rawValue: 1 << 2)
    /// An additional call for each change, just before the call for the change itself, with ``BlobChange/isPrior`` true
    /// and ``BlobChange/new`` nil. Handlers run after a change: the value of the observable is already a new one.
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

extension BlobRegistration {
    convenience init<State>(of observer: Observer<State>, _ key: UInt64, by core: ObservableCore<State>) {
        self.init(
            removal: onlyOnce {
                observer.cancel()
                core.remove(key)
            })
    }
}
