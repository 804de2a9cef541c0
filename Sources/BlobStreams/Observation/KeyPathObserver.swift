/// Calls a handler when the value at a key path changes.
final class KeyPathObserver<State: Equatable & Sendable, Value: Equatable & Sendable>:
    Observer<State>, @unchecked Sendable  // Safe: see `AnyObserver`.
{
    private let keyPath: KeyPath<State, Value> & Sendable
    private let options: BlobObservingOptions
    private let handler: @Sendable (BlobChange<Value>) -> Void
    private let isCancelled = Locked(false)

    init(
        _ keyPath: KeyPath<State, Value> & Sendable, _ options: BlobObservingOptions,
        _ handler: @escaping @Sendable (BlobChange<Value>) -> Void
    ) {
        self.keyPath = keyPath
        self.options = options
        self.handler = handler
    }

    override func begin(with state: State) {
        let value = state[keyPath: self.keyPath]
        self.call(
            BlobChange(old: nil, new: self.options.contains(.new) ? value : nil, isInitial: true, isPrior: false))
    }

    override func receive(old: State, new: State) {
        let (oldValue, newValue) = (old[keyPath: self.keyPath], new[keyPath: self.keyPath])
        guard oldValue != newValue else { return }
        let old = self.options.contains(.old) ? oldValue : nil
        if self.options.contains(.prior) {
            self.call(BlobChange(old: old, new: nil, isInitial: false, isPrior: true))
        }
        let new = self.options.contains(.new) ? newValue : nil
        self.call(BlobChange(old: old, new: new, isInitial: false, isPrior: false))
    }

    override func isConcerned(old: State, new: State) -> Bool {
        old[keyPath: self.keyPath] != new[keyPath: self.keyPath]
    }

    override func cancel() { self.isCancelled.withLock { $0 = true } }

    private func call(_ change: BlobChange<Value>) {
        guard !self.isCancelled.withLock({ $0 }) else { return }
        self.handler(change)
    }
}
