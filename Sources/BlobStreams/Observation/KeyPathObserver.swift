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

    override func begin(with state: State) { self.call(nil, state[keyPath: self.keyPath], isInitial: true) }

    override func receive(old: State, new: State) {
        let (old, new) = (old[keyPath: self.keyPath], new[keyPath: self.keyPath])
        guard old != new else { return }
        if self.options.contains(.prior) { self.call(old, nil, isPrior: true) }
        self.call(old, new)
    }

    override func isConcerned(old: State, new: State) -> Bool {
        old[keyPath: self.keyPath] != new[keyPath: self.keyPath]
    }

    override func cancel() { self.isCancelled.withLock { $0 = true } }

    @inline(__always)  // Else the types that are generic over the value are looked up again.
    private func call(_ old: Value?, _ new: Value?, isInitial: Bool = false, isPrior: Bool = false) {
        guard !self.isCancelled.withLock({ $0 }) else { return }
        self.handler(
            BlobChange(
                old: self.options.contains(.old) ? old : nil, new: self.options.contains(.new) ? new : nil,
                isInitial: isInitial, isPrior: isPrior))
    }
}
