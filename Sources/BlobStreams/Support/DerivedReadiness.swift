/// The readiness of a reader that stands on another one and has the last word on the end.
///
/// Follows the state of its base, except that the base's end shows as one more read that is worth it: in that read the
/// outer reader checks what it has to check, and then says ``end()``, ``fail(_:)`` or follows the next base.
public final class DerivedReadiness: Sendable {
    /// What the outer reader publishes.
    public let state = BlobObservable(BlobReaderState())
    private let transformError: (@Sendable (BlobError) -> BlobError)?
    private let base = Locked<(readiness: BlobObservable<BlobReaderState>, observation: BlobObservation)?>(nil)
    private let holdsBytes = Locked(false)

    /// Follows `base`; nil when that blocks, so that the outer reader blocks too.
    ///
    /// - Parameters:
    ///   - base: What the outer reader reads.
    ///   - transformError: Makes of an error of the base what the outer reader throws for it; nil leaves it as it is.
    public convenience init?(
        following base: any BlobReader, transformError: (@Sendable (BlobError) -> BlobError)? = nil
    ) {
        guard let readiness = base.readiness else { return nil }
        self.init(transformError: transformError)
        self.follow(readiness)
    }

    /// Follows nothing yet: still opening.
    public convenience init() { self.init(transformError: nil) }

    private init(transformError: (@Sendable (BlobError) -> BlobError)?) { self.transformError = transformError }

    /// Follows this state from now on, and no longer the one before.
    public func follow(_ readiness: BlobObservable<BlobReaderState>) {
        let observation = readiness.onChange { [weak self] in self?.refresh() }
        self.replaceBase((readiness, observation))
        self.refresh(afterReading: 0)
    }

    /// Takes over the base's state as it is now. To be called after each read of the base: a change may still be on its
    /// way here.
    ///
    /// - Parameters:
    ///   - count: How many bytes the outer reader appended. After none the state changes in any case, if only for a
    ///     moment: bytes that came since must not look like those that the read should have brought.
    ///   - holdsBytes: Whether the outer reader may have more bytes to append before it reads the base again, as a decoder
    ///     has: then a read is worth it whatever the base says, and an error of the base is yet to be met.
    public func refresh(afterReading count: Int, holdingBytes holdsBytes: Bool = false) {
        self.holdsBytes.withLock { $0 = holdsBytes }
        if count == 0 { self.state.update { $0.hasBytesAvailable = false } }
        self.refresh()
    }

    private func refresh() {
        self.state.update { state in
            // The present value and not the one of the notification, which may have been overtaken.
            guard let now = self.base.withLock({ $0?.readiness.value }) else { return }
            state = now
            if let transformError { state.error = now.error.map(transformError) }
            state.hasBytesAvailable = now.hasBytesAvailable || now.isAtEnd
            state.isAtEnd = false
            guard self.holdsBytes.withLock({ $0 }) else { return }
            state.hasBytesAvailable = true
            state.error = nil
        }
    }

    /// The outer reader is at its end, which it has checked.
    public func end() {
        self.replaceBase(nil)
        self.state.update { $0 = BlobReaderState(isOpenCompleted: true, isAtEnd: true) }
    }

    /// The outer reader failed, for good.
    public func fail(_ error: any Error) {
        self.replaceBase(nil)
        self.state.update { $0 = BlobReaderState(isOpenCompleted: true, error: BlobError(wrapping: error)) }
    }

    /// Follows nothing any more. To be called when the outer reader closes.
    public func stop() { self.replaceBase(nil) }

    private func replaceBase(_ base: (BlobObservable<BlobReaderState>, BlobObservation)?) {
        let old = self.base.withLock { current in
            defer { current = base }
            return current
        }
        old?.observation.cancel()
    }
}
