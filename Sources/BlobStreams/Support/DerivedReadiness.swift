/// The readiness of a reader that stands on another one and has the last word on the end.
///
/// Follows the state of its base, except that the base's end shows as one more read that is worth it: in that read the
/// outer reader checks what it has to check, and then says ``end()``, ``fail(_:)`` or follows the next base.
package final class DerivedReadiness: Sendable {
    package let state = BlobObservable(BlobReaderState())
    private let base = Locked<(readiness: BlobObservable<BlobReaderState>, observation: BlobObservation)?>(nil)

    /// Nil when `base` blocks.
    package convenience init?(following base: any BlobReader) {
        guard let readiness = base.readiness else { return nil }
        self.init()
        self.follow(readiness)
    }

    package init() {}

    package func follow(_ readiness: BlobObservable<BlobReaderState>) {
        let observation = readiness.observe(\.self, options: []) { [weak self] _ in self?.refresh() }
        self.replaceBase((readiness, observation))
        self.refresh()
    }

    /// Takes over the base's state as it is now. To be called after each read: a change may still be on its way here.
    package func refresh() {
        self.state.update { state in
            // The present value and not the one of the notification, which may have been overtaken.
            guard let now = self.base.withLock({ $0?.readiness.value }) else { return }
            state = now
            state.hasBytesAvailable = now.hasBytesAvailable || now.isAtEnd
            state.isAtEnd = false
        }
    }

    package func end() {
        self.replaceBase(nil)
        self.state.update { $0 = BlobReaderState(isOpenCompleted: true, isAtEnd: true) }
    }

    package func fail(_ error: any Error) {
        self.replaceBase(nil)
        self.state.update { $0 = BlobReaderState(isOpenCompleted: true, error: BlobError(wrapping: error)) }
    }

    package func stop() { self.replaceBase(nil) }

    private func replaceBase(_ base: (BlobObservable<BlobReaderState>, BlobObservation)?) {
        let old = self.base.withLock { current in
            defer { current = base }
            return current
        }
        old?.observation.cancel()
    }
}
