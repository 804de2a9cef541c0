import BlobCore
import BlobPlatform

/// The checks of a layer over the kit's own bases.
extension Kit {
    /// A function that creates the layer to check, over sources that it passes through `base`.
    typealias MakeLayer =
        @Sendable (_ base: @Sendable (any BlobInputStreamDataSource) -> any BlobInputStreamDataSource) throws ->
        any BlobInputStreamDataSource

    /// C15: a layer preserves the code of an error of its base, and whether the error is transient.
    func checkErrors(_ makeLayer: MakeLayer) {
        for fault in [
            BlobError(.unavailable, "An error was injected by the kit."),
            BlobError(.io, "An error was injected by the kit."),
        ] {
            for isAtStart in [true, false] {
                do {
                    let layer = try makeLayer { base in
                        let middle = ((try? base.info().byteCount) ?? 0) / 2
                        return FaultSource(base, .fail(at: isAtStart ? 0 : middle, fault))
                    }
                    // A layer may end before the byte at which its base fails.
                    let byteCount = try Expectation(sampling: layer).byteCount
                    if byteCount == self.expected.byteCount { continue }
                    self.findings.add(
                        8, "The error '\(fault.code)' of the base is turned into an end at byte \(byteCount).")
                } catch {
                    let error = BlobError(wrapping: error)
                    if error.code == fault.code, error.isTransient == fault.isTransient { continue }
                    let kind = fault.isTransient ? "transient" : "permanent"
                    self.findings.add(15, "The \(kind) error '\(fault.code)' of the base is reported as", error)
                }
            }
        }
    }

    /// C16: a layer whose `neverBlocks` is true does not wait for the info of its base.
    ///
    /// - Parameter limit: The time within which a call that does not wait must return.
    func checkLateFacts(_ makeLayer: @escaping MakeLayer, within limit: Duration = .seconds(1)) {
        for (byteOffset, isMatching) in self.openings {
            let call = Self.everyTime {
                self.waitingCall(makeLayer, at: byteOffset, isMatching: isMatching, within: limit)
            }
            guard let call else { continue }
            let place = "opened at byte \(byteOffset) \(isMatching ? "with" : "without") a validator"
            return self.findings.add(
                16, "A call to '\(call)' (\(place)) waits for the info of the base, although 'neverBlocks' is true.")
        }
    }

    /// Returns the name of a call that does not return while the base has no info; nil if all return.
    private func waitingCall(
        _ makeLayer: @escaping MakeLayer, at byteOffset: Int64, isMatching: Bool, within limit: Duration
    ) -> String? {
        let (call, isDone, gate) = (Locked<String?>(nil), WaitSignal(), WithheldSource.Gate())
        inNewThread {
            defer { isDone.signal() }
            do {
                let layer = try makeLayer { WithheldSource(base: $0, gate: gate).readingAhead() }
                guard layer.traits.contains(.neverBlocks) else { return }
                let validator = isMatching ? try layer.info().validator : nil
                gate.isClosed.withLock { $0 = true }
                call.withLock { $0 = "open" }
                let reader = try layer.open(at: byteOffset, matching: validator)
                call.withLock { $0 = "info" }
                _ = (reader.isOpen, reader.info)
                call.withLock { $0 = "read" }
                _ = try Pass(reader, self, capacity: 4096).attempt()
                call.withLock { $0 = "close" }
                reader.close()
            } catch {
                if gate.opening.isCancelled { return }
                self.findings.add(
                    16, "Over a base whose info arrives late, the layer throws", BlobError(wrapping: error))
            }
        }
        let isInTime = isDone.wait(for: limit)
        defer {
            gate.opening.cancel()
            if !isInTime { _ = isDone.wait(for: limit) }
        }
        return isInTime ? nil : call.withLock { $0 }
    }
}

/// A source that has neither info nor bytes while its gate is closed.
private struct WithheldSource: ForwardingSource {
    struct Gate: Sendable {
        let isClosed = Locked(false)
        /// Opens the gate permanently.
        let opening = BlobCancellation()
    }

    let base: any BlobInputStreamDataSource
    let gate: Gate

    func traits(over base: BlobTraits) -> BlobTraits { base.subtracting(.neverBlocks) }

    func describe(_ context: BlobContext) throws -> BlobInfo {
        try self.pass(context)
        return try self.base.info(context)
    }

    func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        try self.pass(opening.context)
        return try self.base.makeBody(opening)
    }

    /// Waits while the gate is closed.
    private func pass(_ context: BlobContext) throws(BlobError) {
        guard self.gate.isClosed.withLock({ $0 }) else { return }
        let signal = WaitSignal()
        let registration = self.gate.opening.onCancel { signal.signal() }
        defer { registration.cancel() }
        try context.wait(on: signal) { self.gate.opening.isCancelled ? () : nil }
    }
}
