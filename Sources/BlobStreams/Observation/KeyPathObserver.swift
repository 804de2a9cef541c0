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
        self.deliver(BlobChange(old: nil, new: self.options.contains(.new) ? value : nil, isInitial: true))
    }

    override func receive(old: State, new: State) {
        let (oldValue, newValue) = (old[keyPath: self.keyPath], new[keyPath: self.keyPath])
        guard oldValue != newValue else { return }
        self.deliver(
            BlobChange(
                old: self.options.contains(.old) ? oldValue : nil, new: self.options.contains(.new) ? newValue : nil,
                isInitial: false))
    }

    override func cancel() { self.isCancelled.withLock { $0 = true } }

    private func deliver(_ change: BlobChange<Value>) {
        guard !self.isCancelled.withLock({ $0 }) else { return }
        self.handler(change)
    }
}
